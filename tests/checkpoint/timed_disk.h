#pragma once
/// A simulated disk that knows when its files were written: on a clock of its own, which a test turns.
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "shoal/testing/simulated_disk.h"

namespace shoal::checkpoint::testing {

using shoal::testing::SimulatedDisk;

/// Files that it did not create are of time 0.
class TimedDisk final : public Storage {
 public:
  explicit TimedDisk(SimulatedDisk& disk, Duration begin = {}) : now(begin), disk_(disk) {}
  Duration now;

  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override {
    times_[path] = WallTime(now);
    return disk_.create(path);
  }
  Result<std::unique_ptr<WritableFile>> append(const std::string& path) override {
    times_[path] = WallTime(now);
    return disk_.append(path);
  }
  Result<void> rename(const std::string& from, const std::string& to) override {
    times_[to] = times_[from];
    return disk_.rename(from, to);
  }
  Result<std::vector<FileInfo>> list(const std::string& path) override {
    SHOAL_TRY(std::vector<FileInfo> files, disk_.list(path));
    for (FileInfo& file : files) file.modified = times_[join_path(path, file.name)];
    return files;
  }
  Result<std::unique_ptr<ReadableFile>> open(const std::string& path) override { return disk_.open(path); }
  Result<void> remove(const std::string& path) override { return disk_.remove(path); }
  Result<void> remove_all(const std::string& path) override { return disk_.remove_all(path); }
  Result<void> make_folders(const std::string& path) override { return disk_.make_folders(path); }
  Result<void> sync_folder(const std::string& path) override { return disk_.sync_folder(path); }
  bool exists(const std::string& path) override { return disk_.exists(path); }
  Result<std::unique_ptr<StorageLock>> lock(const std::string& path, std::string_view note) override {
    return disk_.lock(path, note);
  }
  Result<std::string> make_temporary_folder(const std::string& prefix) override {
    return disk_.make_temporary_folder(prefix);
  }
  std::string unique_name() override { return disk_.unique_name(); }

 private:
  SimulatedDisk& disk_;
  std::map<std::string, WallTime> times_;
};

}  // namespace shoal::checkpoint::testing
