// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A simulated disk that knows when its files were written: on a clock of its own, which a test turns.
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "shoal/testing/forwarding_storage.h"
#include "shoal/testing/simulated_disk.h"

namespace shoal::checkpoint::testing {

using shoal::testing::SimulatedDisk;

/// Files that it did not create are of time 0.
class TimedDisk final : public shoal::testing::ForwardingStorage {
 public:
  explicit TimedDisk(SimulatedDisk& disk, Duration begin = {})
      : ForwardingStorage(std::shared_ptr<Storage>(std::shared_ptr<void>(), &disk)), now(begin) {}
  Duration now;

  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override {
    times_[path] = WallTime(now);
    return disk_->create(path);
  }
  Result<std::unique_ptr<WritableFile>> append(const std::string& path) override {
    times_[path] = WallTime(now);
    return disk_->append(path);
  }
  Result<void> rename(const std::string& from, const std::string& to) override {
    times_[to] = times_[from];
    return disk_->rename(from, to);
  }
  Result<std::vector<FileInfo>> list(const std::string& path) override {
    SHOAL_TRY(std::vector<FileInfo> files, disk_->list(path));
    for (FileInfo& file : files) file.modified = times_[join_path(path, file.name)];
    return files;
  }

 private:
  std::map<std::string, WallTime> times_;
};

}  // namespace shoal::checkpoint::testing
