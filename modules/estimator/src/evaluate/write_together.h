// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Writes files of which each is of no use without the others.
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/stop.h"
#include "shoal/base/storage.h"

namespace shoal {

struct WholeFile {
  std::string path;
  std::string_view contents;
};

/// Writes all files or none. First writes each under a temporary name and syncs it, so an error such as a full disk leaves
/// existing files of these names as they were. Then gives the files their names, and removes those that are new if a later
/// one fails. (A file that was replaced before such a failure keeps its new contents.)
///
/// Errors: those of Storage; Cancelled if `stop` stops before all files are on disk.
Result<void> write_together(Storage& storage, const std::vector<WholeFile>& files, const StopToken& stop = {});

/// As write_together(), but first makes `folder` and its missing parents. After an error, removes the folders that this
/// call made, unless another process has put a file there.
Result<void> write_together_in(Storage& storage, const std::string& folder, const std::vector<WholeFile>& files,
                               const StopToken& stop = {});

}  // namespace shoal
