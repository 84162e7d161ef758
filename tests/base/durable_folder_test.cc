// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/durable_folder.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

namespace shoal {
namespace {

/// Folders only, in memory. Power takes away those of which the folder above was not synced since, with all below.
class FolderDisk final : public Storage {
 public:
  explicit FolderDisk(std::set<std::string> folders) {
    for (const std::string& folder : folders) durable_[folder] = true;
  }
  std::map<std::string, Error> sync_errors;
  void lose_power() {
    bool lost = true;
    while (lost) {
      lost = std::erase_if(durable_, [&](const auto& folder) {
               return !folder.second || !durable_.contains(above(folder.first));
             }) > 0;
    }
  }

  bool exists(const std::string& path) override { return durable_.contains(path); }
  Result<void> make_folders(const std::string& path) override {
    for (std::string folder = path; !durable_.contains(folder); folder = above(folder)) durable_[folder] = false;
    return {};
  }
  Result<void> sync_folder(const std::string& path) override {
    if (sync_errors.contains(path)) return sync_errors.at(path);
    for (auto& [folder, durable] : durable_) durable = durable || above(folder) == path;
    return {};
  }

  Result<std::unique_ptr<WritableFile>> create(const std::string&) override { return internal_error("no files"); }
  Result<std::unique_ptr<WritableFile>> append(const std::string&) override { return internal_error("no files"); }
  Result<std::unique_ptr<ReadableFile>> open(const std::string&) override { return internal_error("no files"); }
  Result<void> rename(const std::string&, const std::string&) override { return internal_error("no files"); }
  Result<void> link(const std::string&, const std::string&) override { return internal_error("no files"); }
  Result<void> remove(const std::string&) override { return internal_error("no files"); }
  Result<void> remove_all(const std::string&) override { return internal_error("no files"); }
  Result<std::vector<FileInfo>> list(const std::string&) override { return internal_error("no files"); }
  Result<std::unique_ptr<StorageLock>> lock(const std::string&, std::string_view) override {
    return internal_error("no files");
  }
  Result<std::string> make_temporary_folder(const std::string&) override { return internal_error("no files"); }
  std::string unique_name() override { return ""; }

 private:
  static std::string above(const std::string& path) {
    const size_t slash = path.rfind('/');
    if (slash == std::string::npos) return ".";
    return slash == 0 ? "/" : path.substr(0, slash);
  }
  std::map<std::string, bool> durable_;  // True for a folder once the one above was synced after it was made.
};

TEST(DurableFolder, IsThereAfterAPowerLossAndSoAreItsParents) {
  FolderDisk disk({"/", ".", "/home"});
  ASSERT_TRUE(make_durable_folder(disk, "/home/jobs/mnist/m"));
  ASSERT_TRUE(make_durable_folder(disk, "m"));
  disk.lose_power();
  EXPECT_TRUE(disk.exists("/home/jobs/mnist/m"));
  EXPECT_TRUE(disk.exists("m"));

  ASSERT_TRUE(disk.make_folders("/home/others/m"));
  disk.lose_power();
  EXPECT_FALSE(disk.exists("/home/others")) << "this disk must show what is not synced";
}

TEST(DurableFolder, ThatAKilledProcessMadeIsSyncedByTheNextOne) {
  FolderDisk disk({"/", "/home"});
  ASSERT_TRUE(disk.make_folders("/home/m"));
  ASSERT_TRUE(make_durable_folder(disk, "/home/m"));
  disk.lose_power();
  EXPECT_TRUE(disk.exists("/home/m"));
}

TEST(DurableFolder, UnderOneThatCannotBeReadIsMadeAllTheSame) {
  FolderDisk disk({"/", "/home"});
  disk.sync_errors.emplace("/home", failed_precondition("cannot sync the folder /home: Permission denied"));
  EXPECT_TRUE(make_durable_folder(disk, "/home/m"));
  EXPECT_TRUE(disk.exists("/home/m"));
}

TEST(DurableFolder, ReportsADiskThatFails) {
  FolderDisk disk({"/", "/home"});
  disk.sync_errors.emplace("/home", unavailable("cannot sync the folder /home: Input/output error"));
  const Result<void> made = make_durable_folder(disk, "/home/m");
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().kind(), ErrorKind::kUnavailable);
}

}  // namespace
}  // namespace shoal
