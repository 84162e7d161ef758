// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Writes new files, and never replaces existing ones.
#include <string>
#include <vector>

#include "shoal/base/result.h"

namespace shoal::cli {

struct NewFile {
  std::string path;
  std::string text;
  bool secret = false;  ///< True: only the file's owner can read it, from the first byte on.
};
/// Writes all files or none. FailedPrecondition if one exists already; Unavailable if one cannot be made.
Result<void> write_new_files(const std::vector<NewFile>& files);
/// As above, in the folder `folder`: paths are relative to it. Makes the folder, which only its owner can open, unless it exists
/// already; after an error a folder that was made is gone again. Unavailable if it cannot be made.
Result<void> write_new_files(const std::string& folder, std::vector<NewFile> files);

}  // namespace shoal::cli
