// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A read-only storage whose files lie in memory. It serves models that are part of a program or were downloaded, and files
/// that were read and checked already.
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "shoal/base/storage.h"

namespace shoal {

/// Open files do not outlive this object. Every call that would change, list or lock files is FailedPrecondition.
class MemoryFiles final : public Storage {
 public:
  /// `others` supplies the files that are not in memory, and outlives this object; null: there are no others.
  explicit MemoryFiles(Storage* others = nullptr) : others_(others) {}

  /// Adds a file whose bytes the caller keeps, for longer than this object lives.
  void lend(std::string path, std::span<const std::byte> bytes) { files_.insert_or_assign(std::move(path), bytes); }
  /// Adds a file whose bytes this object keeps.
  void keep(std::string path, std::string bytes);

  Result<std::unique_ptr<ReadableFile>> open(const std::string& path) override;
  bool exists(const std::string& path) override;

  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override { return refused(path); }
  Result<std::unique_ptr<WritableFile>> append(const std::string& path) override { return refused(path); }
  Result<void> rename(const std::string& from, const std::string&) override { return refused(from); }
  Result<void> link(const std::string& from, const std::string&) override { return refused(from); }
  Result<void> remove(const std::string& path) override { return refused(path); }
  Result<void> remove_all(const std::string& path) override { return refused(path); }
  Result<void> make_folders(const std::string& path) override { return refused(path); }
  Result<void> sync_folder(const std::string& path) override { return refused(path); }
  Result<std::vector<FileInfo>> list(const std::string& path) override { return refused(path); }
  Result<std::unique_ptr<StorageLock>> lock(const std::string& path, std::string_view) override { return refused(path); }
  Result<std::string> make_temporary_folder(const std::string& prefix) override { return refused(prefix); }
  std::string unique_name() override { return "none"; }

 private:
  static Error refused(const std::string& path);

  Storage* others_;
  std::map<std::string, std::span<const std::byte>> files_;
  std::vector<std::unique_ptr<const std::string>> kept_;
};

}  // namespace shoal
