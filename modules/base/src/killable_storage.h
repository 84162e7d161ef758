// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The storage of a task that may be killed: after the kill every call returns Cancelled and changes nothing.
#include <functional>
#include <memory>
#include <vector>

#include "shoal/base/storage.h"

namespace shoal {

class KillableStorage final : public Storage {
 public:
  /// `before` is called before each call that reads or changes anything, and may kill the task.
  explicit KillableStorage(std::shared_ptr<Storage> disk, std::function<void()> before = {})
      : disk_(std::move(disk)), state_(std::make_shared<State>(State{std::move(before), false})) {}

  /// Kills the task: frees its locks, and refuses all further calls.
  void kill();
  bool killed() const { return state_->killed; }

  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override;
  Result<std::unique_ptr<WritableFile>> append(const std::string& path) override;
  Result<std::unique_ptr<ReadableFile>> open(const std::string& path) override;
  Result<void> rename(const std::string& from, const std::string& to) override;
  Result<void> link(const std::string& from, const std::string& to) override;
  Result<void> remove(const std::string& path) override;
  Result<void> remove_all(const std::string& path) override;
  Result<void> make_folders(const std::string& path) override;
  Result<void> sync_folder(const std::string& path) override;
  Result<std::vector<FileInfo>> list(const std::string& path) override;
  bool exists(const std::string& path) override;
  Result<std::unique_ptr<StorageLock>> lock(const std::string& path, std::string_view note) override;
  Result<std::string> make_temporary_folder(const std::string& prefix) override;
  std::string unique_name() override { return disk_->unique_name(); }
  std::string full_path(const std::string& path) override { return disk_->full_path(path); }

 private:
  friend class KillableFile;
  friend class KillableReader;
  struct State {
    std::function<void()> before;
    bool killed;
    /// Unless the task is dead, calls `before`, which may kill the task. Returns whether the task is alive after this.
    bool alive() const {
      if (!killed && before) before();
      return !killed;
    }
  };
  class HeldLock;
  std::shared_ptr<Storage> disk_;
  std::shared_ptr<State> state_;  // Open files share it, so that they, too, refuse calls after a kill.
  std::shared_ptr<std::vector<HeldLock*>> locks_ = std::make_shared<std::vector<HeldLock*>>();
};

}  // namespace shoal
