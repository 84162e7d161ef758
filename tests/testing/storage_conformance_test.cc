// SPDX-License-Identifier: Apache-2.0
// What the simulated disk, the storage in memory and the file system of this machine have in common: each case runs on all, and
// random calls are answered by all in the same words.
#include <array>

#include "../base/temporary_folder.h"
#include "fixture.h"
#include "shoal/base/memory_storage.h"
#include "shoal/base/random.h"
#include "shoal/testing/mounted_storage.h"

namespace shoal::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

enum class Kind { kFiles, kMemory, kSimulated, kLocalMount, kSharedMount, kLateMount };

/// A storage with an empty folder in it.
class Place {
 public:
  explicit Place(Kind kind) {
    if (kind == Kind::kFiles) {
      storage_ = make_file_storage();
    } else if (kind == Kind::kMemory) {
      storage_ = make_memory_storage();
      value_or_raise(storage_->make_folders(folder_.path()));
    } else if (kind == Kind::kSimulated) {
      auto disk = std::make_unique<SimulatedDisk>();
      disk->add_folder(folder_.path());
      storage_ = std::move(disk);
    } else {
      storage_ = mounted(kind);
    }
  }
  Storage& storage() { return *storage_; }
  std::string operator/(const std::string& name) const { return folder_ / name; }
  const std::string& path() const { return folder_.path(); }

 private:
  std::unique_ptr<Storage> mounted(Kind kind) const {
    auto local = std::make_shared<SimulatedDisk>(SimulatedDiskOptions{.folders = {folder_.path()}});
    auto storage = std::make_unique<MountedStorage>(local);
    if (kind == Kind::kLocalMount) {
      storage->mount("/shared", std::make_shared<SimulatedDisk>());
    } else {
      DiskConnection& connection = storage->mount(folder_.path(), std::make_shared<SimulatedDisk>());
      if (kind == Kind::kLateMount) connection.see_late(std::chrono::seconds(30), [] { return SteadyTime(); });
    }
    return storage;
  }

  TemporaryFolder folder_;  // It is of the real file system; the others use its path too, so that sentences are equal.
  std::unique_ptr<Storage> storage_;
};

class StorageConformance : public ::testing::TestWithParam<Kind> {
 protected:
  StorageConformance() : place(GetParam()), storage(place.storage()) {}
  Place place;
  Storage& storage;
};

TEST_P(StorageConformance, WritesAppendsAndReads) {
  ASSERT_OK(write(storage, place / "a", "hello"));
  auto file = storage.append(place / "a");
  ASSERT_OK(file);
  ASSERT_OK((*file)->append(bytes_of(" world")));
  EXPECT_EQ(text_of(storage, place / "a"), "hello");  // The rest is still in memory.
  ASSERT_OK((*file)->flush());
  EXPECT_EQ(text_of(storage, place / "a"), "hello world");
  ASSERT_OK((*file)->sync());
  ASSERT_OK((*file)->close());
  ASSERT_OK((*file)->close());
  EXPECT_FAILS((*file)->append(bytes_of("x")),
               failed_precondition("cannot write " + (place / "a") + ": the file was closed"));
  ASSERT_OK(write(storage, place / "a", "new"));
  EXPECT_EQ(text_of(storage, place / "a"), "new");
}

TEST_P(StorageConformance, WhatWasNotFlushedIsLostWithItsWriter) {
  {
    auto file = storage.create(place / "a");
    ASSERT_OK(file);
    ASSERT_OK((*file)->append(bytes_of("kept ")));
    ASSERT_OK((*file)->flush());
    ASSERT_OK((*file)->append(bytes_of("lost")));
  }
  EXPECT_EQ(text_of(storage, place / "a"), "kept ");
}

TEST_P(StorageConformance, MixesSmallAndLargeAppends) {
  std::string expected;
  auto file = storage.create(place / "big");
  ASSERT_OK(file);
  for (size_t bytes : {10, 70000, 1, 65536, 65535, 2, 200000, 5}) {
    const std::string part(bytes, char('a' + bytes % 26));
    expected += part;
    ASSERT_OK((*file)->append(bytes_of(part)));
  }
  EXPECT_EQ((*storage.open(place / "big"))->size(), 401084u);  // The last five bytes are in memory.
  ASSERT_OK((*file)->flush());
  EXPECT_EQ(text_of(storage, place / "big"), expected);
}

TEST_P(StorageConformance, ReadersKeepTheFileTheyOpened) {
  ASSERT_OK(write(storage, place / "a", "old"));
  ASSERT_OK(write(storage, place / "b", "new"));
  auto replaced = storage.open(place / "a"), removed = storage.open(place / "b");
  ASSERT_OK(replaced);
  ASSERT_OK(removed);
  ASSERT_OK(storage.rename(place / "b", place / "a"));
  ASSERT_OK(storage.remove(place / "a"));
  std::string text(3, ' ');
  ASSERT_OK((*replaced)->read_at(0, std::as_writable_bytes(std::span(text))));
  EXPECT_EQ(text, "old");
  ASSERT_OK((*removed)->read_at(0, std::as_writable_bytes(std::span(text))));
  EXPECT_EQ(text, "new");
}

TEST_P(StorageConformance, AppendingToARemovedFileIsFine) {
  auto file = storage.create(place / "a");
  ASSERT_OK(file);
  ASSERT_OK(storage.remove(place / "a"));
  ASSERT_OK((*file)->append(bytes_of("x")));
  ASSERT_OK((*file)->sync());
  ASSERT_OK((*file)->close());
  EXPECT_THAT(names_in(storage, place.path()), IsEmpty());
}

TEST_P(StorageConformance, ReadingPastTheEndIsDataLoss) {
  ASSERT_OK(write(storage, place / "a", "0123456789"));
  const auto file = storage.open(place / "a");
  ASSERT_OK(file);
  std::array<std::byte, 4> out{};
  ASSERT_OK((*file)->read_at(6, out));
  EXPECT_EQ(char(out[3]), '9');
  EXPECT_FAILS((*file)->read_at(8, out),
               data_loss((place / "a") + ": ends at byte 10, but 2 bytes from 10 are needed; the file was cut"));
  EXPECT_FAILS((*file)->read_at(20, out),
               data_loss((place / "a") + ": ends at byte 10, but 4 bytes from 20 are needed; the file was cut"));
}

TEST_P(StorageConformance, CreatingEmptiesAlsoForWhoHasItOpen) {
  ASSERT_OK(write(storage, place / "a", "0123456789"));
  const auto reader = storage.open(place / "a");
  ASSERT_OK(reader);
  ASSERT_OK(write(storage, place / "a", "x"));
  std::array<std::byte, 4> out{};
  EXPECT_FAILS((*reader)->read_at(0, out),
               data_loss((place / "a") + ": ends at byte 10, but 3 bytes from 1 are needed; the file was cut"));
}

TEST_P(StorageConformance, ListsSortedWithSizesAndFolders) {
  ASSERT_OK(write(storage, place / "b", "12345"));
  ASSERT_OK(write(storage, place / "B", ""));
  ASSERT_OK(storage.make_folders(place / "c/d/e"));
  ASSERT_OK(storage.make_folders(place / "c/d/e"));
  EXPECT_THAT(names_in(storage, place.path()), ElementsAre("B", "b", "c/"));
  EXPECT_THAT(names_in(storage, (place / "c//./d/")), ElementsAre("e/"));
  EXPECT_EQ((*storage.list(place.path()))[1].size_bytes, 5u);
  EXPECT_EQ((*storage.list(place.path()))[2].size_bytes, 0u);
  EXPECT_TRUE(storage.exists(place / "c/d"));
  EXPECT_FALSE(storage.exists(place / "c/x"));
  EXPECT_FALSE(storage.exists(place / "b/x"));
}

TEST_P(StorageConformance, RenamesFoldersWithAllInThem) {
  ASSERT_OK(storage.make_folders(place / "export/tmp-1/sub"));
  ASSERT_OK(write(storage, place / "export/tmp-1/sub/a", "x"));
  ASSERT_OK(storage.rename(place / "export/tmp-1", place / "export/1"));
  EXPECT_EQ(text_of(storage, place / "export/1/sub/a"), "x");
  EXPECT_THAT(names_in(storage, place / "export"), ElementsAre("1/"));
  ASSERT_OK(storage.make_folders(place / "export/tmp-2"));
  const std::string in_use =
      "cannot rename " + (place / "export/tmp-2") + " to " + (place / "export/1") + ": Directory not empty";
  EXPECT_FAILS(storage.rename(place / "export/tmp-2", place / "export/1"), failed_precondition(in_use));
}

TEST_P(StorageConformance, AFileIsThereForAsLongAsOneOfItsNamesIs) {
  ASSERT_OK(write(storage, place / "a", "old"));
  ASSERT_OK(storage.make_folders(place / "other"));
  ASSERT_OK(storage.link(place / "a", place / "other/b"));
  ASSERT_OK(storage.link(place / "other/b", place / "c"));
  ASSERT_OK(storage.remove(place / "a"));
  EXPECT_EQ(text_of(storage, place / "other/b"), "old");
  // A name that leads to another file from then on takes no other name with it.
  ASSERT_OK(write(storage, place / "new", "newer"));
  ASSERT_OK(storage.rename(place / "new", place / "c"));
  EXPECT_EQ(text_of(storage, place / "other/b"), "old");
  EXPECT_EQ(text_of(storage, place / "c"), "newer");
  // Two names of one file: renaming one to the other leaves both, says POSIX.
  ASSERT_OK(storage.link(place / "c", place / "d"));
  ASSERT_OK(storage.rename(place / "c", place / "d"));
  EXPECT_THAT(names_in(storage, place.path()), ElementsAre("c", "d", "other/"));
}

TEST_P(StorageConformance, ASecondNameMustBeFreeAndOfAFile) {
  ASSERT_OK(write(storage, place / "a", "1"));
  ASSERT_OK(write(storage, place / "b", "2"));
  ASSERT_OK(storage.make_folders(place / "folder"));
  const auto words = [&](const char* from, const char* to, const std::string& cause) {
    return "cannot link " + (place / from) + " as " + (place / to) + ": " + cause;
  };
  EXPECT_THAT(state_of(storage.link(place / "a", place / "b")), HasSubstr(words("a", "b", "File exists")));
  EXPECT_FAILS(storage.link(place / "none", place / "c"), not_found(words("none", "c", "No such file or directory")));
  EXPECT_FAILS(storage.link(place / "a", place / "none/c"), not_found(words("a", "none/c", "No such file or directory")));
  EXPECT_THAT(state_of(storage.link(place / "folder", place / "c")),
              HasSubstr(words("folder", "c", "Operation not permitted")));
  EXPECT_EQ(text_of(storage, place / "b"), "2");
}

TEST_P(StorageConformance, RemovesFilesEmptyFoldersAndWholeTrees) {
  ASSERT_OK(storage.make_folders(place / "c/d"));
  ASSERT_OK(write(storage, place / "c/d/e", "1"));
  EXPECT_FAILS(storage.remove(place / "c"),
               failed_precondition("cannot remove " + (place / "c") + ": Directory not empty"));
  ASSERT_OK(storage.remove_all(place / "c"));
  ASSERT_OK(storage.remove_all(place / "c"));
  EXPECT_FAILS(storage.remove(place / "c"), not_found("cannot remove " + (place / "c") + ": No such file or directory"));
  ASSERT_OK(storage.make_folders(place / "c"));
  ASSERT_OK(storage.remove(place / "c"));
  EXPECT_THAT(names_in(storage, place.path()), IsEmpty());
}

TEST_P(StorageConformance, WritesAtomically) {
  ASSERT_OK(storage.write_atomically(place / "checkpoint", "old"));
  ASSERT_OK(storage.write_atomically(place / "checkpoint", "newer"));
  EXPECT_EQ(text_of(storage, place / "checkpoint"), "newer");
  EXPECT_THAT(names_in(storage, place.path()), ElementsAre("checkpoint"));
}

TEST_P(StorageConformance, MissingFoldersAreNotFound) {
  const std::string missing = place / "none/a";
  for (const std::string& state :
       {state_of(storage.open(missing)), state_of(storage.create(missing)), state_of(storage.append(missing)),
        state_of(storage.list(missing)), state_of(storage.sync_folder(missing)), state_of(storage.lock(missing, "me")),
        state_of(storage.rename(missing, place / "b")), state_of(storage.make_temporary_folder(missing))}) {
    EXPECT_THAT(state, HasSubstr("NotFound"));
    EXPECT_THAT(state, HasSubstr("none/a"));
  }
}

TEST_P(StorageConformance, ALockIsHeldOnceAndItsFileNamesTheHolder) {
  auto first = storage.lock(place / "lock", "worker 3 of host a");
  ASSERT_OK(first);
  EXPECT_EQ(text_of(storage, place / "lock"), "worker 3 of host a\n");
  EXPECT_FAILS(storage.lock(place / "lock", "another"), unavailable((place / "lock") + " is held by worker 3 of host a"));
  auto other = storage.lock(place / "other", "me");
  ASSERT_OK(other);
  first->reset();
  first = storage.lock(place / "lock", "me");
  ASSERT_OK(first);
  EXPECT_EQ(text_of(storage, place / "lock"), "me\n");
}

TEST_P(StorageConformance, ALockKnowsWhetherItsNameStillLeadsToIt) {
  ASSERT_OK(storage.make_folders(place / "run"));
  auto lock = storage.lock(place / "run/lock", "me");
  ASSERT_OK(lock);
  EXPECT_EQ(value_or_raise((*lock)->is_in_place()), true);
  ASSERT_OK(storage.rename(place / "run", place / "moved"));
  EXPECT_EQ(value_or_raise((*lock)->is_in_place()), false);
  // Another process makes the folder anew, and locks it: that is another lock.
  ASSERT_OK(storage.make_folders(place / "run"));
  auto other = storage.lock(place / "run/lock", "another");
  ASSERT_OK(other);
  EXPECT_EQ(value_or_raise((*lock)->is_in_place()), false);
  EXPECT_EQ(value_or_raise((*other)->is_in_place()), true);
  ASSERT_OK(storage.remove(place / "run/lock"));
  EXPECT_EQ(value_or_raise((*other)->is_in_place()), false);
}

TEST_P(StorageConformance, TemporaryFoldersAndUniqueNamesAreNew) {
  const auto one = storage.make_temporary_folder(place / "run-"), two = storage.make_temporary_folder(place / "run-");
  ASSERT_OK(one);
  ASSERT_OK(two);
  EXPECT_NE(*one, *two);
  EXPECT_TRUE(one->starts_with(place / "run-"));
  EXPECT_THAT(names_in(storage, *one), IsEmpty());
  EXPECT_NE(storage.unique_name(), storage.unique_name());
}

std::string name_of(const ::testing::TestParamInfo<Kind>& kind) {
  constexpr const char* kNames[] = {"Files", "Memory", "Simulated", "LocalMount", "SharedMount", "LateMount"};
  return kNames[size_t(kind.param)];
}
INSTANTIATE_TEST_SUITE_P(All, StorageConformance,
                         ::testing::Values(Kind::kFiles, Kind::kMemory, Kind::kSimulated, Kind::kLocalMount,
                                           Kind::kSharedMount, Kind::kLateMount),
                         name_of);

/// Random calls in a small tree, where names meet each other in every way; each answers with a line.
class RandomCalls {
 public:
  RandomCalls(Storage& storage, std::string folder, uint64_t seed)
      : storage_(storage), folder_(std::move(folder)), random_(fold_in(seed, "calls")) {}

  std::string next() {
    const uint64_t call = random_.below(15);
    std::string path = draw_path();
    if (call < 3 && random_.below(50) == 0) path += "/" + std::string(256, 'n');
    switch (call) {
      case 0: return "create " + path + ": " + keep(storage_.create(path));
      case 1: return "append " + path + ": " + keep(storage_.append(path));
      case 2: return "open " + path + ": " + keep(storage_.open(path));
      case 3:
      case 4: return rename(path, draw_path());
      case 5: return "remove " + path + ": " + state_of(storage_.remove(path));
      case 6: return "remove all " + path + ": " + remove_all(path);
      case 7:
      case 8: return "make folders " + path + ": " + state_of(storage_.make_folders(path));
      case 9: return "sync " + path + ": " + state_of(storage_.sync_folder(path));
      case 10: return "list " + path + ": " + list(path) + (storage_.exists(path) ? " exists" : " is not there");
      case 11: return "lock " + path + ": " + lock(path);
      case 12: return "write: " + use_writer();
      case 13: return "look at a lock: " + look_at_lock();
      default: return "read: " + use_reader();
    }
  }
  /// All of the tree, with contents.
  std::string tree() { return tree_below(folder_); }

 private:
  std::string draw_path() {
    constexpr const char* kNames[] = {"a", "b", "c"};
    std::string path = folder_;
    for (uint64_t depth = 1 + random_.below(3); depth > 0; --depth) path += std::string("/") + kNames[random_.below(3)];
    return path;
  }
  std::string keep(Result<std::unique_ptr<WritableFile>> file) {
    std::string state = state_of(file);
    if (file) (writers_.size() < 4 ? writers_.emplace_back() : writers_[random_.below(4)]) = std::move(*file);
    return state;
  }
  std::string keep(Result<std::unique_ptr<ReadableFile>> file) {
    std::string state = state_of(file) + (file ? " " + std::to_string((*file)->size()) : "");
    if (file) (readers_.size() < 4 ? readers_.emplace_back() : readers_[random_.below(4)]) = std::move(*file);
    return state;
  }
  std::string rename(const std::string& from, const std::string& to) {
    return "rename " + from + " to " + to + ": " + state_of(storage_.rename(from, to));
  }
  /// Which of several files the real one removes first is its own business, but here nothing keeps it from removing any.
  std::string remove_all(const std::string& path) {
    return random_.below(3) == 0 ? state_of(storage_.remove_all(path)) : "left alone";
  }
  std::string list(const std::string& path) {
    const Result<std::vector<FileInfo>> entries = storage_.list(path);
    std::string line = state_of(entries);
    if (!entries) return line;
    for (const FileInfo& info : *entries) {
      line += " " + info.name + (info.is_folder ? "/" : " " + std::to_string(info.size_bytes));
    }
    return line;
  }
  std::string lock(const std::string& path) {
    if (locks_.size() == 3) locks_.erase(locks_.begin() + std::ptrdiff_t(random_.below(3)));
    Result<std::unique_ptr<StorageLock>> taken = storage_.lock(path, "holder " + std::to_string(++holder_));
    std::string state = state_of(taken);
    if (taken) locks_.push_back(std::move(*taken));
    return state;
  }
  std::string look_at_lock() {
    if (locks_.empty()) return "none";
    const Result<bool> in_place = locks_[random_.below(locks_.size())]->is_in_place();
    return in_place ? (*in_place ? "in place" : "gone") : state_of(in_place);
  }
  std::string use_writer() {
    if (writers_.empty()) return "none";
    WritableFile& file = *writers_[random_.below(writers_.size())];
    const uint64_t call = random_.below(5);
    const std::string text(size_t(random_.below(20) == 0 ? random_.below(150'000) : random_.below(30)),
                           char('a' + random_.below(26)));
    if (call < 2) return "append " + state_of(file.append(bytes_of(text)));
    if (call == 2) return "flush " + state_of(file.flush());
    return call == 3 ? "sync " + state_of(file.sync()) : "close " + state_of(file.close());
  }
  std::string use_reader() {
    if (readers_.empty()) return "none";
    const ReadableFile& file = *readers_[random_.below(readers_.size())];
    std::string text(size_t(random_.below(40)), ' ');
    const std::string state = state_of(file.read_at(random_.below(60), std::as_writable_bytes(std::span(text))));
    return state == "ok" ? text : state;
  }
  std::string tree_below(const std::string& path) {
    std::string lines;
    for (const FileInfo& info : value_or_raise(storage_.list(path))) {
      const std::string below = join_path(path, info.name);
      lines += below + "\n" + (info.is_folder ? tree_below(below) : text_of(storage_, below) + "\n");
    }
    return lines;
  }

  Storage& storage_;
  std::string folder_;
  RandomStream random_;
  std::vector<std::unique_ptr<WritableFile>> writers_;
  std::vector<std::unique_ptr<ReadableFile>> readers_;
  std::vector<std::unique_ptr<StorageLock>> locks_;
  int holder_ = 0;
};

TEST(RandomStorageCalls, AreAnsweredInTheSameWords) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Place real(Kind::kFiles), memory(Kind::kMemory);
    SimulatedDisk disk({.folders = {real.path()}});
    value_or_raise(memory.storage().make_folders(real.path()));
    RandomCalls expected(real.storage(), real.path(), seed);
    RandomCalls others[] = {{disk, real.path(), seed}, {memory.storage(), real.path(), seed}};
    for (int call = 0; call < 300; ++call) {
      const std::string there = expected.next();
      for (RandomCalls& actual : others) {
        const std::string here = actual.next();
        ASSERT_TRUE(here == there) << "seed " << seed << ", call " << call << "\n"
                                   << here.substr(0, 500) << "\n"
                                   << there.substr(0, 500);
      }
    }
    for (RandomCalls& actual : others) ASSERT_TRUE(actual.tree() == expected.tree()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace shoal::testing
