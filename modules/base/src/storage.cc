// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/storage.h"

#include <filesystem>

#include "shoal/base/synced_file.h"

namespace shoal {

std::string Storage::full_path(const std::string& path) {
  std::string full = std::filesystem::path(join_path("/", path)).lexically_normal().string();
  while (full.size() > 1 && full.ends_with('/')) full.pop_back();
  return full;
}

Result<std::string> Storage::read_all(const std::string& path, uint64_t size_bytes_max) {
  SHOAL_TRY(auto file, open(path));
  if (file->size() > size_bytes_max) {
    return invalid_argument(path + ": has " + std::to_string(file->size()) + " bytes, but at most " +
                            std::to_string(size_bytes_max) + " bytes may be read here");
  }
  std::string contents(size_t(file->size()), '\0');
  SHOAL_TRY_VOID(file->read_at(0, std::as_writable_bytes(std::span(contents))));
  return contents;
}

Result<void> Storage::write_atomically(const std::string& path, std::string_view contents) {
  const std::string temporary = path + ".tmp-" + unique_name();
  Result<void> written = write_synced(*this, temporary, contents);
  if (written) written = rename(temporary, path);
  if (!written) {
    static_cast<void>(remove(temporary));  // An error of this clean-up is dropped: the first error is the one to report.
    return written;
  }
  return sync_folder(folder_of(path));
}

std::string join_path(std::string_view folder, std::string_view name) {
  while (folder.size() > 1 && folder.ends_with('/')) folder.remove_suffix(1);
  while (name.starts_with('/')) name.remove_prefix(1);
  if (folder.empty()) return std::string(name);
  std::string path(folder);
  if (!path.ends_with('/')) path += '/';
  return path.append(name);
}

}  // namespace shoal
