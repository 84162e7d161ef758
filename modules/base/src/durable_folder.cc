// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/durable_folder.h"

#include <vector>

namespace shoal {
namespace {

/// The parent: "." for "a", "/" for "/a", "a" for "a/b//".
std::string folder_above(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  const size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

Result<void> make_durable_folder(Storage& storage, const std::string& path) {
  std::vector<std::string> above{folder_above(path)};  // The folders to sync, from the innermost outwards.
  while (!storage.exists(above.back()) && folder_above(above.back()) != above.back()) {
    above.push_back(folder_above(above.back()));
  }
  SHOAL_TRY_VOID(storage.make_folders(path));
  for (; !above.empty(); above.pop_back()) {
    const Result<void> synced = storage.sync_folder(above.back());
    if (!synced && synced.error().kind() != ErrorKind::kFailedPrecondition) return synced.error();
  }
  return {};
}

}  // namespace shoal
