// SPDX-License-Identifier: Apache-2.0
#include "earlier_save.h"

#include <algorithm>

#include "shoal/checkpoint/directory.h"

namespace shoal::checkpoint {

namespace {

// A save writes a patch for each table: the rows that changed since the previous checkpoint. If a table already has
// kPatchesMax patches, the save instead writes all rows that changed since the table was last written whole, so that the
// new patch replaces all old ones. It does so for all tables if there are more than kPatchFilesMax files of patches.
constexpr size_t kPatchesMax = 8, kPatchFilesMax = 32;
// A reader opens all files of a checkpoint at once, so their number must be limited. If the previous checkpoint has more
// files of the kinds kTables and kPatches than this, the next save shares none of them, and writes all tables whole.
constexpr size_t kSharedFilesMax = 96;

}  // namespace

EarlierSave::EarlierSave(Storage& storage, PendingFiles& files, std::string folder, std::unique_ptr<Reader> reader)
    : storage_(storage), files_(files), folder_(std::move(folder)), reader_(std::move(reader)) {
  const Manifest& manifest = reader_->manifest();
  used_.resize(manifest.files.size());
  for (const TensorEntry& tensor : manifest.tensors) {
    for (const Piece& piece : tensor.pieces) {
      used_[piece.file] += piece.bytes;
      for (const Patch& patch : piece.patches) used_[patch.file] += patch.bytes_in_file();
    }
  }
  patch_files_ = size_t(std::ranges::count(manifest.files, FileKind::kPatches, &DataFile::kind));
}

/// Opens the previous checkpoint, whose files the next save may share. Returns null if it cannot be read, or has too many
/// files: the save then writes all tables whole.
std::unique_ptr<EarlierSave> EarlierSave::open(Storage& storage, const std::string& model_dir, PendingFiles& files) {
  const Result<std::optional<PointerFile>> pointer = read_pointer(storage, model_dir);
  if (!pointer || !*pointer) return nullptr;
  Result<std::unique_ptr<Reader>> reader = Reader::open(storage, join_path(model_dir, (*pointer)->newest));
  if (!reader) return nullptr;
  const auto is_shared = [](const DataFile& file) { return file.kind != FileKind::kTensors; };
  if (size_t(std::ranges::count_if((*reader)->manifest().files, is_shared)) > kSharedFilesMax) return nullptr;
  return std::unique_ptr<EarlierSave>(new EarlierSave(storage, files, model_dir, std::move(reader).value()));
}

void EarlierSave::note(const Error& error) {
  if (!damage_) damage_ = error.message();
}

Error EarlierSave::unsteady(const std::string& why) {
  unsteady_ = true;
  return unavailable("the previous checkpoint gives other bytes than a moment ago: " + why);
}

/// True if the next save should replace all patches of the table (rows that earlier saves wrote, because they had changed)
/// by a single patch: because there are too many patches, or because a patch file is mostly unused.
bool EarlierSave::merges(const Piece& piece) const {
  // Allows for the header of a file: some hundred bytes, which used_ does not count as used.
  constexpr uint64_t kSmallFile = 4096;
  const auto is_mostly_dead = [&](const Patch& patch) {
    return reader_->manifest().files[patch.file].bytes > 2 * used_[patch.file] + kSmallFile;
  };
  return piece.patches.size() >= kPatchesMax || patch_files_ > kPatchFilesMax ||
         std::ranges::any_of(piece.patches, is_mostly_dead);
}

bool EarlierSave::link(uint32_t file) {
  if (const auto known = links_.find(file); known != links_.end()) return known->second.has_value();
  const uint32_t number = files_.add(reader_->manifest().files[file].kind, false);
  const std::string from = join_path(folder_, reader_->manifest().files[file].name);
  // The file gets a second name and is then synced, although its data are old: somebody may have copied the folder without
  // a sync, and a checkpoint may be published only when all of its data are on the disk.
  const auto linked_and_synced = [&]() -> Result<void> {
    SHOAL_TRY_VOID(storage_.link(from, files_[number].path));
    SHOAL_TRY(const std::unique_ptr<WritableFile> handle, storage_.append(files_[number].path));
    SHOAL_TRY_VOID(handle->sync());
    return handle->close();
  };
  const bool linked = bool(linked_and_synced());
  links_[file] = linked ? std::optional(number) : std::nullopt;
  return linked;
}

std::optional<EarlierSave::Found> EarlierSave::find(const Segment& segment) {
  const TensorEntry* tensor = reader_->manifest().find(segment.name);
  if (!tensor || tensor->dtype != segment.dtype || !(tensor->shape == segment.shape) ||
      tensor->slot_of != segment.slot_of) {
    return std::nullopt;
  }
  const auto is_it = [&](const Piece& piece) {
    return piece.row_begin == segment.row_begin && piece.row_end == segment.row_begin + segment.rows();
  };
  const auto piece = std::ranges::find_if(tensor->pieces, is_it);
  if (piece == tensor->pieces.end()) return std::nullopt;
  // Shares neither a file of which the previous checkpoint uses less than half, nor a table with long patches (the changed
  // rows that later saves wrote). If saves shared them again and again, unused data and patches would cost ever more disk
  // space, and patches ever more time when the table is restored.
  const DataFile& file = reader_->manifest().files[piece->file];
  uint64_t patched = 0;
  for (const Patch& patch : piece->patches) patched += patch.bytes_in_file();
  if (file.kind != FileKind::kTables || used_[piece->file] < file.bytes / 2 || patched > piece->bytes / 2)
    return std::nullopt;
  Found found{tensor, *piece};
  if (merges(*piece)) found.piece.patches.clear();
  if (!link(piece->file)) return std::nullopt;
  for (const Patch& patch : found.piece.patches) {
    const bool known = links_.contains(patch.file);
    if (!link(patch.file)) return std::nullopt;
    // A patch file (the rows that one save wrote) is short, so all of it is read and verified here, unless an earlier call
    // did so. The file with the table itself is long: its checksum is computed later, from the bytes that are read to
    // compare them with the new table (is_intact()).
    if (known) continue;
    if (const Result<void> intact = reader_->verify_file(patch.file); !intact) {
      note(intact.error());
      links_[patch.file].reset();
      return std::nullopt;
    }
  }
  return found;
}

PieceStream EarlierSave::stream(const Found& found, bool compares_file) {
  const uint32_t file = found.piece.file;
  FileCheck* whole = nullptr;
  if (compares_file)
    whole = &checks_.try_emplace(file, *reader_->files()[file], reader_->manifest().files[file].checksum).first->second;
  return PieceStream(reader_->manifest(), reader_->files(), *found.tensor, found.piece, whole);
}

bool EarlierSave::is_intact(const Piece& piece) {
  const auto [at, is_new] = intact_.try_emplace(piece.file, false);
  if (!is_new) return at->second;
  const Result<bool> found = checks_.at(piece.file).finish();
  if (found && *found) return at->second = true;
  const Result<void> intact = reader_->verify_file(piece.file);
  if (!intact) note(intact.error());
  return at->second = bool(intact);
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
