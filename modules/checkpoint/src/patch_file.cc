// SPDX-License-Identifier: Apache-2.0
#include "patch_file.h"

namespace shoal::checkpoint {

uint64_t ChangedUnits::count() const {
  uint64_t sum = 0;
  for (const Block& block : blocks) sum += block.numbers.size();
  return sum;
}

uint64_t ChangedUnits::bytes() const {
  uint64_t sum = 0;
  for (const Block& block : blocks) sum += block.units.size();
  return sum;
}

bool PatchFile::reserve(uint64_t bytes) {
  if (bytes > bytes_left_) return false;
  bytes_left_ -= bytes;
  return true;
}

size_t PatchFile::add(const Segment& segment, ChangedUnits changes) {
  const std::string name = name_in_file(segment) + "@" + std::to_string(global_step_);
  const auto append = [&](const std::string& what, DType dtype, int64_t count, uint64_t bytes) {
    layout_.segments.push_back(
        {.name = name + what, .dtype = dtype, .shape = Shape{count}, .slot_of = {}, .offset = layout_.bytes});
    layout_.bytes += bytes;
  };
  const uint64_t count = changes.count(), bytes = changes.bytes();
  append(" numbers", DType::kInt64, int64_t(count), count * sizeof(int64_t));
  append(" units", DType::kUInt8, int64_t(bytes), bytes);
  patches_.push_back({.count = count, .unit_bytes = changes.unit_bytes, .bytes = bytes});
  changes_.push_back(std::move(changes));
  return patches_.size() - 1;
}

Result<std::unique_ptr<DataFileWriter>> PatchFile::write(Storage& storage, const std::string& path) {
  SHOAL_TRY(auto file, DataFileWriter::create(storage, path, layout_, global_step_));
  for (ChangedUnits& changes : changes_) {
    for (const ChangedUnits::Block& block : changes.blocks) {
      SHOAL_TRY_VOID(file->append(std::as_bytes(std::span(block.numbers))));
    }
    for (const ChangedUnits::Block& block : changes.blocks) SHOAL_TRY_VOID(file->append(block.units));
    changes = {};
  }
  SHOAL_TRY_VOID(file->finish());
  for (size_t i = 0; i < patches_.size(); ++i) {
    const Piece& numbers = file->segments()[2 * i].piece;
    patches_[i].offset = numbers.offset;
    patches_[i].numbers_checksum = numbers.checksum;
    patches_[i].checksum = file->segments()[2 * i + 1].piece.checksum;
  }
  return file;
}

}  // namespace shoal::checkpoint
