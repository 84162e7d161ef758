// SPDX-License-Identifier: Apache-2.0
#include "earlier_save.h"

#include <algorithm>

#include "shoal/checkpoint/directory.h"

namespace shoal::checkpoint {

EarlierSave::EarlierSave(Storage& storage, PendingFiles& files, std::string folder, std::unique_ptr<Reader> reader)
    : storage_(storage), files_(files), folder_(std::move(folder)), reader_(std::move(reader)) {}

/// Whatever keeps us from reading it is told by whoever needs it: this save is written whole.
std::unique_ptr<EarlierSave> EarlierSave::open(Storage& storage, const std::string& model_dir, PendingFiles& files) {
  const Result<std::optional<PointerFile>> pointer = read_pointer(storage, model_dir);
  if (!pointer || !*pointer) return nullptr;
  Result<std::unique_ptr<Reader>> reader = Reader::open(storage, join_path(model_dir, (*pointer)->newest));
  if (!reader) return nullptr;
  return std::unique_ptr<EarlierSave>(new EarlierSave(storage, files, model_dir, std::move(reader).value()));
}

/// Whether at least half of the file is part of the checkpoint before: else too much lies on the disk for too little.
bool EarlierSave::is_of_use(uint32_t file) const {
  uint64_t used = 0;
  for (const TensorEntry& tensor : reader_->manifest().tensors) {
    for (const Piece& piece : tensor.pieces) used += piece.file == file ? piece.bytes : 0;
  }
  const DataFile& known = reader_->manifest().files[file];
  return known.kind == FileKind::kTables && used >= known.bytes / 2;
}

bool EarlierSave::link(uint32_t file) {
  if (const auto known = links_.find(file); known != links_.end()) return known->second.has_value();
  const uint32_t number = files_.add(reader_->manifest().files[file].kind, false);
  const std::string from = join_path(folder_, reader_->manifest().files[file].name);
  const bool linked = bool(storage_.link(from, files_[number].path));
  links_[file] = linked ? std::optional(number) : std::nullopt;
  return linked;
}

std::optional<EarlierSave::Found> EarlierSave::find(const Segment& segment) {
  const TensorEntry* tensor = reader_->manifest().find(segment.name);
  if (!tensor || tensor->dtype != segment.dtype || !(tensor->shape == segment.shape) || tensor->slot_of != segment.slot_of) {
    return std::nullopt;
  }
  const auto is_it = [&](const Piece& piece) {
    return piece.row_begin == segment.row_begin && piece.row_end == segment.row_begin + segment.rows();
  };
  const auto piece = std::ranges::find_if(tensor->pieces, is_it);
  if (piece == tensor->pieces.end() || !is_of_use(piece->file)) return std::nullopt;
  // Where much is patched, what lies on the disk for the tensor and is read to restore it is not to grow further.
  uint64_t patched = 0;
  for (const Patch& patch : piece->patches) patched += patch.bytes_in_file();
  if (patched > piece->bytes / 2 || !link(piece->file)) return std::nullopt;
  for (const Patch& patch : piece->patches) {
    const bool known = links_.contains(patch.file);
    if (!link(patch.file)) return std::nullopt;
    // Patches are short, and are compared here; what they belong to is compared as it is read.
    if (!known && !reader_->verify_file(patch.file)) {
      links_[patch.file].reset();
      return std::nullopt;
    }
  }
  return Found{tensor, *piece};
}

PieceStream EarlierSave::stream(const Found& found, bool compares_file) {
  const uint32_t file = found.piece.file;
  FileCheck* whole = nullptr;
  if (compares_file) whole = &checks_.try_emplace(file, *reader_->files()[file], reader_->manifest().files[file].checksum).first->second;
  return PieceStream(reader_->manifest(), reader_->files(), *found.tensor, found.piece, whole);
}

bool EarlierSave::is_intact(const Piece& piece) {
  const auto [at, is_new] = intact_.try_emplace(piece.file, false);
  if (!is_new) return at->second;
  const Result<bool> found = checks_.at(piece.file).finish();
  at->second = (found && *found) || reader_->verify_file(piece.file);
  return at->second;
}

uint32_t EarlierSave::take_file(uint32_t file) {
  const DataFile& known = reader_->manifest().files[file];
  const uint32_t number = links_.at(file).value();
  files_[number].is_named = true;
  files_[number].bytes = known.bytes;
  files_[number].checksum = known.checksum;
  return number;
}

Piece EarlierSave::take(Piece piece) {
  piece.file = take_file(piece.file);
  for (Patch& patch : piece.patches) patch.file = take_file(patch.file);
  return piece;
}

}  // namespace shoal::checkpoint
