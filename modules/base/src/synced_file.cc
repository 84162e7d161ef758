// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/synced_file.h"

#include <span>

namespace shoal {

std::string folder_of(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Result<void> write_synced(Storage& storage, const std::string& path, std::string_view contents) {
  SHOAL_TRY(const std::unique_ptr<WritableFile> file, storage.create(path));
  SHOAL_TRY_VOID(file->append(std::as_bytes(std::span(contents))));
  SHOAL_TRY_VOID(file->sync());
  return file->close();
}

}  // namespace shoal
