// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A base class for a disk in front of another one: it passes every call on, and a derived class changes some calls.
/// WorldOptions::wrap_storage takes such a disk.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "shoal/base/storage.h"

namespace shoal::testing {

class ForwardingStorage : public Storage {
 public:
  explicit ForwardingStorage(std::shared_ptr<Storage> disk) : disk_(std::move(disk)) {}

  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override { return disk_->create(path); }
  Result<std::unique_ptr<WritableFile>> append(const std::string& path) override { return disk_->append(path); }
  Result<std::unique_ptr<ReadableFile>> open(const std::string& path) override { return disk_->open(path); }
  Result<void> rename(const std::string& from, const std::string& to) override { return disk_->rename(from, to); }
  Result<void> link(const std::string& from, const std::string& to) override { return disk_->link(from, to); }
  Result<void> remove(const std::string& path) override { return disk_->remove(path); }
  Result<void> remove_all(const std::string& path) override { return disk_->remove_all(path); }
  Result<void> make_folders(const std::string& path) override { return disk_->make_folders(path); }
  Result<void> sync_folder(const std::string& path) override { return disk_->sync_folder(path); }
  Result<std::vector<FileInfo>> list(const std::string& path) override { return disk_->list(path); }
  bool exists(const std::string& path) override { return disk_->exists(path); }
  Result<std::unique_ptr<StorageLock>> lock(const std::string& path, std::string_view note) override {
    return disk_->lock(path, note);
  }
  Result<std::string> make_temporary_folder(const std::string& prefix) override {
    return disk_->make_temporary_folder(prefix);
  }
  std::string unique_name() override { return disk_->unique_name(); }
  std::string full_path(const std::string& path) override { return disk_->full_path(path); }

 protected:
  const std::shared_ptr<Storage> disk_;
};

}  // namespace shoal::testing
