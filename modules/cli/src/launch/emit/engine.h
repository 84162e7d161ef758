// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Engines are the systems for which `shoal launch --emit` writes files (Kubernetes, ...). `Engine` describes what a system
/// can do.
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
  /// True if tasks run on other machines or in containers, where a relative path means another place.
  bool on_other_machines;
  /// True if tasks run in containers: the model's folder is mounted into each, and containers share no memory.
  bool in_containers;
  std::string_view on_sigterm;                  ///< --on-sigterm of the tasks: "leave" (to be started again) or "end".
  std::string_view secret_goes;                 ///< Advice for users: where to keep a secret that the program needs.
  std::span<const OptionWithoutPlace> without;  ///< Options of `shoal launch` that this engine cannot obey.
};

/// Returns a description of each system for which --emit can write files (Kubernetes, Slurm, systemd, compose).
std::span<const Engine> engines();

/// Checks the words of job.command: that each can be written to the emitted file and holds no secret, and that none
/// contradicts the job or `engine` (such as Kubernetes). InvalidArgument for a word that fails a check. Sets job.model_dir.
Result<void> check_program(EmitJob& job, const Engine& engine);
/// InvalidArgument if `image` is no reference of an image, by the grammar of the Open Container Initiative's distribution
/// specification and Docker's reference package.
Result<void> check_image(const std::string& image);

}  // namespace shoal::cli::launch
