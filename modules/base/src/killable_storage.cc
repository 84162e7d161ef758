#include "killable_storage.h"

namespace shoal {
namespace {

/// An open file of a task that may be killed. What it had not flushed by then stays unwritten, as after a real kill.
class KillableFile final : public WritableFile {
 public:
  KillableFile(std::unique_ptr<WritableFile> file, std::shared_ptr<bool> killed)
      : file_(std::move(file)), killed_(std::move(killed)) {}

  Result<void> append(std::span<const std::byte> bytes) override {
    if (*killed_) return cancelled();
    return file_->append(bytes);
  }
  Result<void> flush() override {
    if (*killed_) return cancelled();
    return file_->flush();
  }
  Result<void> sync() override {
    if (*killed_) return cancelled();
    return file_->sync();
  }
  Result<void> close() override {
    if (*killed_) return cancelled();
    return file_->close();
  }

 private:
  std::unique_ptr<WritableFile> file_;
  std::shared_ptr<bool> killed_;
};

}  // namespace

Result<std::unique_ptr<WritableFile>> KillableStorage::create(const std::string& path) {
  if (killed()) return cancelled();
  SHOAL_TRY(auto file, disk_->create(path));
  return std::make_unique<KillableFile>(std::move(file), killed_);
}

Result<std::unique_ptr<WritableFile>> KillableStorage::append(const std::string& path) {
  if (killed()) return cancelled();
  SHOAL_TRY(auto file, disk_->append(path));
  return std::make_unique<KillableFile>(std::move(file), killed_);
}

Result<std::unique_ptr<ReadableFile>> KillableStorage::open(const std::string& path) {
  if (killed()) return cancelled();
  return disk_->open(path);
}

Result<void> KillableStorage::rename(const std::string& from, const std::string& to) {
  if (killed()) return cancelled();
  return disk_->rename(from, to);
}

Result<void> KillableStorage::remove(const std::string& path) {
  if (killed()) return cancelled();
  return disk_->remove(path);
}

Result<void> KillableStorage::remove_all(const std::string& path) {
  if (killed()) return cancelled();
  return disk_->remove_all(path);
}

Result<void> KillableStorage::make_folders(const std::string& path) {
  if (killed()) return cancelled();
  return disk_->make_folders(path);
}

Result<void> KillableStorage::sync_folder(const std::string& path) {
  if (killed()) return cancelled();
  return disk_->sync_folder(path);
}

Result<std::vector<FileInfo>> KillableStorage::list(const std::string& path) {
  if (killed()) return cancelled();
  return disk_->list(path);
}

bool KillableStorage::exists(const std::string& path) { return !killed() && disk_->exists(path); }

}  // namespace shoal
