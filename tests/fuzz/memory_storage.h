// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Files in memory, which can be read and nothing else: what a reader finds on a disk.
#include <map>
#include <string>

#include "shoal/base/storage.h"

namespace shoal::fuzz {

class MemoryStorage final : public Storage {
 public:
  /// Contents by path. While one is open it may grow, and must stay.
  std::map<std::string, std::string> files;

  Result<std::unique_ptr<ReadableFile>> open(const std::string& path) override;
  Result<std::vector<FileInfo>> list(const std::string& path) override;
  bool exists(const std::string& path) override { return files.contains(path); }

  // Refused:
  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override;
  Result<std::unique_ptr<WritableFile>> append(const std::string& path) override;
  Result<void> rename(const std::string& from, const std::string& to) override;
  Result<void> link(const std::string& from, const std::string& to) override;
  Result<void> remove(const std::string& path) override;
  Result<void> remove_all(const std::string& path) override;
  Result<void> make_folders(const std::string& path) override;
  Result<void> sync_folder(const std::string& path) override;
  Result<std::unique_ptr<StorageLock>> lock(const std::string& path, std::string_view note) override;
  Result<std::string> make_temporary_folder(const std::string& prefix) override;
  std::string unique_name() override { return "the only one"; }
};

}  // namespace shoal::fuzz
