#pragma once
/// The disk as a task sees it that can be killed: from then on, every call is Cancelled and changes nothing.
#include <memory>

#include "shoal/base/storage.h"

namespace shoal {

class KillableStorage final : public Storage {
 public:
  explicit KillableStorage(std::unique_ptr<Storage> disk) : disk_(std::move(disk)), killed_(std::make_shared<bool>(false)) {}

  void kill() { *killed_ = true; }
  bool killed() const { return *killed_; }

  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override;
  Result<std::unique_ptr<WritableFile>> append(const std::string& path) override;
  Result<std::unique_ptr<ReadableFile>> open(const std::string& path) override;
  Result<void> rename(const std::string& from, const std::string& to) override;
  Result<void> remove(const std::string& path) override;
  Result<void> remove_all(const std::string& path) override;
  Result<void> make_folders(const std::string& path) override;
  Result<void> sync_folder(const std::string& path) override;
  Result<std::vector<FileInfo>> list(const std::string& path) override;
  bool exists(const std::string& path) override;

 private:
  std::unique_ptr<Storage> disk_;
  std::shared_ptr<bool> killed_;  // open files look at it too
};

}  // namespace shoal
