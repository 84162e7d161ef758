// SPDX-License-Identifier: Apache-2.0
#include "piece_stream.h"

#include <algorithm>

#include "shoal/base/check.h"

namespace shoal::checkpoint {
namespace {
constexpr uint64_t kReadBytes = uint64_t(64) << 10;
}

Result<void> RegionReader::read(std::span<std::byte> out) {
  while (!out.empty()) {
    if (buffer_at_ == buffer_.size()) {
      if (left_ == 0) return data_loss("a patch and its units differ in size");
      buffer_.resize(size_t(std::min(left_, std::max<uint64_t>(kReadBytes, out.size()))));
      buffer_at_ = buffer_.size();  // If read_at() fails, the buffer has no bytes to return.
      SHOAL_TRY_VOID(file_->read_at(at_, buffer_));
      checksum_.update(buffer_);
      at_ += buffer_.size();
      left_ -= buffer_.size();
      buffer_at_ = 0;
    }
    const size_t count = std::min(out.size(), buffer_.size() - buffer_at_);
    std::copy_n(buffer_.data() + buffer_at_, count, out.data());
    buffer_at_ += count;
    out = out.subspan(count);
  }
  return {};
}

Result<void> FileCheck::read_to(uint64_t end) {
  std::vector<std::byte> bytes;
  while (at_ < end) {
    bytes.resize(size_t(std::min(kReadBytes, end - at_)));
    SHOAL_TRY_VOID(file_->read_at(at_, bytes));
    checksum_.update(bytes);
    at_ += bytes.size();
  }
  return {};
}

Result<void> FileCheck::pass(uint64_t offset, std::span<const std::byte> bytes) {
  in_order_ = in_order_ && offset >= at_;
  if (!in_order_) return {};
  SHOAL_TRY_VOID(read_to(offset));
  checksum_.update(bytes);
  at_ += bytes.size();
  return {};
}

Result<bool> FileCheck::finish() {
  if (!in_order_) return false;
  SHOAL_TRY_VOID(read_to(file_->size()));
  return checksum_.value() == expected_;
}

PieceStream::PieceStream(const Manifest& manifest, const OpenFiles& files, const TensorEntry& tensor, Piece piece,
                         FileCheck* whole)
    : manifest_(manifest), files_(files), tensor_(tensor), piece_(std::move(piece)), whole_(whole) {
  for (const Patch& patch : piece_.patches) {
    const ReadableFile& file = *files_[patch.file];
    cursors_.push_back({.patch = patch,
                        .numbers = RegionReader(file, patch.offset, patch.count * sizeof(int64_t)),
                        .units = RegionReader(file, patch.units_offset(), patch.bytes),
                        .number = {},
                        .unit = {}});
  }
}

Error PieceStream::damaged(uint32_t file, const std::string& what) const {
  return data_loss("file " + manifest_.files[file].name + ", variable " + tensor_.name + ": " + what);
}

Result<void> PieceStream::compare(uint32_t file, uint64_t found, uint64_t expected) const {
  if (found == expected) return {};
  return damaged(file, "checksum " + to_hex(found) + ", expected " + to_hex(expected));
}

/// Reads the next unit of a patch: a block of the piece's bytes that changed, and the block's number. Checks the number
/// before it is used, since the file may be damaged, and finish() compares the checksums only at the end.
Result<void> PieceStream::advance(Cursor& cursor) const {
  const Patch& patch = cursor.patch;
  const std::optional<uint64_t> before = cursor.number;
  cursor.number.reset();
  if (cursor.numbers.left() == 0) return {};
  int64_t number = 0;
  const auto read = [&]() -> Result<void> {
    SHOAL_TRY_VOID(cursor.numbers.read({reinterpret_cast<std::byte*>(&number), sizeof number}));
    const uint64_t units = (piece_.bytes - 1) / patch.unit_bytes + 1;
    if (number < 0 || uint64_t(number) >= units || (before && uint64_t(number) <= *before)) {
      return data_loss("the numbers of a patch are not in order");
    }
    cursor.unit.resize(size_t(std::min(patch.unit_bytes, piece_.bytes - uint64_t(number) * patch.unit_bytes)));
    return cursor.units.read(cursor.unit);
  };
  Result<void> done = read();
  if (!done && done.error().kind() == ErrorKind::kDataLoss) return damaged(patch.file, done.error().message());
  if (done) cursor.number = uint64_t(number);
  return done;
}

/// Applies one patch, a list of blocks (units) of the piece's bytes that changed later. `out` contains the piece's bytes
/// from offset at_ on. Overwrites the bytes of `out` that lie in changed units with the new contents.
Result<void> PieceStream::apply(Cursor& cursor, std::span<std::byte> out) const {
  if (at_ == 0) SHOAL_TRY_VOID(advance(cursor));
  const uint64_t out_end = at_ + out.size();
  while (cursor.number) {
    const uint64_t unit_begin = *cursor.number * cursor.patch.unit_bytes;
    const uint64_t unit_end = unit_begin + cursor.unit.size();
    const uint64_t begin = std::max(at_, unit_begin), end = std::min(out_end, unit_end);
    if (begin < end) std::copy_n(cursor.unit.data() + (begin - unit_begin), end - begin, out.data() + (begin - at_));
    if (unit_end > out_end) return {};
    SHOAL_TRY_VOID(advance(cursor));
  }
  return {};
}

Result<void> PieceStream::next(std::span<std::byte> out) {
  SHOAL_CHECK(out.size() <= piece_.bytes - at_);
  if (out.empty()) return {};
  Result<void> read = files_[piece_.file]->read_at(piece_.offset + at_, out);
  if (!read && read.error().kind() == ErrorKind::kDataLoss) return damaged(piece_.file, read.error().message());
  SHOAL_TRY_VOID(std::move(read));
  checksum_.update(out);
  if (whole_) SHOAL_TRY_VOID(whole_->pass(piece_.offset + at_, out));
  for (Cursor& cursor : cursors_) SHOAL_TRY_VOID(apply(cursor, out));
  at_ += out.size();
  return {};
}

Result<void> PieceStream::finish() const {
  SHOAL_CHECK(at_ == piece_.bytes);
  SHOAL_TRY_VOID(compare(piece_.file, checksum_.value(), piece_.checksum));
  for (const Cursor& cursor : cursors_) {
    const Patch& patch = cursor.patch;
    SHOAL_TRY_VOID(compare(patch.file, cursor.numbers.checksum(), patch.numbers_checksum));
    SHOAL_TRY_VOID(compare(patch.file, cursor.units.checksum(), patch.checksum));
  }
  return {};
}

}  // namespace shoal::checkpoint
