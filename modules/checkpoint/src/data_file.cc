// SPDX-License-Identifier: Apache-2.0
#include "data_file.h"

#include <algorithm>
#include <set>

#include "json_text.h"
#include "manifest_check.h"
#include "shoal/checkpoint/safetensors.h"
#include "shoal/json/fields.h"

namespace shoal::checkpoint {
namespace {

using Json = json::Json;

// Other programs that read safetensors refuse longer headers.
constexpr size_t kHeaderBytesMax = 100'000'000;

bool is_whole(const Segment& segment) {
  return segment.row_begin == 0 && segment.rows() == (segment.shape.rank() == 0 ? 1 : segment.shape[0]);
}

std::optional<std::string> wrong_with(const Segment& segment, uint64_t arena_bytes, uint64_t previous_end) {
  if (segment.name.empty() || segment.name == "__metadata__" || !json::is_utf8(segment.name)) {
    return "is no name that a checkpoint can hold";
  }
  const int64_t all_rows = segment.shape.rank() == 0 ? 1 : segment.shape[0];
  if (segment.row_begin < 0 || segment.rows() < 0 || segment.rows() > all_rows - segment.row_begin) {
    return "rows " + std::to_string(segment.row_begin) + " to " + std::to_string(segment.row_end) + " of " +
           to_string(segment.shape) + " do not exist";
  }
  const auto bytes = checked_bytes(segment.dtype, segment.shape, uint64_t(segment.rows()));
  if (!bytes) return "its dtype or size cannot be saved";
  if (segment.offset < previous_end) return "overlaps the segment before it, or is out of order";
  if (segment.offset > arena_bytes || *bytes > arena_bytes - segment.offset) return "reaches beyond the arena's end";
  return std::nullopt;
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

}  // namespace

std::string name_in_file(const Segment& segment) {
  if (is_whole(segment)) return segment.name;
  return segment.name + "[" + std::to_string(segment.row_begin) + ":" + std::to_string(segment.row_begin + segment.rows()) +
         "]";
}

Result<void> check_layout(const ArenaLayout& layout) {
  std::set<std::string> names;
  uint64_t previous_end = 0;
  for (const Segment& segment : layout.segments) {
    std::optional<std::string> wrong = wrong_with(segment, layout.bytes, previous_end);
    if (!wrong && !names.insert(name_in_file(segment)).second) wrong = "occurs twice";
    if (wrong) return invalid_argument("segment '" + segment.name + "': " + *wrong);
    previous_end = segment.offset + segment.bytes();
  }
  return {};
}

int64_t Segment::rows() const {
  const int64_t end = row_end >= 0 ? row_end : shape.rank() == 0 ? 1 : shape[0];
  return end - row_begin;
}

uint64_t Segment::bytes() const {
  uint64_t row_bytes = size_of(dtype);
  for (int axis = 1; axis < shape.rank(); ++axis) row_bytes *= uint64_t(shape[axis]);
  return uint64_t(rows()) * row_bytes;
}

namespace {

/// The header of a safetensors file with `segments` laid end to end, preceded by its length and padded with spaces to a
/// multiple of 64 bytes.
std::string safetensors_header(const std::vector<Segment>& segments, int64_t global_step, std::string_view name_ending) {
  std::string json = "{\"__metadata__\":{\"format\":\"shoal\",\"global_step\":\"" + std::to_string(global_step) + "\"}";
  uint64_t offset = 0;
  for (const Segment& segment : segments) {
    std::vector<int64_t> dims(segment.shape.dims().begin(), segment.shape.dims().end());
    if (!dims.empty()) dims[0] = segment.rows();
    json.append(",").append(json_string(name_in_file(segment).append(name_ending)));
    json.append(":{\"dtype\":\"").append(safetensors_dtype(segment.dtype));
    json.append("\",\"shape\":").append(json::text_of(Json(dims)));
    json.append(",\"data_offsets\":[").append(std::to_string(offset));
    offset += segment.bytes();
    json.append(",").append(std::to_string(offset)).append("]}");
  }
  json += "}";
  json.resize(align_up(8 + json.size(), 64) - 8, ' ');
  std::string header;
  for (int shift = 0; shift < 64; shift += 8) header += char(uint64_t(json.size()) >> shift & 255);
  return header + json;
}

}  // namespace

Result<std::unique_ptr<DataFileWriter>> DataFileWriter::create(Storage& storage, std::string path, ArenaLayout layout,
                                                               int64_t global_step, std::string_view name_ending) {
  SHOAL_TRY_VOID(check_layout(layout));
  const std::string header = safetensors_header(layout.segments, global_step, name_ending);
  if (header.size() > kHeaderBytesMax)
    return invalid_argument("the names and sizes of " + std::to_string(layout.segments.size()) +
                            " segments take more than 100 MB, which is too much for the header of one file");
  SHOAL_TRY(std::unique_ptr<WritableFile> file, storage.create(path));
  std::unique_ptr<DataFileWriter> writer(new DataFileWriter(std::move(path), std::move(layout), std::move(file)));
  SHOAL_TRY_VOID(writer->write(bytes_of(header)));
  writer->close_complete_segments();
  return writer;
}

Result<void> DataFileWriter::write(std::span<const std::byte> bytes) {
  file_checksum_.update(bytes);
  file_bytes_ += bytes.size();
  return file_->append(bytes);
}

void DataFileWriter::close_complete_segments() {
  while (written_.size() < layout_.segments.size()) {
    const Segment& segment = layout_.segments[written_.size()];
    const uint64_t bytes = segment.bytes();
    if (arena_position_ < segment.offset + bytes) return;
    Piece piece{.offset = file_bytes_ - bytes,
                .bytes = bytes,
                .row_begin = segment.row_begin,
                .row_end = segment.row_begin + segment.rows(),
                .checksum = segment_checksum_.value()};
    written_.push_back({segment, piece});
    segment_checksum_ = Checksum();
  }
}

Result<void> DataFileWriter::append(std::span<const std::byte> bytes) {
  if (bytes.size() > layout_.bytes - arena_position_) {
    return invalid_argument("more bytes were appended than the arena of " + std::to_string(layout_.bytes) + " bytes has");
  }
  while (!bytes.empty()) {
    uint64_t count = bytes.size();
    if (written_.size() < layout_.segments.size()) {
      const Segment& segment = layout_.segments[written_.size()];
      const bool inside = arena_position_ >= segment.offset;
      count = std::min(count, (inside ? segment.offset + segment.bytes() : segment.offset) - arena_position_);
      if (inside) {
        segment_checksum_.update(bytes.first(count));
        SHOAL_TRY_VOID(write(bytes.first(count)));
      }
    }
    arena_position_ += count;
    bytes = bytes.subspan(count);
    close_complete_segments();
  }
  return {};
}

Result<void> DataFileWriter::finish() {
  if (arena_position_ != layout_.bytes) {
    return invalid_argument(path_ + ": only " + std::to_string(arena_position_) + " of the " +
                            std::to_string(layout_.bytes) + " bytes of an arena were appended");
  }
  SHOAL_TRY_VOID(file_->sync());
  return file_->close();
}

}  // namespace shoal::checkpoint
