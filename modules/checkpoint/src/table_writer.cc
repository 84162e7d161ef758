// SPDX-License-Identifier: Apache-2.0
#include "table_writer.h"

#include <algorithm>
#include <cstring>

namespace shoal::checkpoint {
namespace {

constexpr uint64_t kComparedBytes = uint64_t(1) << 20;
// A save compares a table with the previous checkpoint unit by unit, and writes only units that differ. A unit is a row,
// since tables are updated by rows. Rows longer than kRowBytesMax, such as those of a convolution's kernel, are divided
// into units of kUnitBytes.
constexpr uint64_t kRowBytesMax = uint64_t(16) << 10;
constexpr uint64_t kUnitBytes = uint64_t(4) << 10;
// A table is written whole if more than 1/kChangedPartMax of it changed, or if its patch would be longer than
// 1/kPatchPartMax of it. The second limit matters for short rows, since a patch also contains an eight-byte number for each
// row.
constexpr uint64_t kChangedPartMax = 4, kPatchPartMax = 2;

uint64_t unit_bytes_of(const Segment& segment) {
  const uint64_t row_bytes = segment.bytes() / uint64_t(segment.rows());
  return row_bytes <= kRowBytesMax ? row_bytes : kUnitBytes;
}

}  // namespace

TableWriter::TableWriter(const SaveParts& save, Segment segment, EarlierSave::Found earlier)
    : save_(save),
      segment_(std::move(segment)),
      unit_bytes_(unit_bytes_of(segment_)),
      block_bytes_(kComparedBytes / unit_bytes_ * unit_bytes_),
      earlier_(std::move(earlier)) {
  changes_.unit_bytes = unit_bytes_;
}

Result<void> TableWriter::append(std::span<const std::byte> bytes) {
  checksum_.update(bytes);
  if (came_ == 0) stream_.emplace(save_.earlier->stream(earlier_, true));
  came_ += bytes.size();
  while (!file_ && !bytes.empty()) {
    const size_t count = size_t(std::min<uint64_t>(bytes.size(), block_bytes_ - block_.size()));
    block_.insert(block_.end(), bytes.data(), bytes.data() + count);
    bytes = bytes.subspan(count);
    if (block_.size() == block_bytes_ || (bytes.empty() && is_complete())) SHOAL_TRY_VOID(compare_block());
  }
  if (file_) SHOAL_TRY_VOID(file_->append(bytes));
  return is_complete() ? complete() : Result<void>();
}

/// If the previous checkpoint cannot be read, the save goes on and writes the table whole.
Result<void> TableWriter::compare_block() {
  before_.resize(block_.size());
  const Result<void> read = stream_->next(before_);
  if (!read) save_.earlier->note(read.error());
  if (!read || !collect_changes()) {
    SHOAL_TRY_VOID(write_whole());
    SHOAL_TRY_VOID(file_->append(block_));
  }
  compared_ += block_.size();
  block_.clear();
  return {};
}

/// Copies the units (rows as a rule) of block_ that differ from before_ to changes_. Returns false if the table should be
/// written whole, since too much of it has changed or the memory for changes is used up.
bool TableWriter::collect_changes() {
  if (std::memcmp(block_.data(), before_.data(), block_.size()) == 0) return true;
  std::vector<size_t> changed;  // The offset in block_ of each unit (a row as a rule) that differs.
  size_t bytes = 0;
  for (size_t at = 0; at < block_.size(); at += size_t(unit_bytes_)) {
    const size_t count = std::min(size_t(unit_bytes_), block_.size() - at);
    if (std::memcmp(block_.data() + at, before_.data() + at, count) == 0) continue;
    changed.push_back(at);
    bytes += count;
  }
  changed_bytes_ += bytes;
  const uint64_t bytes_in_file = bytes + changed.size() * sizeof(int64_t);
  patch_bytes_ += bytes_in_file;
  if (changed_bytes_ > segment_.bytes() / kChangedPartMax || patch_bytes_ > segment_.bytes() / kPatchPartMax) return false;
  if (!save_.patches.reserve(bytes_in_file)) return false;
  ChangedUnits::Block& kept = changes_.blocks.emplace_back();
  kept.numbers.reserve(changed.size());  // Takes exactly the memory that save_.patches.reserve() has allowed above.
  kept.units.reserve(bytes);
  for (const size_t at : changed) {
    const size_t count = std::min(size_t(unit_bytes_), block_.size() - at);
    kept.numbers.push_back(int64_t((compared_ + at) / unit_bytes_));
    kept.units.insert(kept.units.end(), block_.begin() + ptrdiff_t(at), block_.begin() + ptrdiff_t(at + count));
  }
  return true;
}

/// Called when all bytes of the table were appended. If a checksum of the previous checkpoint is wrong, the table was
/// compared with damaged bytes, so it is written whole, and shares no file with the previous checkpoint.
Result<void> TableWriter::complete() {
  const Result<void> intact = file_ ? Result<void>() : stream_->finish();
  if (!intact) {
    save_.earlier->note(intact.error());
    SHOAL_TRY_VOID(write_whole());
  }
  stream_.reset();
  block_ = {};
  before_ = {};
  return file_ ? file_->finish() : Result<void>();
}

Result<void> TableWriter::settle() {
  if (!file_ && !save_.earlier->is_intact(earlier_.piece)) {
    SHOAL_TRY_VOID(write_whole());
    SHOAL_TRY_VOID(complete());
  }
  if (!file_) {
    piece_ = save_.earlier->take(earlier_.piece);
    if (!changes_.blocks.empty()) patch_ = save_.patches.add(segment_, std::move(changes_));
    return {};
  }
  piece_ = file_->segments().front().piece;
  piece_.file = file_number_;
  save_.files[file_number_].set(*file_);
  file_.reset();
  if (piece_.checksum == checksum_.value()) return {};
  return save_.earlier->unsteady("variable " + segment_.name + " differs");
}

/// Begins a file for this table alone. The part of the table that was already compared is no longer in memory, so it is
/// written first: from the previous checkpoint's bytes and the changes that were found.
Result<void> TableWriter::write_whole() {
  file_number_ = save_.files.add(FileKind::kTables);
  ArenaLayout layout{.bytes = segment_.bytes(), .segments = {segment_}};
  layout.segments[0].offset = 0;
  SHOAL_TRY(file_, DataFileWriter::create(save_.storage, save_.files[file_number_].path, std::move(layout),
                                          save_.global_step, "@" + std::to_string(save_.global_step)));
  stream_.emplace(save_.earlier->stream(earlier_, false));
  auto changed = changes_.blocks.begin();
  for (uint64_t at = 0; at < compared_; at += before_.size()) {
    before_.resize(size_t(std::min(block_bytes_, compared_ - at)));
    if (Result<void> read = stream_->next(before_); !read) return save_.earlier->unsteady(read.error().message());
    if (changed != changes_.blocks.end() && uint64_t(changed->numbers[0]) * unit_bytes_ < at + before_.size()) {
      put(*changed, at);
      save_.patches.give_back(changed->bytes_in_file());
      *changed++ = {};
    }
    SHOAL_TRY_VOID(file_->append(before_));
  }
  stream_.reset();
  before_ = {};
  return {};
}

/// Brings before_, an old part of the table, up to date: copies the new contents in `changed` over the old contents of the
/// same units (rows as a rule). The first byte of before_ is byte `at` of the table.
void TableWriter::put(const ChangedUnits::Block& changed, uint64_t at) {
  const std::byte* unit = changed.units.data();
  for (const int64_t number : changed.numbers) {
    const uint64_t begin = uint64_t(number) * unit_bytes_ - at;
    const uint64_t count = std::min<uint64_t>(unit_bytes_, before_.size() - begin);
    std::copy_n(unit, count, before_.data() + begin);
    unit += count;
  }
}

WrittenSegment TableWriter::written(uint32_t patch_file) const {
  WrittenSegment written{segment_, piece_};
  if (!patch_) return written;
  written.piece.patches.push_back(save_.patches.patch(*patch_));
  written.piece.patches.back().file = patch_file;
  return written;
}

}  // namespace shoal::checkpoint
