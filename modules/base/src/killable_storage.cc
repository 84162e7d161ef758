// SPDX-License-Identifier: Apache-2.0
#include "killable_storage.h"

namespace shoal {

/// An open file of a task that may be killed. The kill loses bytes that were not flushed, as the end of a process does.
class KillableFile final : public WritableFile {
 public:
  KillableFile(std::unique_ptr<WritableFile> file, std::shared_ptr<KillableStorage::State> state)
      : file_(std::move(file)), state_(std::move(state)) {}

  Result<void> append(std::span<const std::byte> bytes) override {
    if (!state_->alive()) return cancelled();
    return file_->append(bytes);
  }
  Result<void> flush() override {
    if (!state_->alive()) return cancelled();
    return file_->flush();
  }
  Result<void> sync() override {
    if (!state_->alive()) return cancelled();
    return file_->sync();
  }
  Result<void> close() override {
    if (!state_->alive()) return cancelled();
    return file_->close();
  }

 private:
  std::unique_ptr<WritableFile> file_;
  std::shared_ptr<KillableStorage::State> state_;
};

class KillableReader final : public ReadableFile {
 public:
  KillableReader(std::unique_ptr<ReadableFile> file, std::shared_ptr<KillableStorage::State> state)
      : file_(std::move(file)), state_(std::move(state)) {}

  uint64_t size() const override { return file_->size(); }
  Result<void> read_at(uint64_t offset, std::span<std::byte> out) const override {
    if (!state_->alive()) return cancelled();
    return file_->read_at(offset, out);
  }

 private:
  std::unique_ptr<ReadableFile> file_;
  std::shared_ptr<KillableStorage::State> state_;
};

Result<std::unique_ptr<WritableFile>> KillableStorage::create(const std::string& path) {
  if (!state_->alive()) return cancelled();
  SHOAL_TRY(auto file, disk_->create(path));
  return std::make_unique<KillableFile>(std::move(file), state_);
}

Result<std::unique_ptr<WritableFile>> KillableStorage::append(const std::string& path) {
  if (!state_->alive()) return cancelled();
  SHOAL_TRY(auto file, disk_->append(path));
  return std::make_unique<KillableFile>(std::move(file), state_);
}

Result<std::unique_ptr<ReadableFile>> KillableStorage::open(const std::string& path) {
  if (!state_->alive()) return cancelled();
  SHOAL_TRY(auto file, disk_->open(path));
  return std::make_unique<KillableReader>(std::move(file), state_);
}

Result<void> KillableStorage::rename(const std::string& from, const std::string& to) {
  if (!state_->alive()) return cancelled();
  return disk_->rename(from, to);
}

Result<void> KillableStorage::link(const std::string& from, const std::string& to) {
  if (!state_->alive()) return cancelled();
  return disk_->link(from, to);
}

Result<void> KillableStorage::remove(const std::string& path) {
  if (!state_->alive()) return cancelled();
  return disk_->remove(path);
}

Result<void> KillableStorage::remove_all(const std::string& path) {
  if (!state_->alive()) return cancelled();
  return disk_->remove_all(path);
}

Result<void> KillableStorage::make_folders(const std::string& path) {
  if (!state_->alive()) return cancelled();
  return disk_->make_folders(path);
}

Result<void> KillableStorage::sync_folder(const std::string& path) {
  if (!state_->alive()) return cancelled();
  return disk_->sync_folder(path);
}

Result<std::vector<FileInfo>> KillableStorage::list(const std::string& path) {
  if (!state_->alive()) return cancelled();
  return disk_->list(path);
}

bool KillableStorage::exists(const std::string& path) { return state_->alive() && disk_->exists(path); }

/// A kill frees the lock, as the end of a process does, although the killed task still owns this object.
class KillableStorage::HeldLock final : public StorageLock {
 public:
  HeldLock(std::unique_ptr<StorageLock> lock, std::shared_ptr<std::vector<HeldLock*>> all)
      : lock_(std::move(lock)), all_(std::move(all)) {
    all_->push_back(this);
  }
  ~HeldLock() override { std::erase(*all_, this); }
  Result<bool> is_in_place() override {
    if (!lock_) return cancelled();
    return lock_->is_in_place();
  }
  void let_go() { lock_.reset(); }

 private:
  std::unique_ptr<StorageLock> lock_;
  std::shared_ptr<std::vector<HeldLock*>> all_;
};

void KillableStorage::kill() {
  state_->killed = true;
  for (HeldLock* lock : *locks_) lock->let_go();
}

Result<std::unique_ptr<StorageLock>> KillableStorage::lock(const std::string& path, std::string_view note) {
  if (!state_->alive()) return cancelled();
  SHOAL_TRY(auto lock, disk_->lock(path, note));
  return std::make_unique<HeldLock>(std::move(lock), locks_);
}

Result<std::string> KillableStorage::make_temporary_folder(const std::string& prefix) {
  if (!state_->alive()) return cancelled();
  return disk_->make_temporary_folder(prefix);
}

}  // namespace shoal
