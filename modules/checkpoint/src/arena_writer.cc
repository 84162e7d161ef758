// SPDX-License-Identifier: Apache-2.0
#include "arena_writer.h"

#include <algorithm>

namespace shoal::checkpoint {

Result<std::unique_ptr<ArenaWriter>> ArenaWriter::begin(const SaveParts& save, ArenaLayout layout,
                                                        const std::function<bool(const Segment&)>& is_table) {
  SHOAL_TRY_VOID(check_layout(layout));
  std::unique_ptr<ArenaWriter> writer(new ArenaWriter(save, layout.bytes));
  std::vector<Segment> tensors, tables;
  for (Segment& segment : layout.segments) {
    if (!is_table(segment)) {
      tensors.push_back(std::move(segment));
      continue;
    }
    auto earlier = save.earlier ? save.earlier->find(segment) : std::nullopt;
    if (!earlier) {
      tables.push_back(std::move(segment));
      continue;
    }
    const uint64_t begin = segment.offset, end = segment.offset + segment.bytes();
    writer->tables_.push_back({begin, end, std::make_unique<TableWriter>(save, std::move(segment), *std::move(earlier))});
  }
  const bool has_tables = !tables.empty() || !writer->tables_.empty();
  if (!tensors.empty() || !has_tables) SHOAL_TRY_VOID(writer->add_file(FileKind::kTensors, std::move(tensors), {}));
  if (!tables.empty()) {
    SHOAL_TRY_VOID(writer->add_file(FileKind::kTables, std::move(tables), "@" + std::to_string(save.global_step)));
  }
  return writer;
}

Result<void> ArenaWriter::add_file(FileKind kind, std::vector<Segment> segments, std::string_view name_ending) {
  const uint32_t number = save_.files.add(kind);
  SHOAL_TRY(auto file,
            DataFileWriter::create(save_.storage, save_.files[number].path,
                                   {.bytes = bytes_, .segments = std::move(segments)}, save_.global_step, name_ending));
  files_.push_back({std::move(file), number});
  return {};
}

Result<void> ArenaWriter::append(std::span<const std::byte> bytes) {
  if (bytes.size() > bytes_ - position_) {
    return invalid_argument("more bytes were appended than the arena of " + std::to_string(bytes_) + " bytes has");
  }
  const uint64_t end = position_ + bytes.size();
  for (const Table& table : tables_) {
    const uint64_t from = std::max(position_, table.begin), to = std::min(end, table.end);
    if (from < to) SHOAL_TRY_VOID(table.writer->append(bytes.subspan(size_t(from - position_), size_t(to - from))));
  }
  for (const File& file : files_) SHOAL_TRY_VOID(file.writer->append(bytes));
  position_ = end;
  return {};
}

Result<void> ArenaWriter::finish() {
  if (position_ != bytes_) {
    return invalid_argument("only " + std::to_string(position_) + " of the " + std::to_string(bytes_) +
                            " bytes of an arena were appended");
  }
  for (const File& file : files_) {
    SHOAL_TRY_VOID(file.writer->finish());
    save_.files[file.number].set(*file.writer);
  }
  return {};
}

Result<void> ArenaWriter::settle() {
  for (const Table& table : tables_) SHOAL_TRY_VOID(table.writer->settle());
  return {};
}

void ArenaWriter::list_written(uint32_t patch_file, std::vector<WrittenSegment>& list) const {
  for (const File& file : files_) {
    for (const WrittenSegment& written : file.writer->segments()) {
      list.push_back(written);
      list.back().piece.file = file.number;
    }
  }
  for (const Table& table : tables_) list.push_back(table.writer->written(patch_file));
}

}  // namespace shoal::checkpoint
