// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The engines of `shoal launch --emit`, and how they differ, as far as checks are concerned.
#include <array>
#include <span>
#include <string_view>

#include "launch/emit/emit_job.h"

namespace shoal::cli::launch {

struct OptionWithoutPlace {
  std::string_view option;
  std::string_view why;
};

struct Engine {
  std::string_view name;
  std::vector<EmittedFile> (*emit)(const EmitJob&);
  bool on_other_machines;        ///< Or in containers: a relative path is another one there.
  bool in_containers;            ///< The model's folder is mounted into each, and none sees the memory of another.
  std::string_view on_sigterm;   ///< What a SIGTERM of this engine means: "leave" or "end".
  std::string_view secret_goes;  ///< Where a secret that the program needs belongs.
  std::span<const OptionWithoutPlace> without;  ///< Options of `shoal launch` that the engine has no place for.
};

/// All that there are.
std::span<const Engine> engines();

/// The program's words: that they can be written down, hold no secret, and do not contradict the job or the engine. Sets
/// `job.model_dir`. InvalidArgument.
Result<void> check_program(EmitJob& job, const Engine& engine);
/// InvalidArgument: `image` is no reference of an image, by the grammar of the Open Container Initiative's distribution
/// specification and Docker's reference package.
Result<void> check_image(const std::string& image);

}  // namespace shoal::cli::launch
