// SPDX-License-Identifier: Apache-2.0
// Saving and reading back: contents, pieces, damage, and what other programs see.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <random>

#include "fixture.h"
#include "shoal/testing/simulated_disk.h"

namespace shoal::checkpoint {
namespace {

using shoal::testing::SimulatedDisk;
using ::testing::ElementsAre;
using testing::fails_with;
using ::testing::HasSubstr;
using testing::save;

constexpr char kData[] = "m/model.ckpt-200.data-00000-of-00001";

std::vector<float> ramp(size_t count, float begin) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = begin + float(i);
  return values;
}

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

/// A shard's arena: three segments at multiples of 64 bytes, garbage in between and behind.
struct Shard {
  ArenaLayout layout;
  std::string arena;

  explicit Shard(uint64_t seed) : arena(64 * 8, '\0') {
    std::mt19937_64 random(seed);
    for (char& byte : arena) byte = char(random());
    layout.bytes = arena.size();
  }
  void place(uint64_t offset, Segment segment, std::span<const float> values) {
    segment.offset = offset;
    layout.segments.push_back(segment);
    if (!values.empty()) std::memcpy(arena.data() + offset, values.data(), values.size_bytes());
  }
};

std::vector<float> read_floats(const Reader& reader, const std::string& name) {
  const Result<Tensor> tensor = reader.read_tensor(name);
  if (!tensor) {
    ADD_FAILURE() << tensor.error().message();
    return {};
  }
  return {tensor->as<float>().begin(), tensor->as<float>().end()};
}

/// Two shards, between which "table" [10, 3] is split by rows 4 to 6; filled in turns in parts of random sizes.
void save_two_shards(Storage& storage, uint64_t seed) {
  const std::vector<float> table = ramp(30, 0);
  Shard first(seed);
  first.place(0, {.name = "bias", .shape = {5}}, ramp(5, 100));
  first.place(64, {.name = "table", .shape = {10, 3}, .row_begin = 0, .row_end = 4}, std::span(table).first(12));
  first.place(192, {.name = "scalar", .shape = {}}, ramp(1, 7));
  first.place(256, {.name = "none", .shape = {0, 4}}, {});
  Shard second(seed + 1);
  second.place(128, {.name = "table", .shape = {10, 3}, .row_begin = 4}, std::span(table).subspan(12));
  second.place(320, {.name = "bias/m", .shape = {5}, .slot_of = "bias"}, ramp(5, 200));

  auto begun = Writer::begin(storage, "m", 200);
  ASSERT_OK(begun);
  Writer& writer = **begun;
  std::mt19937_64 random(seed);
  struct Source {
    int file;
    std::string left;
  };
  std::vector<Source> sources;
  for (const Shard* shard : {&first, &second}) {
    const Result<int> file = writer.add_arena(shard->layout);
    ASSERT_OK(file);
    sources.push_back({*file, shard->arena});
  }
  while (!sources.empty()) {
    const size_t at = size_t(random() % sources.size());
    Source& source = sources[at];
    const size_t count = std::min<size_t>(source.left.size(), 1 + size_t(random() % 100));
    ASSERT_OK(writer.append(source.file, bytes_of(source.left.substr(0, count))));
    source.left.erase(0, count);
    if (source.left.empty()) sources.erase(sources.begin() + std::ptrdiff_t(at));
  }
  ASSERT_OK(writer.commit({.counters = {{"bias", 200}},
                           .positions = {{"chief/0", std::string("\0\1", 2)}},
                           .numerics = "reference",
                           .fingerprint = "f",
                           .save_time = WallTime(Duration(1'700'000'000'000'000'001))},
                          {}));
}

TEST(Checkpoint, ArenasComeBackByName) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SimulatedDisk disk;
    save_two_shards(disk, seed);
    const auto opened = Reader::open(disk, "m/model.ckpt-200");
    ASSERT_OK(opened);
    const Reader& reader = **opened;
    ASSERT_OK(reader.verify());
    EXPECT_EQ(reader.global_step(), 200);
    EXPECT_EQ(read_floats(reader, "bias"), ramp(5, 100));
    EXPECT_EQ(read_floats(reader, "bias/m"), ramp(5, 200));
    EXPECT_EQ(read_floats(reader, "table"), ramp(30, 0));
    EXPECT_EQ(read_floats(reader, "scalar"), ramp(1, 7));
    EXPECT_EQ(read_floats(reader, "none"), ramp(0, 0));
  }
}

TEST(Checkpoint, KeepsWhatBelongsToTheRun) {
  SimulatedDisk disk;
  save_two_shards(disk, 1);
  const auto reader = Reader::open(disk, "m/model.ckpt-200");
  ASSERT_OK(reader);
  const Manifest& manifest = (*reader)->manifest();
  EXPECT_EQ(manifest.info.counters.at("bias"), 200u);
  EXPECT_EQ(manifest.info.positions.at("chief/0"), std::string("\0\1", 2));
  EXPECT_EQ(manifest.info.numerics, "reference");
  EXPECT_EQ(manifest.info.save_time.time_since_epoch().count(), 1'700'000'000'000'000'001);
  EXPECT_EQ(manifest.find("bias/m")->slot_of, "bias");
  EXPECT_FALSE(manifest.find("bias")->is_slot());
  EXPECT_THAT((*reader)->file_names(), ElementsAre("model.ckpt-200.data-00000-of-00002",
                                                   "model.ckpt-200.data-00001-of-00002", "model.ckpt-200.index"));
}

TEST(Checkpoint, AnyRowsCanBeReadWhateverThePieces) {
  SimulatedDisk disk;
  save_two_shards(disk, 3);
  const auto reader = Reader::open(disk, "m/model.ckpt-200");
  ASSERT_OK(reader);
  for (int64_t begin = 0; begin <= 10; ++begin) {
    for (int64_t end = begin; end <= 10; ++end) {
      std::vector<float> rows(size_t(end - begin) * 3);
      ASSERT_OK((*reader)->read_rows("table", begin, end, std::as_writable_bytes(std::span(rows))));
      EXPECT_EQ(rows, ramp(rows.size(), float(begin * 3)));
    }
  }
  std::array<std::byte, 12> row{};
  EXPECT_TRUE(fails_with((*reader)->read_rows("table", 10, 11, row), ErrorKind::kInvalidArgument, "rows 10 to 11"));
  EXPECT_TRUE(fails_with((*reader)->read_rows("table", 1, 3, row), ErrorKind::kInvalidArgument, "12 bytes"));
  EXPECT_TRUE(fails_with((*reader)->read("dense/bias", row), ErrorKind::kNotFound, "no variable dense/bias"));
  EXPECT_TRUE(fails_with((*reader)->read_tensor("dense/bias"), ErrorKind::kNotFound, "m/model.ckpt-200"));
}

TEST(Checkpoint, LargePiecesCrossBlocks) {
  SimulatedDisk disk;
  const std::vector<float> values = ramp(3'000'000, 0);  // They are 12 MB, which readers read in blocks.
  const Tensor first = Tensor::scalar<float>(1);         // It makes the table begin inside of a block.
  const Tensor table = Tensor::of<float>({1'000'000, 3}, std::span(values));
  const std::vector<Writer::NamedTensor> tensors{{"a", first.view()}, {"table", table.view()}};
  auto writer = Writer::begin(disk, "m", 1);
  ASSERT_OK(writer);
  ASSERT_OK((*writer)->add_tensors(tensors));
  ASSERT_OK((*writer)->commit({}, {}));
  const auto reader = Reader::open(disk, "m/model.ckpt-1");
  ASSERT_OK(reader);
  ASSERT_OK((*reader)->verify());
  std::vector<float> rows(3 * 700'000);
  ASSERT_OK((*reader)->read_rows("table", 123'456, 823'456, std::as_writable_bytes(std::span(rows))));
  EXPECT_EQ(rows, std::vector<float>(values.begin() + 3 * 123'456, values.begin() + 3 * 823'456));
}

TEST(Checkpoint, ChecksumsAreXxh3OfTheFile) {
  SimulatedDisk disk;
  save_two_shards(disk, 4);
  const auto reader = Reader::open(disk, "m/model.ckpt-200");
  ASSERT_OK(reader);
  const Manifest& manifest = (*reader)->manifest();
  for (const DataFile& file : manifest.files) {
    const std::string& contents = disk.contents("m/" + file.name);
    EXPECT_EQ(file.bytes, contents.size());
    EXPECT_EQ(file.checksum, XXH3_64bits(contents.data(), contents.size()));
  }
  for (const TensorEntry& tensor : manifest.tensors) {
    for (const Piece& piece : tensor.pieces) {
      const std::string& contents = disk.contents("m/" + manifest.files[piece.file].name);
      EXPECT_EQ(piece.checksum, XXH3_64bits(contents.data() + piece.offset, piece.bytes)) << tensor.name;
    }
  }
}

TEST(Checkpoint, EveryFlippedBitOfTheDataIsDataLoss) {
  SimulatedDisk disk;
  ASSERT_OK(save(disk, "m", 200, 1.5f));
  const size_t bytes = disk.contents(kData).size();
  size_t named = 0;
  for (size_t at = 0; at < bytes; ++at) {
    char& byte = disk.contents(kData)[at];
    byte = char(byte ^ (1 << (at % 8)));
    const Result<void> found = verify(disk, "m/model.ckpt-200");
    ASSERT_TRUE(fails_with(found, ErrorKind::kDataLoss, "file model.ckpt-200.data-00000-of-00001")) << "byte " << at;
    EXPECT_THAT(found.error().message(), HasSubstr(", expected "));
    named += found.error().message().find("variable w") != std::string::npos;
    byte = char(byte ^ (1 << (at % 8)));
  }
  EXPECT_EQ(named, 48u);  // They are all bytes of w and of w/m.
  EXPECT_OK(verify(disk, "m/model.ckpt-200"));
}

TEST(Checkpoint, DamageIsFoundWhileReadingToo) {
  SimulatedDisk disk;
  ASSERT_OK(save(disk, "m", 200, 1.5f));
  const auto reader = Reader::open(disk, "m/model.ckpt-200");
  ASSERT_OK(reader);
  const Piece piece = (*reader)->manifest().find("w")->pieces[0];
  disk.contents(kData)[piece.offset + 20] ^= 1;
  const auto damaged = Reader::open(disk, "m/model.ckpt-200");
  ASSERT_OK(damaged);  // The lengths are right.
  EXPECT_TRUE(fails_with((*damaged)->read_tensor("w"), ErrorKind::kDataLoss,
                         "checkpoint m/model.ckpt-200: file model.ckpt-200.data-00000-of-00001, variable w: checksum "));
  EXPECT_TRUE(fails_with((*damaged)->read_tensor("w"), ErrorKind::kDataLoss,
                         "; delete this checkpoint (m/model.ckpt-200.*) to resume from an older one"));
  std::array<std::byte, 8> row{};  // The damage is in row 2, but any part of a damaged piece is refused.
  EXPECT_TRUE(fails_with((*damaged)->read_rows("w", 0, 1, row), ErrorKind::kDataLoss, "variable w"));
  EXPECT_OK((*damaged)->read_tensor("w/m"));
}

TEST(Checkpoint, EveryCutIsDataLoss) {
  SimulatedDisk disk;
  ASSERT_OK(save(disk, "m", 200, 1.5f));
  for (const char* path : {kData, "m/model.ckpt-200.index"}) {
    const std::string whole = disk.contents(path);
    for (size_t size = 0; size < whole.size(); ++size) {
      disk.contents(path) = whole.substr(0, size);
      EXPECT_TRUE(
          fails_with(Reader::open(disk, "m/model.ckpt-200"), ErrorKind::kDataLoss, "checkpoint m/model.ckpt-200: "));
    }
    disk.contents(path) = whole + "x";
    EXPECT_TRUE(fails_with(Reader::open(disk, "m/model.ckpt-200"), ErrorKind::kDataLoss, ""));
    disk.contents(path) = whole;
  }
  EXPECT_OK(verify(disk, "m/model.ckpt-200"));
}

TEST(Checkpoint, AShardOfAnotherSaveIsRefused) {
  SimulatedDisk disk;
  save_two_shards(disk, 1);
  const std::string other = disk.contents("m/model.ckpt-200.data-00001-of-00002");
  ASSERT_OK(disk.remove("m/model.ckpt-200.index"));
  SimulatedDisk mixed;
  save_two_shards(mixed, 1);
  std::string changed = other;
  changed[changed.size() - 1] ^= 0x40;  // It stands for the shard after another push.
  mixed.contents("m/model.ckpt-200.data-00001-of-00002") = changed;
  EXPECT_TRUE(fails_with(verify(mixed, "m/model.ckpt-200"), ErrorKind::kDataLoss, "model.ckpt-200.data-00001-of-00002"));
}

TEST(CheckpointWriter, RefusesLayoutsThatContradictThemselves) {
  SimulatedDisk disk;
  struct Case {
    std::string words;
    ArenaLayout layout;
  };
  const std::vector<Case> cases{
      {"overlaps", {64, {{.name = "a", .shape = {4}}, {.name = "b", .shape = {4}, .offset = 12}}}},
      {"beyond the arena's end", {15, {{.name = "a", .shape = {4}}}}},
      {"twice", {64, {{.name = "a", .shape = {4}}, {.name = "a", .shape = {4}, .offset = 16}}}},
      {"do not exist", {64, {{.name = "a", .shape = {4}, .row_begin = 3, .row_end = 5}}}},
      {"do not exist", {64, {{.name = "a", .shape = {4}, .row_begin = 3, .row_end = 2}}}},
      {"no name", {64, {{.name = "", .shape = {4}}}}},
      {"no name", {64, {{.name = "__metadata__", .shape = {4}}}}},
      {"no name", {64, {{.name = "caf\xe9", .shape = {4}}}}},
      {"cannot be saved", {64, {{.name = "a", .dtype = DType::kString, .shape = {4}}}}},
      {"cannot be saved", {64, {{.name = "a", .shape = {int64_t(1) << 40, int64_t(1) << 40}}}}},
  };
  for (const Case& each : cases) {
    auto writer = Writer::begin(disk, "m", 1);
    ASSERT_OK(writer);
    EXPECT_TRUE(fails_with((*writer)->add_arena(each.layout), ErrorKind::kInvalidArgument, each.words));
  }
  EXPECT_TRUE(disk.paths().empty());
}

TEST(CheckpointWriter, RefusesToCommitWhatIsIncomplete) {
  SimulatedDisk disk;
  const ArenaLayout half{8, {{.name = "a", .shape = {4}, .row_begin = 0, .row_end = 2}}};
  const std::string bytes(8, 'x');
  {
    auto writer = Writer::begin(disk, "m", 1);
    const Result<int> file = (*writer)->add_arena(half);
    ASSERT_OK((*writer)->append(*file, bytes_of(bytes.substr(3))));
    EXPECT_TRUE(fails_with((*writer)->append(*file, bytes_of(bytes)), ErrorKind::kInvalidArgument, "more bytes"));
    EXPECT_TRUE(fails_with((*writer)->commit({}, {}), ErrorKind::kInvalidArgument, "only 5 of the 8 bytes of an arena"));
  }
  {
    auto writer = Writer::begin(disk, "m", 1);
    const Result<int> file = (*writer)->add_arena(half);
    ASSERT_OK((*writer)->append(*file, bytes_of(bytes)));
    EXPECT_TRUE(fails_with((*writer)->commit({}, {}), ErrorKind::kInvalidArgument, "rows 2 to 4 are missing"));
  }
  {
    auto writer = Writer::begin(disk, "m", 1);
    for (const DType dtype : {DType::kFloat32, DType::kInt32}) {
      ArenaLayout layout = half;
      layout.segments[0].dtype = dtype;
      const Result<int> file = (*writer)->add_arena(layout);
      ASSERT_OK((*writer)->append(*file, bytes_of(bytes)));
    }
    EXPECT_TRUE(fails_with((*writer)->commit({}, {}), ErrorKind::kInvalidArgument, "differ in dtype"));
  }
  EXPECT_TRUE(disk.paths().empty());
  EXPECT_TRUE(fails_with(Writer::begin(disk, "m", -1), ErrorKind::kInvalidArgument, "-1"));
}

TEST(CheckpointWriter, WhatIsFinishedAndNotPublishedLeavesNothing) {
  SimulatedDisk disk;
  ASSERT_OK(save(disk, "m", 0, 1));
  const std::vector<std::string> before = disk.paths();
  for (int64_t step : {0, 5}) {
    auto writer = Writer::begin(disk, "m", step);
    const Tensor weights = Tensor::of<float>({3, 2}, std::vector<float>(6, 2.0f));
    ASSERT_OK((*writer)->add_tensors(std::vector<Writer::NamedTensor>{{"w", weights.view()}}));
    ASSERT_OK((*writer)->finish({}));
    EXPECT_NE(disk.paths(), before);
    EXPECT_EQ(*testing::saved_value(**latest_intact(disk, "m", {})), 1);
    writer->reset();
    EXPECT_EQ(disk.paths(), before);
  }
  EXPECT_EQ(*testing::saved_value(**latest_intact(disk, "m", {})), 1);
}

TEST(CheckpointWriter, AnUnwritableFolderIsUnavailableAndNamed) {
  if (geteuid() == 0) {  // Root may write anywhere, but a file in the place of the folder fails for everybody.
    const TemporaryFolder folder;
    std::ofstream(folder.path() + "/m") << "a file";
    const auto storage = make_file_storage();
    EXPECT_TRUE(fails_with(save(*storage, folder.path() + "/m", 1, 1), ErrorKind::kUnavailable, folder.path() + "/m"));
    return;
  }
  const TemporaryFolder folder;
  std::filesystem::permissions(folder.path(), std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  const auto storage = make_file_storage();
  EXPECT_TRUE(fails_with(save(*storage, folder.path(), 1, 1), ErrorKind::kUnavailable, "Permission denied"));
}

TEST(Safetensors, AnIndependentReaderFindsTheTensors) {
  if (!testing::has_python()) GTEST_SKIP() << "python3 is not installed: the independent reader cannot run";
  const TemporaryFolder folder;
  const auto storage = make_file_storage();
  auto writer = Writer::begin(*storage, folder.path(), 3);
  ASSERT_OK(writer);
  Shard shard(9);
  shard.place(0, {.name = "dense/kernel", .shape = {2, 2}}, std::vector<float>{1, 2.5, -3, 4});
  shard.place(64, {.name = "table", .shape = {9, 2}, .row_begin = 7}, std::vector<float>{5, 6, 7, 8});
  shard.place(128, {.name = "\"odd\\ \xc3\xa9", .shape = {}}, std::vector<float>{9});
  Result<int> file = (*writer)->add_arena(shard.layout);
  ASSERT_OK(file);
  ASSERT_OK((*writer)->append(*file, bytes_of(shard.arena)));
  const Tensor rest = Tensor::zeros(DType::kFloat32, {7, 2});
  ArenaLayout rest_layout{rest.bytes(), {{.name = "table", .shape = {9, 2}, .row_end = 7}}};
  file = (*writer)->add_arena(rest_layout);
  ASSERT_OK((*writer)->append(*file, {rest.view().data, rest.bytes()}));
  const Tensor counts = Tensor::of<int64_t>({2}, {-5, int64_t(1) << 40});
  const Tensor flags = Tensor::of<bool>({3}, {true, false, true});
  const std::vector<Writer::NamedTensor> tensors{{"flags", flags.view()}, {"counts", counts.view()}};
  ASSERT_OK((*writer)->add_tensors(tensors));
  const auto saved = (*writer)->commit({}, {});
  ASSERT_OK(saved);

  const std::string script = std::string("python3 ") + SHOAL_TEST_DATA + "/read_safetensors.py ";
  EXPECT_EQ(testing::output_of(script + saved->prefix + ".data-00000-of-00003"),
            "dense/kernel F32 [2, 2] [1.0, 2.5, -3.0, 4.0]\n"
            "table[7:9] F32 [2, 2] [5.0, 6.0, 7.0, 8.0]\n"
            "\"odd\\ \xc3\xa9 F32 [] [9.0]\n");
  EXPECT_EQ(testing::output_of(script + saved->prefix + ".data-00002-of-00003"),
            "flags BOOL [3] [1.0, 0.0, 1.0]\n"
            "counts I64 [2] [-5.0, 1099511627776.0]\n");
}

// Written by the first version of the format; it must load for ever: never write these files anew.
TEST(Golden, VersionOneLoads) {
  const auto storage = make_file_storage();
  const auto reader = latest_intact(*storage, SHOAL_TEST_DATA "/checkpoint_v1", {});
  ASSERT_OK(reader);
  ASSERT_NE(*reader, nullptr);
  EXPECT_EQ((*reader)->global_step(), 7);
  EXPECT_EQ((*reader)->manifest().info.positions.at("worker/1"), "here");
  EXPECT_EQ((*reader)->manifest().find("dense/kernel/momentum")->slot_of, "dense/kernel");
  EXPECT_EQ(read_floats(**reader, "dense/kernel"), ramp(6, 1));
  EXPECT_EQ(read_floats(**reader, "dense/kernel/momentum"), ramp(6, 11));
}

}  // namespace
}  // namespace shoal::checkpoint
