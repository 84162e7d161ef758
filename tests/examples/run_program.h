// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Programs of examples/, run as a user runs them.
#include <cstdint>
#include <string>
#include <vector>

#include "../base/temporary_folder.h"

namespace mnist {

using shoal::TemporaryFolder;

struct Ended {
  int status = -1;     ///< The exit status, or -1 where a signal killed the program.
  std::string output;  ///< Standard output and standard error, in the order written.
};

/// Runs `mnist <arguments>` (shell words) to its end, in an environment without SHOAL_DATA and TF_CONFIG.
Ended run_mnist(const std::string& arguments);
/// The other programs likewise.
Ended run_text(const std::string& arguments);
Ended run_cifar(const std::string& arguments);
Ended run_adult(const std::string& arguments);
Ended run_housing(const std::string& arguments);

/// An IDX file of unsigned bytes: its header with `sizes`, then `bytes`.
std::string idx(const std::vector<uint32_t>& sizes, const std::string& bytes);
void write(const std::string& path, const std::string& bytes);

/// The four files of a small data set: `count` images of noise with labels 0 to 9 in turn.
void write_small_data(const std::string& folder, uint32_t count);

}  // namespace mnist
