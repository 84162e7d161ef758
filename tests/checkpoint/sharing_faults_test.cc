// SPDX-License-Identifier: Apache-2.0
// Checkpoints that share files, where disks, folders and limits are not as one would wish.
#include <array>
#include <filesystem>
#include <random>

#include "sharing.h"
#include "shoal/checkpoint/checksum.h"

namespace shoal::checkpoint {
namespace {

using shoal::testing::ForwardingStorage;
using shoal::testing::SimulatedDisk;
using ::testing::AllOf;
using testing::fails_with;
using ::testing::HasSubstr;
using ::testing::Not;

/// Tables of rows of four floats, by name.
using Tables = std::map<std::string, std::vector<float>>;

Result<Saved> save_tables(Storage& storage, int64_t step, const Tables& tables, Sharing sharing = kFromOneKilobyte) {
  std::vector<Tensor> kept;
  for (const auto& [name, values] : tables) kept.push_back(Tensor::of<float>({int64_t(values.size()) / 4, 4}, values));
  std::vector<Writer::NamedTensor> tensors;
  for (const auto& [name, values] : tables) tensors.push_back({name, kept[tensors.size()].view(), "", true});
  SHOAL_TRY(auto writer, Writer::begin(storage, kDir, step, Writer::Folder::kMadeIfMissing, sharing));
  SHOAL_TRY_VOID(writer->add_tensors(tensors));
  return writer->commit({}, {.keep_max = 1});
}

/// A file of which a byte cannot be read, or is another one, from the second time on: a medium that is about to go.
class Flaky final : public ForwardingStorage {
 public:
  enum class How { kFlips, kFails };
  Flaky(std::shared_ptr<Storage> disk, How how) : ForwardingStorage(std::move(disk)), how_(how) {}
  Result<std::unique_ptr<ReadableFile>> open(const std::string& path) override {
    SHOAL_TRY(auto file, disk_->open(path));
    if (path.find(".data-") == std::string::npos) return file;
    return std::unique_ptr<ReadableFile>(new File(std::move(file), *this));
  }
  bool is_flaky = false;

 private:
  class File final : public ReadableFile {
   public:
    File(std::unique_ptr<ReadableFile> file, const Flaky& disk) : file_(std::move(file)), disk_(disk) {}
    uint64_t size() const override { return file_->size(); }
    Result<void> read_at(uint64_t offset, std::span<std::byte> out) const override {
      constexpr uint64_t kByte = 5000;
      SHOAL_TRY_VOID(file_->read_at(offset, out));
      if (!disk_.is_flaky || offset > kByte || offset + out.size() <= kByte || reads_++ == 0) return {};
      if (disk_.how_ == How::kFails) return unavailable("Input/output error");
      out[kByte - offset] ^= std::byte(1);
      return {};
    }

   private:
    const std::unique_ptr<ReadableFile> file_;
    const Flaky& disk_;
    mutable int reads_ = 0;
  };
  const How how_;
};

TEST(SharingFaults, WhatCannotBeReadASecondTimeIsNoReasonNotToSave) {
  for (const Flaky::How how : {Flaky::How::kFlips, Flaky::How::kFails}) {
    Flaky disk(std::make_shared<SimulatedDisk>(), how);
    Model model(100'000);
    ASSERT_OK(save_model(disk, 1, model, kFromOneKilobyte, 1 << 20));
    for (int64_t row = 50'000; row < 90'000; ++row) model.set_row(row, float(row));
    disk.is_flaky = true;
    auto writer = Writer::begin(disk, kDir, 2, Writer::Folder::kMadeIfMissing, kFromOneKilobyte);
    ASSERT_OK(writer);
    const Tensor table = Tensor::of<float>({100'000, 8}, model.table);
    const std::vector<Writer::NamedTensor> tensors{{"table", table.view(), "", true}};
    Result<void> saved = (*writer)->add_tensors(tensors);
    if (saved) saved = (*writer)->finish({});
    EXPECT_TRUE(fails_with(saved, ErrorKind::kUnavailable, "gives other bytes than a moment ago"));
    EXPECT_TRUE((*writer)->sharing_failed());  // So who saves does it again, without help of the checkpoint before.
    writer->reset();
    ASSERT_OK(save_model(disk, 2, model, {}, 1 << 20));
    disk.is_flaky = false;
    expect_holds(disk, "model.ckpt-2", model);
  }
}

/// Tables that change for a while and then rest do not keep files for good of which the rest is of no use.
TEST(SharingFaults, WhatLiesOnTheDiskStaysBoundedWhateverChangesWhen) {
  SimulatedDisk disk;
  constexpr size_t kSmall = 100;
  Tables tables{{"big", std::vector<float>(64 * 1024)}};
  for (size_t i = 0; i < kSmall; ++i) tables["small" + std::to_string(1000 + i)].resize(300);
  constexpr uint64_t kTensorBytes = 64 * 1024 * 4 + kSmall * 1200;
  ASSERT_OK(save_tables(disk, 1, tables));
  std::mt19937 random(1);
  for (size_t i = 0; i < kSmall * 7; ++i) {
    std::fill_n(tables["big"].begin() + ptrdiff_t(random() % 4 * 12 * 1024), 10 * 1024, float(i + 1));
    tables["small" + std::to_string(1000 + i / 7)][4 * (i % 7)] = float(i + 1);
    const auto saved = save_tables(disk, int64_t(i) + 2, tables);
    ASSERT_OK(saved);
    ASSERT_LE(disk.used_bytes(), 3 * kTensorBytes + 200'000) << "save " << i;
    ASSERT_LE(saved->manifest.files.size(), 100u) << "save " << i;
  }
}

TEST(SharingFaults, SomeFilesAreSharedThoughThereWereManyChangesApart) {
  SimulatedDisk disk;
  Tables tables;
  for (size_t i = 0; i < 60; ++i) tables["t" + std::to_string(100 + i)].resize(1000);
  int64_t step = 1;
  ASSERT_OK(save_tables(disk, step, tables));
  uint64_t written = 0;
  for (auto& [name, values] : tables) {
    for (size_t row = 0; row < 7; ++row) {
      values[4 * row] = 1;
      const auto saved = save_tables(disk, ++step, tables);
      ASSERT_OK(saved);
      written += saved->written_bytes;
      ASSERT_LE(saved->manifest.files.size(), 60u);
    }
  }
  EXPECT_LT(written, 60 * 4000 * 7 / 2);
}

/// cp -r syncs nothing.
TEST(SharingFaults, WhatIsTakenOverIsOnTheDiskBeforeTheCheckpointIs) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SimulatedDisk disk({.folders = {"m", "old"}});
    Model model(1000);
    ASSERT_OK(save_model(disk, 1, model, kFromOneKilobyte, 1000, "old"));
    for (const std::string& path : disk.paths()) {
      if (!path.starts_with("old/")) continue;
      const std::string text = disk.contents(path);
      const auto file = disk.create("m/" + path.substr(4));
      ASSERT_OK(file);
      ASSERT_OK((*file)->append(std::as_bytes(std::span(text))));
      ASSERT_OK((*file)->close());
    }
    ASSERT_OK(save_model(disk, 2, model, kFromOneKilobyte, 1000, "m", 1));
    disk.lose_power(seed);
    expect_holds(disk, "model.ckpt-2", model);
  }
}

/// As `cp -rs` and tools that keep data elsewhere make them.
TEST(SharingFaults, ACheckpointOfSymbolicLinksHasASuccessorOfItsOwn) {
  const TemporaryFolder a, b;
  const auto storage = make_file_storage();
  Model model(1000);
  ASSERT_OK(save_model(*storage, 1, model, kFromOneKilobyte, 1000, a.path()));
  for (const auto& entry : std::filesystem::directory_iterator(a.path())) {
    std::filesystem::create_symlink(entry.path(), std::filesystem::path(b.path()) / entry.path().filename());
  }
  const auto saved = save_model(*storage, 2, model, kFromOneKilobyte, 1000, b.path(), 1);
  ASSERT_OK(saved);
  std::filesystem::remove_all(a.path());
  EXPECT_OK(verify(*storage, saved->prefix));
}

TEST(SharingFaults, ANewerVersionIsNoDamage) {
  SimulatedDisk disk;
  Model model(1000);
  for (int64_t step = 1; step <= 3; ++step) {
    ASSERT_OK(save_model(disk, step, model, kFromOneKilobyte));
    model.set_row(step, float(step) * 3);
  }
  std::string& text = disk.contents("m/model.ckpt-3.index");
  ASSERT_NE(text.find("\"version\":2"), std::string::npos);
  text[text.find("\"version\":2") + 10] = '3';
  // To go on from an older one would be to overwrite what a newer version has trained.
  EXPECT_TRUE(fails_with(latest_intact(disk, kDir, {}), ErrorKind::kFailedPrecondition,
                         "format version 3, but this build reads up to 2; use a newer"));
}

TEST(SharingFaults, DamageIsToldOnceAndNotPassedOn) {
  SimulatedDisk disk;
  Model model(1000);
  for (int64_t step = 1; step <= 2; ++step) ASSERT_OK(save_model(disk, step, model, kFromOneKilobyte));
  disk.contents("m/model.ckpt-2.data-00000-of-00002")[30'000] ^= 1;
  const auto found = latest_intact(disk, kDir, {});
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message(), AllOf(HasSubstr("other checkpoints may share this file"), Not(HasSubstr("delete"))));

  std::vector<std::string> warnings;
  for (int64_t step = 3; step <= 4; ++step) {
    auto writer = Writer::begin(disk, kDir, step, Writer::Folder::kMadeIfMissing, kFromOneKilobyte);
    ASSERT_OK(writer);
    const Tensor table = Tensor::of<float>({1000, 8}, model.table);
    const std::vector<Writer::NamedTensor> tensors{{"table", table.view(), "", true}};
    ASSERT_OK((*writer)->add_tensors(tensors));
    ASSERT_OK((*writer)->commit({}, {.warn = [&](const std::string& sentence) { warnings.push_back(sentence); }}));
    EXPECT_OK(verify(disk, "m/model.ckpt-" + std::to_string(step)));
  }
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0], AllOf(HasSubstr("the checkpoint before model.ckpt-3 is damaged, so tables were written whole: "),
                                 HasSubstr("variable table")));
}

TEST(SharingFaults, DamageOfAPatchNamesItsVariable) {
  SimulatedDisk disk;
  Model model(1000);
  ASSERT_OK(save_model(disk, 1, model, kFromOneKilobyte));
  model.set_row(7, 3);
  ASSERT_OK(save_model(disk, 2, model, kFromOneKilobyte));
  std::string& text = disk.contents("m/model.ckpt-2.data-00002-of-00003");
  text.back() = char(text.back() ^ 1);
  EXPECT_TRUE(
      fails_with(verify(disk, "m/model.ckpt-2"), ErrorKind::kDataLoss, "data-00002-of-00003, variable table: checksum "));
}

/// Numbers of units that are not in order have a right checksum only where somebody made them.
TEST(SharingFaults, UnitsOutOfOrderAreDamage) {
  SimulatedDisk disk;
  Model model(1000);
  ASSERT_OK(save_model(disk, 1, model, kFromOneKilobyte));
  model.set_row(7, 3);
  model.set_row(9, 3);
  ASSERT_OK(save_model(disk, 2, model, kFromOneKilobyte));
  auto manifest = decode_manifest(disk.contents("m/model.ckpt-2.index"));
  ASSERT_OK(manifest);
  const auto table = std::ranges::find(manifest->tensors, "table", &TensorEntry::name);
  Patch& patch = table->pieces.at(0).patches.at(0);
  DataFile& file = manifest->files.at(patch.file);
  std::string& text = disk.contents("m/" + file.name);
  for (const std::array<int64_t, 2>& numbers : {std::array<int64_t, 2>{9, 7}, {9, 9}, {7, 1000}, {-1, 7}}) {
    std::memcpy(text.data() + patch.offset, numbers.data(), sizeof numbers);
    patch.numbers_checksum = checksum_of(std::string_view(text).substr(patch.offset, sizeof numbers));
    file.checksum = checksum_of(text);
    disk.contents("m/model.ckpt-2.index") = encode_manifest(*manifest);
    const auto reader = Reader::open(disk, "m/model.ckpt-2");
    ASSERT_OK(reader);
    EXPECT_TRUE(fails_with((*reader)->read_tensor("table"), ErrorKind::kDataLoss,
                           "variable table: the numbers of a patch are not in order"));
  }
}

// Limits.

TEST(SharingFaults, ChangesBeyondTheLimitAreWrittenWhole) {
  SimulatedDisk disk;
  Tables tables{{"a", std::vector<float>(64 * 1024)}};
  const Sharing sharing{.bytes_min = 1000, .changes_max = 8000};  // 333 rows, with their numbers.
  ASSERT_OK(save_tables(disk, 1, tables, sharing));
  for (size_t i = 0; i < 333; ++i) tables["a"][4 * i] = 1;
  auto saved = save_tables(disk, 2, tables, sharing);
  ASSERT_OK(saved);
  EXPECT_LT(saved->written_bytes, 9000u);
  for (size_t i = 0; i < 334; ++i) tables["a"][4 * i] = 2;
  saved = save_tables(disk, 3, tables, sharing);
  ASSERT_OK(saved);
  EXPECT_GT(saved->written_bytes, 256u * 1024);
}

/// What a table does not need after all, since it is written whole, is there for the next one.
TEST(SharingFaults, WhatATableGivesBackTheNextOneMayTake) {
  SimulatedDisk disk;
  constexpr size_t kRows = 200'000;  // Three blocks.
  Tables tables{{"a", std::vector<float>(kRows * 4)}, {"b", std::vector<float>(64 * 1024)}};
  const Sharing sharing{.bytes_min = 1000, .changes_max = 40'000};
  ASSERT_OK(save_tables(disk, 1, tables, sharing));
  for (size_t row = 0; row < 1000; ++row) tables["a"][4 * row] = 1;              // 24,000 bytes in the first block,
  for (size_t row = kRows - 1000; row < kRows; ++row) tables["a"][4 * row] = 1;  // and as many in the last: too many.
  for (size_t row = 0; row < 1000; ++row) tables["b"][4 * row] = 1;
  const auto saved = save_tables(disk, 2, tables, sharing);
  ASSERT_OK(saved);
  EXPECT_LT(saved->written_bytes, kRows * 16 + 30'000);  // Not b's 256 KiB.
  EXPECT_EQ(saved->manifest.find("b")->pieces.at(0).patches.size(), 1u);
}

/// Rows of one number, each of which has a number of eight bytes beside it.
TEST(SharingFaults, NarrowRowsArePatchedToo) {
  SimulatedDisk disk;
  std::vector<float> values(100'000);
  const auto save_values = [&](int64_t step) -> Result<Saved> {
    const Tensor column = Tensor::of<float>({100'000, 1}, values);
    const std::vector<Writer::NamedTensor> tensors{{"linear", column.view(), "", true}};
    SHOAL_TRY(auto writer, Writer::begin(disk, kDir, step, Writer::Folder::kMadeIfMissing, kFromOneKilobyte));
    SHOAL_TRY_VOID(writer->add_tensors(tensors));
    return writer->commit({}, {});
  };
  ASSERT_OK(save_values(1));
  for (size_t i = 0; i < 10'000; ++i) values[i * 10] = 1;
  const auto saved = save_values(2);
  ASSERT_OK(saved);
  EXPECT_LT(saved->written_bytes, 121'000u);
}

TEST(SharingFaults, AFileOfWhichMostIsOfNoUseIsLeft) {
  SimulatedDisk disk;
  Tables tables{{"a", std::vector<float>(4096)}, {"b", std::vector<float>(8192)}};
  ASSERT_OK(save_tables(disk, 1, tables));
  std::ranges::fill(tables["b"], 1.0f);  // It gets a file of its own, and two thirds of the first one are dead.
  ASSERT_OK(save_tables(disk, 2, tables));
  const auto saved = save_tables(disk, 3, tables);
  ASSERT_OK(saved);
  EXPECT_GT(saved->written_bytes, 16'000u);
  EXPECT_LT(saved->written_bytes, 17'000u);
  EXPECT_LT(saved->data_bytes, 50'000u);
}

TEST(SharingFaults, ATableThatIsMostlyPatchedIsWrittenWhole) {
  SimulatedDisk disk;
  Tables tables{{"a", std::vector<float>(4096)}};
  ASSERT_OK(save_tables(disk, 1, tables));
  for (int64_t save = 0; save < 3; ++save) {  // Each patch is a third as long as the table.
    std::fill_n(tables["a"].begin() + save * 900, 900, 1.0f);
    const auto saved = save_tables(disk, 2 + save, tables);
    ASSERT_OK(saved);
    EXPECT_EQ(saved->manifest.find("a")->pieces.at(0).patches.size(), size_t(save == 2 ? 0 : save + 1));
  }
}

/// What has another type, or belongs to another variable, or has other rows, is another tensor.
TEST(SharingFaults, OtherTensorsOfTheSameNameShareNothing) {
  const auto saved_as = [](Storage& disk, int64_t step, Segment segment) -> Result<Saved> {
    segment.name = "t";
    segment.changes_little = true;
    const std::string bytes(size_t(segment.bytes()), '\0');
    SHOAL_TRY(auto writer, Writer::begin(disk, kDir, step, Writer::Folder::kMadeIfMissing, kFromOneKilobyte));
    SHOAL_TRY(const int arena, writer->add_arena({.bytes = bytes.size(), .segments = {segment}}));
    SHOAL_TRY_VOID(writer->append(arena, std::as_bytes(std::span(bytes))));
    if (segment.row_end >= 0) {
      const std::string rest(size_t(4000 - segment.row_end) * 4, '\0');
      segment.row_begin = std::exchange(segment.row_end, -1);
      SHOAL_TRY(const int second, writer->add_arena({.bytes = rest.size(), .segments = {segment}}));
      SHOAL_TRY_VOID(writer->append(second, std::as_bytes(std::span(rest))));
    }
    return writer->commit({}, {});
  };
  const std::vector<Segment> others{{.dtype = DType::kInt32, .shape = {4000}},
                                    {.shape = {4000}, .slot_of = "v"},
                                    {.shape = {2000, 2}},
                                    {.shape = {4000}, .row_end = 2000}};
  for (const Segment& other : others) {
    SimulatedDisk disk;
    ASSERT_OK(saved_as(disk, 1, {.shape = {4000}}));
    const auto saved = saved_as(disk, 2, other);
    ASSERT_OK(saved);
    EXPECT_EQ(saved->written_bytes, saved->data_bytes);
  }
}

// All of it at once.

/// Some second names cannot be given, and a byte of some files cannot be read.
class Rough final : public ForwardingStorage {
 public:
  Rough(std::shared_ptr<Storage> disk, uint64_t seed) : ForwardingStorage(std::move(disk)), random_(seed) {}
  Result<void> link(const std::string& from, const std::string& to) override {
    if (is_rough && random_() % 10 == 0) return failed_precondition("cannot link " + from);
    return disk_->link(from, to);
  }
  Result<std::unique_ptr<ReadableFile>> open(const std::string& path) override {
    SHOAL_TRY(auto file, disk_->open(path));
    if (!is_rough || path.find(".data-") == std::string::npos || random_() % 4 != 0) return file;
    const uint64_t unreadable = random_() % (file->size() + 1);
    return std::unique_ptr<ReadableFile>(new File(std::move(file), unreadable));
  }
  bool is_rough = false;

 private:
  class File final : public ReadableFile {
   public:
    File(std::unique_ptr<ReadableFile> file, uint64_t unreadable) : file_(std::move(file)), unreadable_(unreadable) {}
    uint64_t size() const override { return file_->size(); }
    Result<void> read_at(uint64_t offset, std::span<std::byte> out) const override {
      if (offset <= unreadable_ && unreadable_ < offset + out.size()) return unavailable("Input/output error");
      return file_->read_at(offset, out);
    }

   private:
    const std::unique_ptr<ReadableFile> file_;
    const uint64_t unreadable_;
  };
  std::mt19937_64 random_;
};

/// One life: tables over several arenas that are filled in turns, now and then divided otherwise; limits, damage, a rough disk.
void live_roughly(uint64_t seed, int& patched) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  const bool is_rough = seed % 2 == 1;
  const auto simulated = std::make_shared<SimulatedDisk>();
  Rough disk(simulated, seed);
  std::mt19937_64 random(seed * 77);
  const auto below = [&](uint64_t bound) { return random() % bound; };
  struct Table {
    std::string name;
    int64_t rows, columns;
    std::vector<float> values;
  };
  std::vector<Table> tables;
  for (int i = 0; i < 4; ++i) {
    const bool is_wide = below(4) == 0;
    Table table{
        "t" + std::to_string(i), is_wide ? 4 : 20 + int64_t(below(600)), is_wide ? 6000 : 1 + int64_t(below(9)), {}};
    table.values.assign(size_t(table.rows * table.columns), 1.0f);
    tables.push_back(std::move(table));
  }
  int64_t step = 0, arenas = 2;
  for (int save = 0; save < 40; ++save) {
    step += int64_t(below(3));
    if (below(8) == 0) arenas = 1 + int64_t(below(3));
    for (Table& table : tables) {
      const uint64_t changes = below(3) == 0 ? 0 : below(uint64_t(1) << below(11));
      for (uint64_t i = 0; i < changes; ++i) table.values[below(table.values.size())] = float(below(1000));
    }
    if (is_rough && save > 0 && below(5) == 0) {
      std::vector<std::string> files = simulated->paths();
      std::erase_if(files, [](const std::string& path) { return path.find(".data-") == std::string::npos; });
      std::string& contents = simulated->contents(files[below(files.size())]);
      contents[below(contents.size())] ^= 16;
    }
    disk.is_rough = is_rough;
    const Sharing sharing{.bytes_min = 200, .changes_max = below(4) == 0 ? 3000u : 1u << 20};
    const auto writer = Writer::begin(disk, kDir, step, Writer::Folder::kMadeIfMissing, sharing);
    ASSERT_OK(writer);
    std::vector<std::string> left;
    for (int64_t arena = 0; arena < arenas; ++arena) {
      ArenaLayout layout;
      std::string bytes;
      for (const Table& table : tables) {
        const int64_t begin = table.rows * arena / arenas, end = table.rows * (arena + 1) / arenas;
        if (begin == end) continue;
        layout.segments.push_back({.name = table.name,
                                   .shape = {table.rows, table.columns},
                                   .offset = bytes.size(),
                                   .row_begin = begin,
                                   .row_end = end,
                                   .changes_little = &table != &tables.back() || seed % 3 == 0});
        bytes.append(reinterpret_cast<const char*>(table.values.data() + begin * table.columns),
                     size_t((end - begin) * table.columns) * 4);
        bytes.resize((bytes.size() + 63) / 64 * 64, 'x');
      }
      layout.bytes = bytes.size();
      ASSERT_OK((*writer)->add_arena(layout));
      left.push_back(std::move(bytes));
    }
    while (std::ranges::any_of(left, [](const std::string& bytes) { return !bytes.empty(); })) {
      const size_t arena = below(left.size());
      const std::string part = left[arena].substr(0, 1 + below(9000));
      ASSERT_OK((*writer)->append(int(arena), std::as_bytes(std::span(part))));
      left[arena].erase(0, part.size());
    }
    const auto saved = (*writer)->commit({}, {.keep_max = int64_t(1 + below(3))});
    ASSERT_OK(saved);
    disk.is_rough = false;
    const auto reader = Reader::open(disk, saved->prefix);
    ASSERT_OK(reader);
    ASSERT_OK((*reader)->verify());
    for (const Table& table : tables) {
      const auto back = (*reader)->read_tensor(table.name);
      ASSERT_OK(back);
      ASSERT_TRUE(same(*back, table.values)) << table.name << ", save " << save;
      for (const Piece& piece : (*reader)->manifest().find(table.name)->pieces) patched += !piece.patches.empty();
    }
    for (const std::string& path : simulated->paths()) ASSERT_THAT(path, Not(HasSubstr(".tmp")));
  }
}

TEST(SharingFaults, ARoughLifeLeavesEachNewestCheckpointWhole) {
  int patched = 0;
  for (uint64_t seed = 1; seed <= 150 && !::testing::Test::HasFailure(); ++seed) live_roughly(seed, patched);
  EXPECT_GT(patched, 1000);
}

}  // namespace
}  // namespace shoal::checkpoint
