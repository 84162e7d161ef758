// SPDX-License-Identifier: Apache-2.0
// What did not change since the checkpoint before is not written again (CONTRACT CK-4, CK-5;
// docs/decisions/shared-checkpoint-files.md).
#include <cstdio>
#include <cstring>
#include <map>
#include <random>

#include "sharing.h"
#include "shoal/testing/forwarding_storage.h"
#include "shoal/testing/simulated_disk.h"

namespace shoal::checkpoint {
namespace {

using shoal::testing::SimulatedDisk;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

TEST(Sharing, WhatDidNotChangeIsNotWrittenAgain) {
  SimulatedDisk disk;
  Model model(1000);
  const auto first = save_model(disk, 1, model, kFromOneKilobyte);
  ASSERT_OK(first);
  EXPECT_EQ(first->written_bytes, first->data_bytes);
  const uint64_t used = disk.used_bytes();
  const auto second = save_model(disk, 2, model, kFromOneKilobyte);
  ASSERT_OK(second);
  EXPECT_LT(second->written_bytes, 300u);  // The bias, with its header.
  EXPECT_GT(second->data_bytes, 64'000u);
  EXPECT_LT(disk.used_bytes() - used, 3000u);
  expect_holds(disk, "model.ckpt-2", model);
  // The checkpoint before is independent of it: it may go.
  ASSERT_OK(save_model(disk, 3, model, kFromOneKilobyte, 1000, kDir, 1));
  for (const std::string& path : disk.paths()) EXPECT_THAT(path, Not(HasSubstr("ckpt-2"))) << path;
  expect_holds(disk, "model.ckpt-3", model);
}

TEST(Sharing, WhereLittleChangedThatAloneIsWritten) {
  SimulatedDisk disk;
  Model model(1000);
  ASSERT_OK(save_model(disk, 1, model, kFromOneKilobyte));
  const Model before = model;
  model.set_row(0, 7);
  model.set_row(500, -0.0f);
  model.set_row(999, 9);
  const auto saved = save_model(disk, 2, model, kFromOneKilobyte);
  ASSERT_OK(saved);
  EXPECT_LT(saved->written_bytes, 900u);
  expect_holds(disk, "model.ckpt-2", model);
  Model first = before;
  std::fill(first.bias.begin(), first.bias.end(), 1.0f);
  expect_holds(disk, "model.ckpt-1", first);
}

TEST(Sharing, RowsOfAPatchedTableAreReadAlone) {
  SimulatedDisk disk;
  Model model(1000);
  ASSERT_OK(save_model(disk, 1, model, kFromOneKilobyte));
  model.set_row(500, 5);
  ASSERT_OK(save_model(disk, 2, model, kFromOneKilobyte));
  model.set_row(500, 6);
  model.set_row(502, 7);
  ASSERT_OK(save_model(disk, 3, model, kFromOneKilobyte));
  const auto reader = Reader::open(disk, "m/model.ckpt-3");
  ASSERT_OK(reader);
  EXPECT_EQ((*reader)->manifest().find("table")->pieces.at(0).patches.size(), 2u);
  for (int64_t begin = 498; begin < 504; ++begin) {
    for (int64_t end = begin; end < 504; ++end) {
      std::vector<float> rows(size_t((end - begin) * 8));
      ASSERT_OK((*reader)->read_rows("table", begin, end, std::as_writable_bytes(std::span(rows))));
      const float* expected = model.table.data() + begin * 8;
      EXPECT_TRUE(std::equal(rows.begin(), rows.end(), expected)) << begin << " to " << end;
    }
  }
}

TEST(Sharing, WhereMuchChangedAllIsWritten) {
  SimulatedDisk disk;
  Model model(1000);
  ASSERT_OK(save_model(disk, 1, model, kFromOneKilobyte));
  for (int64_t row = 400; row < 800; ++row) model.set_row(row, float(row));
  const auto saved = save_model(disk, 2, model, kFromOneKilobyte);
  ASSERT_OK(saved);
  EXPECT_GT(saved->written_bytes, 32'000u);
  EXPECT_LT(saved->written_bytes, 33'000u);  // Not the slot.
  expect_holds(disk, "model.ckpt-2", model);
}

/// Many saves, each of which changes some rows, at random: every checkpoint that is listed has what it was given.
void live(uint64_t seed, int64_t rows, int saves, Sharing sharing) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  SimulatedDisk disk;
  std::mt19937_64 random(seed);
  Model model(rows);
  std::map<std::string, Model> saved;
  int64_t step = 0;
  for (int i = 0; i < saves; ++i) {
    step += int64_t(random() % 3);  // The same step again, now and then.
    const uint64_t changes = random() % 4 == 0 ? 0 : random() % (uint64_t(1) << (random() % 10));
    for (uint64_t k = 0; k < changes; ++k) model.set_row(int64_t(random() % uint64_t(rows)), float(random() % 100));
    if (random() % 3 == 0) model.slot[random() % model.slot.size()] += 1;
    const auto done = save_model(disk, step, model, sharing, 1 + random() % 100'000);
    ASSERT_OK(done);
    saved.insert_or_assign(done->name, model);
    for (const std::string& name : done->retained) expect_holds(disk, name, saved.at(name));
    // What is read to restore it, and lies on the disk for it, stays bounded.
    EXPECT_LE(done->data_bytes, model.table.size() * sizeof(float) * 2 * 7 / 4 + 100'000);
    EXPECT_LE(done->manifest.files.size(), 20u);
    for (const std::string& path : disk.paths()) EXPECT_EQ(path.find(".tmp"), std::string::npos) << path;
  }
}

TEST(Sharing, EveryCheckpointOfALongLifeHasItsValues) {
  for (uint64_t seed = 1; seed <= 10; ++seed) live(seed, 1000, 40, kFromOneKilobyte);
}

TEST(Sharing, SoHasATableOfManyBlocks) {
  for (uint64_t seed = 1; seed <= 2; ++seed) live(seed, 100'000, 12, kFromOneKilobyte);
}

TEST(Sharing, ALimitOfMemoryForChangesIsKept) {
  for (uint64_t seed = 1; seed <= 5; ++seed) live(seed, 100'000, 6, {.bytes_min = 1000, .changes_max = 4000});
}

/// Rows that are no units: a convolution's kernel has few, long ones.
TEST(Sharing, LongRowsAreDivided) {
  SimulatedDisk disk;
  Tensor kernel = Tensor::zeros(DType::kFloat32, {3, 50'001});
  const auto save_kernel = [&](int64_t step) -> Result<Saved> {
    const std::vector<Writer::NamedTensor> tensors{{"kernel", kernel.view(), "", true}};
    SHOAL_TRY(auto writer, Writer::begin(disk, kDir, step, Writer::Folder::kMadeIfMissing, kFromOneKilobyte));
    SHOAL_TRY_VOID(writer->add_tensors(tensors));
    return writer->commit({}, {});
  };
  ASSERT_OK(save_kernel(1));
  kernel.mutable_as<float>()[3 * 50'001 - 1] = 4;  // In the last unit, which is shorter than the others.
  kernel.mutable_as<float>()[70'000] = 5;
  const auto saved = save_kernel(2);
  ASSERT_OK(saved);
  EXPECT_LT(saved->written_bytes, 9000u);
  const auto reader = Reader::open(disk, "m/model.ckpt-2");
  ASSERT_OK(reader);
  ASSERT_OK((*reader)->verify());
  const auto back = (*reader)->read_tensor("kernel");
  ASSERT_OK(back);
  EXPECT_EQ(std::memcmp(back->view().data, kernel.view().data, kernel.bytes()), 0);
}

/// A bit anywhere in a file that would be taken over: the next checkpoint is whole, and its own.
TEST(Sharing, ADamagedFileIsNotTakenOver) {
  for (const char* file : {"m/model.ckpt-2.data-00000-of-00003", "m/model.ckpt-2.data-00002-of-00003"}) {
    SimulatedDisk sound;
    Model model(40);
    const auto begin = [&](SimulatedDisk& disk) {
      ASSERT_OK(save_model(disk, 1, model, kFromOneKilobyte));
      model.set_row(3, 8);
      ASSERT_OK(save_model(disk, 2, model, kFromOneKilobyte));
      model.set_row(3, 1);
    };
    begin(sound);
    const size_t size = sound.contents(file).size();
    for (size_t at = 0; at < size; at += 1 + size / 97) {
      SCOPED_TRACE(file + std::string(", byte ") + std::to_string(at));
      SimulatedDisk disk;
      begin(disk);
      disk.contents(file)[at] = char(disk.contents(file)[at] ^ 4);
      ASSERT_OK(save_model(disk, 3, model, kFromOneKilobyte));
      expect_holds(disk, "model.ckpt-3", model);
    }
  }
}

class WithoutLinks final : public shoal::testing::ForwardingStorage {
 public:
  using ForwardingStorage::ForwardingStorage;
  Result<void> link(const std::string&, const std::string& to) override {
    return failed_precondition("cannot link as " + to);
  }
};

TEST(Sharing, AFileSystemWithoutSecondNamesGetsWholeCheckpoints) {
  WithoutLinks disk(std::make_shared<SimulatedDisk>());
  Model model(1000);
  ASSERT_OK(save_model(disk, 1, model, kFromOneKilobyte));
  const auto saved = save_model(disk, 2, model, kFromOneKilobyte);
  ASSERT_OK(saved);
  EXPECT_EQ(saved->written_bytes, saved->data_bytes);
  expect_holds(disk, "model.ckpt-2", model);
}

TEST(Sharing, WhoDoesNotAskForItWritesAll) {
  SimulatedDisk disk;
  Model model(1000);
  ASSERT_OK(save_model(disk, 1, model, {}));
  const auto saved = save_model(disk, 2, model, {});
  ASSERT_OK(saved);
  EXPECT_EQ(saved->written_bytes, saved->data_bytes);
  EXPECT_THAT(saved->manifest.files, SizeIs(1));
}

/// Tensors of another shape, dtype or division have nothing to share.
TEST(Sharing, AnotherModelWritesItsOwn) {
  SimulatedDisk disk;
  Model model(1000), longer(1001);
  ASSERT_OK(save_model(disk, 1, model, kFromOneKilobyte));
  const auto saved = save_model(disk, 2, longer, kFromOneKilobyte);
  ASSERT_OK(saved);
  EXPECT_EQ(saved->written_bytes, saved->data_bytes);
  expect_holds(disk, "model.ckpt-2", longer);
}

/// The page docs/formats.md says enough: a program in Python, made from it alone, finds the values.
TEST(Sharing, AnIndependentReaderFindsTheRows) {
  if (!testing::has_python()) GTEST_SKIP() << "python3 is not installed: the independent reader cannot run";
  const TemporaryFolder folder;
  const auto storage = make_file_storage();
  Model model(1000);
  std::string prefix;
  for (int64_t step = 1; step <= 4; ++step) {
    model.set_row(step * 7, float(step));
    model.set_row(999, float(step) / 2);
    const auto saved = save_model(*storage, step, model, kFromOneKilobyte, 1000, folder.path());
    ASSERT_OK(saved);
    prefix = saved->prefix;
  }
  std::string expected;
  for (int64_t row = 0; row < 1000; ++row) {
    char text[32];
    std::snprintf(text, sizeof text, "%.6g\n", double(model.table[size_t(row * 8)]));
    expected += text;
  }
  EXPECT_EQ(testing::output_of(std::string("python3 ") + SHOAL_TEST_DATA + "/read_checkpoint.py " + prefix + " table"),
            expected);
  // On a real file system, too, a file that is shared is one file.
  const auto reader = Reader::open(*storage, prefix);
  ASSERT_OK(reader);
  EXPECT_EQ((*reader)->manifest().find("table")->pieces.at(0).patches.size(), 3u);
  EXPECT_GT(std::filesystem::hard_link_count(join_path(folder.path(), (*reader)->manifest().files.at(0).name)), 1u);
}

}  // namespace
}  // namespace shoal::checkpoint
