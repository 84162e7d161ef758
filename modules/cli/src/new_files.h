// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Files that are written once and never over others.
#include <string>
#include <vector>

#include "shoal/base/result.h"

namespace shoal::cli {

struct NewFile {
  std::string path;
  std::string text;
  bool secret = false;  ///< True: only its owner can read it, from the first byte on.
};
/// All of them or none. FailedPrecondition if one is there already; Unavailable if one cannot be made.
Result<void> write_new_files(const std::vector<NewFile>& files);
/// A folder that only its owner can look into, if it is not there yet. Unavailable if it cannot be made.
Result<void> make_folder(const std::string& path);

}  // namespace shoal::cli
