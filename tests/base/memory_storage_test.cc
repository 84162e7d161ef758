// SPDX-License-Identifier: Apache-2.0
// Storage in memory: what it has besides that which all storages have (tests/testing/storage_conformance_test.cc).
#include "shoal/base/memory_storage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "temporary_folder.h"

namespace shoal {
namespace {

using ::testing::HasSubstr;

TEST(MemoryStorage, PathsAreItsOwn) {
  const auto storage = make_memory_storage();
  value_or_raise(storage->make_folders("m/eval"));
  value_or_raise(storage->write_atomically("./m/eval/a", "text"));
  for (const char* path : {"m/eval/a", "/m/eval/a", "m//eval/./a", "/x/../m/eval/a"}) {
    EXPECT_EQ(value_or_raise(storage->read_all(path)), "text") << path;
    EXPECT_EQ(storage->full_path(path), "/m/eval/a");
  }
  EXPECT_EQ(storage->full_path("m/eval/"), "/m/eval");
  EXPECT_EQ(storage->full_path("."), "/");
  EXPECT_FALSE(storage->exists("/proc"));
  EXPECT_EQ(storage->make_folders("gs://bucket/m").error().kind(), ErrorKind::kInvalidArgument);
  EXPECT_FALSE(make_memory_storage()->exists("m"));
}

TEST(MemoryStorage, FilesOutliveTheStorageForWhoHasThemOpen) {
  auto storage = make_memory_storage();
  value_or_raise(storage->write_atomically("a", "text"));
  const auto file = value_or_raise(storage->open("a"));
  const auto lock = value_or_raise(storage->lock("lock", "me"));
  storage.reset();
  std::string text(4, ' ');
  value_or_raise(file->read_at(0, std::as_writable_bytes(std::span(text))));
  EXPECT_EQ(text, "text");
}

TEST(MemoryStorage, IsFullAtItsCapacity) {
  const auto storage = make_memory_storage({.capacity_bytes = 10});
  value_or_raise(storage->write_atomically("a", "12345678"));
  const auto refused = storage->write_atomically("b", "123");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::kUnavailable);
  EXPECT_THAT(refused.error().message(), HasSubstr("No space left on device"));
  value_or_raise(storage->remove("a"));
  value_or_raise(storage->write_atomically("b", "123"));
}

TEST(MemoryStorage, AnyThreadMayUseIt) {
  const auto storage = make_memory_storage();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&storage, t] {
      const std::string own = std::to_string(t);
      for (int i = 0; i < 200; ++i) {
        value_or_raise(storage->write_atomically("shared", std::string(100, char('a' + t))));
        value_or_raise(storage->write_atomically(own, std::to_string(i)));
        const std::string seen = value_or_raise(storage->read_all("shared"));
        EXPECT_EQ(seen, std::string(100, seen[0]));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(value_or_raise(storage->list(".")).size(), 5u);
}

TEST(MemoryStorage, CopiesFoldersToOtherStorages) {
  const TemporaryFolder folder;
  const auto memory = make_memory_storage(), files = make_file_storage();
  value_or_raise(memory->make_folders("export/1/variables"));
  value_or_raise(memory->write_atomically("export/1/export.json", "{}"));
  value_or_raise(memory->write_atomically("export/1/variables/data", std::string(200'000, 'x')));
  value_or_raise(copy_folder(*memory, "export/1", *files, folder / "served"));
  EXPECT_EQ(value_or_raise(files->read_all(folder / "served/export.json")), "{}");
  EXPECT_EQ(value_or_raise(files->read_all(folder / "served/variables/data")).size(), 200'000u);
  EXPECT_EQ(copy_folder(*memory, "none", *files, folder / "none").error().kind(), ErrorKind::kNotFound);
}

}  // namespace
}  // namespace shoal
