// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/storage.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <thread>

#include "temporary_folder.h"

namespace shoal {
namespace {

using testing::HasSubstr;

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

class FileStorageTest : public testing::Test {
 protected:
  void write(const std::string& path, std::string_view text) {
    auto file = storage->create(path);
    ASSERT_TRUE(file) << file.error().message();
    ASSERT_TRUE(file.value()->append(bytes_of(text)));
    ASSERT_TRUE(file.value()->close());
  }
  std::vector<std::string> names(const std::string& path) {
    std::vector<std::string> result;
    const auto entries = storage->list(path).value();
    for (const FileInfo& info : entries) result.push_back(info.name);
    return result;
  }

  TemporaryFolder folder;
  std::unique_ptr<Storage> storage = make_file_storage();
};

TEST_F(FileStorageTest, WritesAppendsAndReads) {
  write(folder / "a", "hello");
  auto file = storage->append(folder / "a");
  ASSERT_TRUE(file);
  ASSERT_TRUE(file.value()->append(bytes_of(" world")));
  ASSERT_TRUE(file.value()->sync());
  EXPECT_EQ(storage->read_all(folder / "a").value(), "hello world");
  ASSERT_TRUE(file.value()->close());
  ASSERT_TRUE(file.value()->close());
  EXPECT_EQ(file.value()->append(bytes_of("x")).error().kind(), ErrorKind::kFailedPrecondition);
  write(folder / "a", "new");
  EXPECT_EQ(storage->read_all(folder / "a").value(), "new");
}

TEST_F(FileStorageTest, MixesSmallAndLargeAppends) {
  std::string expected;
  auto file = storage->create(folder / "big").value();
  for (size_t bytes : {10, 70000, 1, 65536, 65535, 2, 200000, 5}) {
    const std::string part(bytes, char('a' + bytes % 26));
    expected += part;
    ASSERT_TRUE(file->append(bytes_of(part)));
  }
  ASSERT_TRUE(file->flush());
  EXPECT_EQ(storage->read_all(folder / "big").value(), expected);
}

TEST_F(FileStorageTest, ReadsAtOffsetsAndRefusesToReadPastTheEnd) {
  write(folder / "a", "0123456789");
  const auto file = storage->open(folder / "a").value();
  EXPECT_EQ(file->size(), 10u);
  std::array<std::byte, 4> out;
  ASSERT_TRUE(file->read_at(6, out));
  EXPECT_EQ(char(out[0]), '6');
  EXPECT_EQ(char(out[3]), '9');
  const Error error = file->read_at(8, out).error();
  EXPECT_EQ(error.kind(), ErrorKind::kDataLoss);
  EXPECT_THAT(error.message(), HasSubstr(folder / "a: ends at byte 10"));
}

// This test fails on a 32-bit machine if Shoal is compiled without 64-bit sizes and dates: then files end at 2 GiB, and dates
// end in January 2038.
TEST_F(FileStorageTest, FilesBeyondFourGiBAndDatesBeyond2038) {
  const std::string path = folder / "large";
  constexpr uint64_t kHole = (uint64_t(1) << 32) + 5;
  constexpr std::chrono::seconds kYear2040(2'208'988'800);
  write(path, "");
  std::filesystem::resize_file(path, kHole);
  auto file = storage->append(path);
  ASSERT_TRUE(file) << file.error().message();
  ASSERT_TRUE(file.value()->append(bytes_of("tail")));
  ASSERT_TRUE(file.value()->close());
  std::timespec date{};
  date.tv_sec = std::time_t(kYear2040.count());
  const std::timespec dates[] = {date, date};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), dates, 0), 0);

  const auto reader = storage->open(path);
  ASSERT_TRUE(reader) << reader.error().message();
  EXPECT_EQ(reader.value()->size(), kHole + 4);
  std::array<char, 4> tail{};
  ASSERT_TRUE(reader.value()->read_at(kHole, std::as_writable_bytes(std::span(tail))));
  EXPECT_EQ(std::string_view(tail.data(), tail.size()), "tail");
  const auto entries = storage->list(folder / "");
  ASSERT_TRUE(entries) << entries.error().message();
  EXPECT_EQ(entries->at(0).size_bytes, kHole + 4);
  EXPECT_EQ(entries->at(0).modified, WallTime(kYear2040));
}

TEST_F(FileStorageTest, ReadAllHasALimit) {
  write(folder / "a", "0123456789");
  EXPECT_EQ(storage->read_all(folder / "a", 10).value().size(), 10u);
  EXPECT_EQ(storage->read_all(folder / "a", 9).error().kind(), ErrorKind::kInvalidArgument);
}

TEST_F(FileStorageTest, ListsSortedWithSizes) {
  write(folder / "b", "12345");
  write(folder / "B", "");
  write(folder / "ab", "1");
  ASSERT_TRUE(storage->make_folders(folder / "c/d/e"));
  ASSERT_TRUE(storage->make_folders(folder / "c/d/e"));
  const auto entries = storage->list(folder.path()).value();
  EXPECT_EQ(names(folder.path()), (std::vector<std::string>{"B", "ab", "b", "c"}));
  EXPECT_EQ(entries[2].size_bytes, 5u);
  EXPECT_FALSE(entries[2].is_folder);
  EXPECT_TRUE(entries[3].is_folder);
  struct stat status {};
  ASSERT_EQ(stat((folder / "b").c_str(), &status), 0);
  EXPECT_EQ(std::chrono::floor<std::chrono::seconds>(entries[2].modified).time_since_epoch().count(),
            status.st_mtim.tv_sec);
  EXPECT_TRUE(storage->exists(folder / "c/d"));
  EXPECT_FALSE(storage->exists(folder / "c/x"));
}

TEST_F(FileStorageTest, RenamesAndRemoves) {
  write(folder / "a", "1");
  write(folder / "b", "2");
  ASSERT_TRUE(storage->rename(folder / "a", folder / "b"));
  EXPECT_EQ(storage->read_all(folder / "b").value(), "1");
  ASSERT_TRUE(storage->remove(folder / "b"));
  EXPECT_EQ(storage->remove(folder / "b").error().kind(), ErrorKind::kNotFound);
  ASSERT_TRUE(storage->make_folders(folder / "c/d"));
  write(folder / "c/d/e", "1");
  EXPECT_EQ(storage->remove(folder / "c").error().kind(), ErrorKind::kFailedPrecondition);
  ASSERT_TRUE(storage->remove_all(folder / "c"));
  ASSERT_TRUE(storage->remove_all(folder / "c"));
  EXPECT_TRUE(names(folder.path()).empty());
  EXPECT_TRUE(storage->sync_folder(folder.path()));
}

TEST_F(FileStorageTest, ErrorsNamePathAndCause) {
  const std::string missing = folder / "none/a";
  for (const Error& error :
       {storage->open(missing).error(), storage->create(missing).error(), storage->append(missing).error(),
        storage->list(missing).error(), storage->sync_folder(missing).error(),
        storage->rename(missing, folder / "b").error(), storage->read_all(missing).error()}) {
    EXPECT_EQ(error.kind(), ErrorKind::kNotFound) << error.message();
    EXPECT_THAT(error.message(), HasSubstr("none/a"));
    EXPECT_THAT(error.message(), HasSubstr("No such file"));
  }
}

TEST_F(FileStorageTest, AFileInThePlaceOfAFolderIsAPrecondition) {
  write(folder / "file", "x");
  const std::string below = folder / "file/model";
  for (const Error& error : {storage->make_folders(below).error(), storage->create(below).error(),
                             storage->list(below).error(), storage->write_atomically(below, "x").error()}) {
    EXPECT_EQ(error.kind(), ErrorKind::kFailedPrecondition) << error.message();
    EXPECT_THAT(error.message(), HasSubstr("file/model"));
  }
  EXPECT_EQ(storage->open(folder.path()).error().kind(), ErrorKind::kFailedPrecondition);
  EXPECT_EQ(storage->create(folder.path()).error().kind(), ErrorKind::kFailedPrecondition);
}

TEST_F(FileStorageTest, APipeIsRefusedRatherThanWaitedFor) {
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(storage->open(folder / "pipe").error(),
            failed_precondition("cannot open " + (folder / "pipe") + ": not a regular file"));
}

TEST_F(FileStorageTest, AFolderThatMayNotBeWrittenIsAPrecondition) {
  if (geteuid() == 0) {
    // Root may write everywhere but into the kernel's own file systems.
    const Error error = storage->create("/proc/sys/kernel/shoal-test").error();
    EXPECT_TRUE(error.kind() == ErrorKind::kFailedPrecondition || error.kind() == ErrorKind::kNotFound) << error.message();
    return;
  }
  ASSERT_TRUE(storage->make_folders(folder / "locked"));
  ASSERT_EQ(chmod((folder / "locked").c_str(), 0500), 0);
  const Error error = storage->create(folder / "locked/a").error();
  EXPECT_EQ(error.kind(), ErrorKind::kFailedPrecondition);
  EXPECT_THAT(error.message(), HasSubstr("check the owner and the permissions"));
  chmod((folder / "locked").c_str(), 0700);
}

TEST_F(FileStorageTest, AFullDiskIsUnavailableAndStaysReported) {
  auto file = storage->create("/dev/full");
  if (!file) GTEST_SKIP() << "no /dev/full here";
  ASSERT_TRUE(file.value()->append(bytes_of("x")));  // The byte is still in memory.
  const Error error = file.value()->sync().error();
  EXPECT_EQ(error.kind(), ErrorKind::kUnavailable);
  EXPECT_THAT(error.message(), HasSubstr("cannot write /dev/full: No space left on device; free some space"));
  EXPECT_EQ(file.value()->append(bytes_of("x")).error(), error);
  EXPECT_EQ(file.value()->close().error(), error);
}

TEST_F(FileStorageTest, WriteAtomicallyReplacesAndLeavesNothingElse) {
  ASSERT_TRUE(storage->write_atomically(folder / "checkpoint", "old"));
  ASSERT_TRUE(storage->write_atomically(folder / "checkpoint", "newer"));
  EXPECT_EQ(storage->read_all(folder / "checkpoint").value(), "newer");
  EXPECT_EQ(names(folder.path()), (std::vector<std::string>{"checkpoint"}));
}

TEST_F(FileStorageTest, WriteAtomicallyKeepsTheOldFileWhenItFails) {
  ASSERT_TRUE(storage->make_folders(folder / "target/inner"));  // A folder that is not empty cannot be replaced.
  EXPECT_EQ(storage->write_atomically(folder / "target", "x").error().kind(), ErrorKind::kFailedPrecondition);
  EXPECT_EQ(names(folder.path()), (std::vector<std::string>{"target"}));
}

TEST_F(FileStorageTest, ReadersOfAnAtomicFileSeeOldOrNew) {
  const std::string old_text(100000, 'o'), new_text(50000, 'n');
  ASSERT_TRUE(storage->write_atomically(folder / "a", old_text));
  std::atomic<bool> done{false};
  std::thread writers[2];
  for (std::thread& writer : writers) {
    writer = std::thread([&] {
      for (int i = 0; i < 20; ++i) EXPECT_TRUE(storage->write_atomically(folder / "a", i % 2 ? old_text : new_text));
    });
  }
  std::thread reader([&] {
    while (!done) {
      const std::string text = storage->read_all(folder / "a").value();
      EXPECT_TRUE(text == old_text || text == new_text);
    }
  });
  for (std::thread& writer : writers) writer.join();
  done = true;
  reader.join();
}

TEST_F(FileStorageTest, ALockIsHeldOnceAndNamesItsHolder) {
  const std::string file = folder / "lock";
  auto first = storage->lock(file, "worker 3 of host a, since noon");
  ASSERT_TRUE(first) << first.error().message();
  const auto second = storage->lock(file, "another");
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind(), ErrorKind::kUnavailable);
  EXPECT_NE(second.error().message().find("held by worker 3 of host a, since noon"), std::string::npos);
  first->reset();
  EXPECT_TRUE(storage->lock(file, "another"));
}

/// The file of a lock belongs to the user who made it first. Others may read it, or not even that.
TEST_F(FileStorageTest, ALockOfAnotherUserHolds) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may become another user";
  constexpr uid_t kNobody = 65534;
  const std::string file = folder / "lock";
  ASSERT_EQ(chmod(folder.path().c_str(), 0777), 0);
  /// The kind of the error that another user gets who wants the lock; 0: none.
  const auto kind_for_another = [&] {
    const pid_t other = fork();
    if (other == 0) {
      if (setuid(kNobody) != 0) _exit(100);
      const auto lock = storage->lock(file, "another");
      _exit(lock ? 0 : int(lock.error().kind()));
    }
    int status = 0;
    EXPECT_EQ(waitpid(other, &status, 0), other);
    return WEXITSTATUS(status);
  };
  auto lock = storage->lock(file, "the holder");
  ASSERT_TRUE(lock);
  ASSERT_EQ(chmod(file.c_str(), 0644), 0);
  EXPECT_EQ(kind_for_another(), int(ErrorKind::kUnavailable));
  lock->reset();
  EXPECT_EQ(kind_for_another(), 0);
  ASSERT_EQ(chmod(file.c_str(), 0600), 0);
  EXPECT_EQ(kind_for_another(), int(ErrorKind::kInvalidArgument));
}

TEST_F(FileStorageTest, ALockEndsWithItsProcess) {
  int held[2];
  ASSERT_EQ(pipe(held), 0);
  const pid_t holder = fork();
  ASSERT_GE(holder, 0);
  if (holder == 0) {
    const auto lock = storage->lock(folder / "lock", "the holder");
    if (lock && ::write(held[1], "x", 1) == 1) pause();
    _exit(1);  // This ends the wait below.
  }
  close(held[1]);
  char locked = 0;
  ASSERT_EQ(read(held[0], &locked, 1), 1);
  close(held[0]);
  const auto refused = storage->lock(folder / "lock", "another");
  EXPECT_THAT(refused ? "let in" : refused.error().message(), HasSubstr("held by the holder"));
  kill(holder, SIGKILL);
  ASSERT_EQ(waitpid(holder, nullptr, 0), holder);
  const auto next = storage->lock(folder / "lock", "another");
  EXPECT_TRUE(next) << next.error().message();
}

TEST_F(FileStorageTest, TemporaryFoldersAreFresh) {
  const auto one = storage->make_temporary_folder((folder / "run-")),
             two = storage->make_temporary_folder((folder / "run-"));
  ASSERT_TRUE(one && two);
  EXPECT_NE(*one, *two);
  EXPECT_TRUE(one->starts_with((folder / "run-")));
  EXPECT_TRUE(storage->list(*one));
}

TEST_F(FileStorageTest, UniqueNamesAreUnique) {
  const auto other = make_file_storage();
  EXPECT_NE(storage->unique_name(), storage->unique_name());
  EXPECT_NE(storage->unique_name(), other->unique_name());
}

TEST_F(FileStorageTest, AFullPathIsAbsoluteWithoutLinks) {
  ASSERT_TRUE(storage->make_folders(folder / "m"));
  std::filesystem::create_directory_symlink(folder / "m", folder / "link");
  const std::string full = std::filesystem::canonical(folder / "m").string();
  for (const char* path : {"m", "m/", "./m", "link", "link/", "link/../m"}) {
    EXPECT_EQ(storage->full_path(folder / path), full) << path;
  }
  EXPECT_EQ(storage->full_path(folder / "link/none/x"), full + "/none/x");
  EXPECT_EQ(storage->full_path("no_such_folder"), (std::filesystem::current_path() / "no_such_folder").string());
}

TEST(JoinPath, PutsExactlyOneSlash) {
  EXPECT_EQ(join_path("a", "b"), "a/b");
  EXPECT_EQ(join_path("a/", "b"), "a/b");
  EXPECT_EQ(join_path("a//", "/b"), "a/b");
  EXPECT_EQ(join_path("/", "b"), "/b");
  EXPECT_EQ(join_path("", "b"), "b");
}

TEST_F(FileStorageTest, ALinkThatLeadsNowhereIsNamed) {
  std::filesystem::create_symlink("/old/disk", folder / "m");
  for (const Error& error :
       {storage->make_folders(folder / "m").error(), storage->make_folders(folder / "m/eval/x").error(),
        storage->open(folder / "m").error(), storage->list(folder / "m").error()}) {
    EXPECT_THAT(error.message(), HasSubstr("; " + (folder / "m") +
                                           " is a link to /old/disk, which is not there: make that, or "
                                           "remove the link"));
  }
  EXPECT_THAT(storage->open(folder / "none").error().message(), testing::EndsWith("none: No such file or directory"));
}

TEST_F(FileStorageTest, AWorkingFolderThatIsGoneIsNamed) {
  const std::string gone = folder / "gone";
  ASSERT_TRUE(storage->make_folders(gone));
  const pid_t child = ::fork();  // Which alone changes its working folder.
  ASSERT_GE(child, 0);
  if (child == 0) {
    const bool there = ::chdir(gone.c_str()) == 0 && ::rmdir(gone.c_str()) == 0;
    const auto made = storage->make_folders("m");
    const std::string text = made ? "" : made.error().message();
    ::_exit(there && text.find("; the working folder of this process was removed: change to one") != std::string::npos ? 0
                                                                                                                       : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace shoal
