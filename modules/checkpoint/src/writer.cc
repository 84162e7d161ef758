// SPDX-License-Identifier: Apache-2.0
#include "shoal/checkpoint/writer.h"

#include <algorithm>
#include <map>

#include "arena_writer.h"
#include "five_digits.h"
#include "folder.h"
#include "manifest_check.h"
#include "shoal/checkpoint/directory.h"
#include "shoal/json/fields.h"

namespace shoal::checkpoint {
namespace {

Result<void> check_names(const SaveInfo& info) {
  for (const auto& [name, value] : info.counters) {
    if (!json::is_utf8(name)) return invalid_argument("the counter '" + name + "' has a name that is not UTF-8");
  }
  for (const auto& [trainer, position] : info.positions) {
    if (!json::is_utf8(trainer)) return invalid_argument("the position of '" + trainer + "': the name is not UTF-8");
  }
  return {};
}

/// How a save changes the list of checkpoints in the text file `checkpoint`.
struct ListChange {
  std::vector<std::string> retained;
  std::vector<std::string> deleted;  // Checkpoints that the file `checkpoint` no longer lists; their files are deleted.
  std::vector<std::string> kept;     // Checkpoints that the file `checkpoint` no longer lists; their files stay on disk.
};

/// Appends `name` to `names`. Removes names without files and, beyond keep_max, the oldest names that are not pinned.
ListChange list_with(const std::vector<std::string>& names, const std::string& name, const std::vector<FileInfo>& listing,
                     const CommitOptions& options) {
  const std::vector<int64_t> indexed = indexed_steps(listing);
  ListChange change;
  std::vector<std::string>& retained = change.retained;
  for (const std::string& old : names) {
    if (old != name && std::binary_search(indexed.begin(), indexed.end(), *step_of(old))) retained.push_back(old);
  }
  int64_t over = options.keep_max > 0 ? int64_t(retained.size()) + 1 - options.keep_max : 0;
  std::erase_if(retained, [&](const std::string& old) {
    if (over <= 0 || options.pinned.contains(old)) return false;
    const bool stays = options.keeps_for_good && options.keeps_for_good(old);
    (stays ? change.kept : change.deleted).push_back(old);
    --over;
    return true;
  });
  retained.push_back(name);
  return change;
}

class FolderWriter final : public Writer {
 public:
  FolderWriter(Storage& storage, std::string model_dir, int64_t global_step, std::optional<Sharing> sharing)
      : storage_(storage),
        model_dir_(std::move(model_dir)),
        step_(global_step),
        name_(checkpoint_name(global_step)),
        temporary_(std::string(kTemporary) + "-" + storage.unique_name()),
        sharing_(sharing),
        files_(path_of(name_ + ".data-"), temporary_),
        patches_(global_step, sharing ? sharing->changes_max : 0) {}
  ~FolderWriter() override { abandon(); }

  Result<void> begin(Folder folder);
  Result<int> add_arena(ArenaLayout layout) override;
  Result<void> append(int arena, std::span<const std::byte> bytes) override;
  Result<void> add_tensors(std::span<const NamedTensor> tensors) override;
  Result<void> finish(SaveInfo info) override;
  Result<Saved> publish(CommitOptions options) override;
  bool sharing_failed() const override { return earlier_ && *earlier_ && (*earlier_)->is_unsteady(); }

 private:
  enum class Phase { kWriting, kRenaming, kFinished, kIndexed, kDone };

  std::string path_of(const std::string& file_name) const { return join_path(model_dir_, file_name); }
  std::string index_name() const { return name_ + ".index"; }
  std::string temporary_index_name() const { return index_name() + temporary_; }
  void remove_unfinished();
  Error not_saved(Error error) const;
  Result<void> finish_files();
  Result<Manifest> make_manifest(SaveInfo info, const std::vector<FileInfo>& listing) const;
  Result<void> write_index(const std::string& text);
  Result<void> mark_unlisted(const std::string& name, const std::vector<FileInfo>& listing);
  Result<std::vector<std::string>> listed_before() const;
  Result<void> put_in_place(SaveInfo info);
  Result<Saved> make_newest(const CommitOptions& options);
  Result<void> delete_old(const std::vector<std::string>& deleted, const WarningSink& warn);
  void abandon();
  bool index_may_be_ours() const;
  bool may_be_listed() const;

  Storage& storage_;
  std::string model_dir_;
  int64_t step_;
  std::string name_;
  // The ending of all temporary names, which no other writer on any host uses.
  std::string temporary_;
  Phase phase_ = Phase::kWriting;
  const std::optional<Sharing> sharing_;
  PendingFiles files_;
  PatchFile patches_;
  // The previous checkpoint, whose files this save may share. Empty: not opened yet. Null: there is no such checkpoint.
  std::optional<std::unique_ptr<EarlierSave>> earlier_;
  std::vector<std::unique_ptr<ArenaWriter>> arenas_;
  bool old_removed_ = false;
  // Lists for each tensor, or part of a tensor, of all arenas where its bytes are in the data files. Complete once all
  // arenas are finished. Piece::file is a file's number in PendingFiles, which the manifest replaces by the file's index
  // in its own list.
  std::vector<WrittenSegment> segments_;
  std::vector<std::string> renamed_;  // Final names of the data files that were renamed.
  bool marked_ = false;               // True if this save made the `.unlisted` file of its checkpoint.
  Manifest manifest_;                 // Valid once the save is finished.
  std::string index_text_;
};

/// Any obstacle to saving is Unavailable, also one that the storage reports as "not permitted" (FailedPrecondition).
Error FolderWriter::not_saved(Error error) const {
  const bool ours = error.kind() == ErrorKind::kInvalidArgument || error.kind() == ErrorKind::kCancelled ||
                    error.kind() == ErrorKind::kDataLoss;
  return Error(ours ? error.kind() : ErrorKind::kUnavailable,
               "checkpoint " + path_of(name_) + " was not saved: " + error.message())
      .with_system_error(error.system_error());
}

Result<void> FolderWriter::begin(Folder folder) {
  if (step_ < 0) {
    return invalid_argument("the global step of a checkpoint is " + std::to_string(step_) + ", but steps are at least 0");
  }
  if (folder == Folder::kIsThere) return {};
  if (Result<void> made = storage_.make_folders(model_dir_); !made) return not_saved(std::move(made).error());
  return {};
}

/// Removes old files that interrupted saves have left. Their age counts up to the time of a file that this save has just
/// created, and not up to this host's time: the file system's clock may differ from the host's.
void FolderWriter::remove_unfinished() {
  const auto created = std::ranges::find_if(files_.all(), &PendingFile::is_new);
  if (old_removed_ || created == files_.all().end()) return;
  old_removed_ = true;
  const Result<std::vector<FileInfo>> listing = storage_.list(model_dir_);
  if (!listing) return;  // finish() lists the folder too, and returns the error if listing fails again.
  const auto ours =
      std::ranges::find_if(*listing, [&](const FileInfo& file) { return path_of(file.name) == created->path; });
  if (ours == listing->end()) return;
  Result<std::optional<PointerFile>> pointer = read_pointer(storage_, model_dir_);
  remove_unfinished_files(storage_, model_dir_,
                          {.listing = *listing,
                           .pointer = pointer ? std::move(*pointer) : std::nullopt,
                           .now = ours->modified,
                           .own = temporary_});
}

Result<int> FolderWriter::add_arena(ArenaLayout layout) {
  SHOAL_CHECK(phase_ == Phase::kWriting);
  const auto is_table = [&](const Segment& segment) {
    return sharing_ && segment.changes_little && segment.bytes() > 0 && segment.bytes() >= sharing_->bytes_min;
  };
  if (!earlier_ && std::ranges::any_of(layout.segments, is_table))
    earlier_ = EarlierSave::open(storage_, model_dir_, files_);
  const SaveParts parts{storage_, files_, earlier_ ? earlier_->get() : nullptr, patches_, step_};
  arenas_.push_back(nullptr);  // If begin() fails, finish() finds this null, and returns InvalidArgument.
  auto arena = ArenaWriter::begin(parts, std::move(layout), is_table);
  if (!arena) return not_saved(std::move(arena).error());
  arenas_.back() = std::move(arena).value();
  remove_unfinished();
  return int(arenas_.size()) - 1;
}

Result<void> FolderWriter::append(int arena, std::span<const std::byte> bytes) {
  SHOAL_CHECK(phase_ == Phase::kWriting && arena >= 0 && size_t(arena) < arenas_.size() && arenas_[size_t(arena)]);
  Result<void> done = arenas_[size_t(arena)]->append(bytes);
  if (!done) return not_saved(std::move(done).error());
  return {};
}

Result<void> FolderWriter::add_tensors(std::span<const NamedTensor> tensors) {
  ArenaLayout layout;
  for (const NamedTensor& named : tensors) {
    layout.segments.push_back({.name = named.name,
                               .dtype = named.tensor.dtype,
                               .shape = named.tensor.shape,
                               .slot_of = named.slot_of,
                               .offset = layout.bytes,
                               .changes_little = named.changes_little});
    layout.bytes += named.tensor.bytes();
  }
  SHOAL_TRY(const int arena, add_arena(std::move(layout)));
  for (const NamedTensor& named : tensors) {
    SHOAL_TRY_VOID(append(arena, {named.tensor.data, named.tensor.bytes()}));
  }
  return {};
}

/// Makes the manifest, and chooses the final names of the data files. No file in the folder may have such a name yet: an
/// earlier save of the same step keeps its files until the index is replaced.
Result<Manifest> FolderWriter::make_manifest(SaveInfo info, const std::vector<FileInfo>& listing) const {
  Manifest manifest{.global_step = step_, .info = std::move(info)};
  const std::vector<std::string> existing = files_of(listing, name_);
  const std::string count = five_digits(files_.named());
  std::vector<uint32_t> index_of(files_.all().size());  // From a number in PendingFiles to an index in manifest.files.
  std::string generation;
  for (int number = 2;; ++number) {
    manifest.files.clear();
    bool free = true;
    for (size_t i = 0; i < files_.all().size(); ++i) {
      const PendingFile& file = files_.all()[i];
      if (!file.is_named) continue;
      index_of[i] = uint32_t(manifest.files.size());
      const std::string name = name_ + ".data-" + five_digits(manifest.files.size()) + "-of-" + count + generation;
      free = free && std::find(existing.begin(), existing.end(), name) == existing.end();
      manifest.files.push_back({name, file.bytes, file.checksum, file.kind});
    }
    if (free) break;
    generation = std::to_string(number).insert(0, 1, '.');
  }
  std::map<std::string, TensorEntry> tensors;
  for (const WrittenSegment& written : segments_) {
    const Segment& segment = written.segment;
    TensorEntry& tensor = tensors[segment.name];
    if (tensor.pieces.empty()) tensor = {segment.name, segment.dtype, segment.shape, segment.slot_of, {}};
    if (tensor.dtype != segment.dtype || tensor.shape != segment.shape || tensor.slot_of != segment.slot_of) {
      return invalid_argument("variable " + segment.name + ": its pieces differ in dtype, shape or slot");
    }
    Piece& piece = tensor.pieces.emplace_back(written.piece);
    piece.file = index_of[piece.file];
    for (Patch& patch : piece.patches) patch.file = index_of[patch.file];
  }
  for (auto& [name, tensor] : tensors) {
    std::stable_sort(tensor.pieces.begin(), tensor.pieces.end(), [](const Piece& a, const Piece& b) {
      return std::pair(a.row_begin, a.row_end) < std::pair(b.row_begin, b.row_end);
    });
    manifest.tensors.push_back(std::move(tensor));
  }
  if (auto wrong = contradiction_in(manifest)) return invalid_argument(*wrong);
  return manifest;
}

Result<void> FolderWriter::write_index(const std::string& text) {
  const std::string temporary = path_of(temporary_index_name());
  SHOAL_TRY(std::unique_ptr<WritableFile> file, storage_.create(temporary));
  SHOAL_TRY_VOID(file->append({reinterpret_cast<const std::byte*>(text.data()), text.size()}));
  SHOAL_TRY_VOID(file->sync());
  SHOAL_TRY_VOID(file->close());
  return storage_.rename(temporary, path_of(index_name()));
}

/// Makes the `.unlisted` file of checkpoint `name`. Called before the folder is synced, so that this file is on disk before
/// the text file `checkpoint` ceases to list the checkpoint.
Result<void> FolderWriter::mark_unlisted(const std::string& name, const std::vector<FileInfo>& listing) {
  const std::string mark = unlisted_mark(name);
  if (std::any_of(listing.begin(), listing.end(), [&](const FileInfo& file) { return file.name == mark; })) return {};
  if (name == name_) marked_ = true;
  SHOAL_TRY(const std::unique_ptr<WritableFile> file, storage_.create(path_of(mark)));
  return file->close();
}

Result<void> FolderWriter::finish_files() {
  for (const auto& arena : arenas_) {
    if (!arena) return invalid_argument("a data file was not completed");
    SHOAL_TRY_VOID(arena->finish());
  }
  for (const auto& arena : arenas_) SHOAL_TRY_VOID(arena->settle());
  uint32_t patch_file = 0;
  if (!patches_.empty()) {
    patch_file = files_.add(FileKind::kPatches);
    SHOAL_TRY(const auto file, patches_.write(storage_, files_[patch_file].path));
    files_[patch_file].set(*file);
  }
  for (const auto& arena : arenas_) arena->list_written(patch_file, segments_);
  return {};
}

/// The names of the checkpoints that are listed before this save, which replaces the list. If the `checkpoint` file is
/// damaged or missing, there are none: all checkpoints in the folder stay, since some may be kept for good.
Result<std::vector<std::string>> FolderWriter::listed_before() const {
  Result<std::optional<PointerFile>> pointer = read_pointer(storage_, model_dir_);
  if (!pointer && pointer.error().kind() != ErrorKind::kDataLoss) return std::move(pointer).error();
  return pointer && *pointer ? std::move((*pointer)->retained) : std::vector<std::string>();
}

Result<void> FolderWriter::put_in_place(SaveInfo info) {
  SHOAL_TRY_VOID(check_names(info));
  SHOAL_TRY_VOID(finish_files());
  SHOAL_TRY(const std::vector<FileInfo> listing, storage_.list(model_dir_));
  SHOAL_TRY(const std::vector<std::string> listed, listed_before());
  SHOAL_TRY(manifest_, make_manifest(std::move(info), listing));

  phase_ = Phase::kRenaming;
  for (const PendingFile& file : files_.all()) {
    if (!file.is_named) {
      (void)storage_.remove(file.path);  // If this fails, a later save removes this temporary file.
      continue;
    }
    renamed_.push_back(manifest_.files[renamed_.size()].name);
    SHOAL_TRY_VOID(storage_.rename(file.path, path_of(renamed_.back())));
  }
  if (std::ranges::find(listed, name_) == listed.end()) SHOAL_TRY_VOID(mark_unlisted(name_, listing));
  // The names of the data files must be on disk before the caller writes an index that refers to them.
  return storage_.sync_folder(model_dir_);
}

Result<Saved> FolderWriter::make_newest(const CommitOptions& options) {
  SHOAL_TRY(const std::vector<FileInfo> listing, storage_.list(model_dir_));
  SHOAL_TRY(const std::vector<std::string> listed, listed_before());
  const bool is_listed = std::ranges::find(listed, name_) != listed.end();
  index_text_ = encode_manifest(manifest_);
  phase_ = Phase::kIndexed;
  SHOAL_TRY_VOID(write_index(index_text_));
  ListChange change = list_with(listed, name_, listing, options);
  for (const std::string& old : change.deleted) SHOAL_TRY_VOID(mark_unlisted(old, listing));
  SHOAL_TRY_VOID(storage_.sync_folder(model_dir_));

  const PointerFile pointer{.newest = name_, .retained = change.retained};
  SHOAL_TRY_VOID(storage_.write_atomically(path_of("checkpoint"), encode_pointer(pointer)));
  phase_ = Phase::kDone;

  if (options.warn && earlier_ && *earlier_ && (*earlier_)->damage()) {
    options.warn("the checkpoint before " + name_ + " is damaged, so tables were written whole: " + *(*earlier_)->damage());
  }
  // A failure is ignored: the `.unlisted` file of a listed checkpoint has no effect, and the next save tries again.
  if (!is_listed) (void)storage_.remove(path_of(unlisted_mark(name_)));
  if (Result<void> deleted = delete_old(change.deleted, options.warn); !deleted && options.warn) {
    options.warn("old checkpoints could not be deleted: " + deleted.error().message());
  }
  return Saved{.name = name_,
               .prefix = path_of(name_),
               .retained = std::move(change.retained),
               .kept = std::move(change.kept),
               .data_bytes = manifest_.data_bytes(),
               .written_bytes = files_.new_bytes(),
               .manifest = manifest_};
}

Result<void> FolderWriter::delete_old(const std::vector<std::string>& deleted, const WarningSink& warn) {
  SHOAL_TRY(const std::vector<FileInfo> listing, storage_.list(model_dir_));
  for (const std::string& old : deleted) remove_checkpoint(storage_, model_dir_, listing, old, warn);
  for (const std::string& file : files_of(listing, name_)) {  // Removes the files of an earlier save of this step.
    const bool current = file == index_name() || std::any_of(manifest_.files.begin(), manifest_.files.end(),
                                                             [&](const DataFile& d) { return d.name == file; });
    if (current) continue;
    if (Result<void> removed = storage_.remove(path_of(file)); !removed && warn) {
      warn("an old checkpoint file could not be deleted: " + removed.error().message());
    }
  }
  return {};
}

Result<void> FolderWriter::finish(SaveInfo info) {
  SHOAL_CHECK(phase_ == Phase::kWriting);
  Result<void> done = put_in_place(std::move(info));
  if (!done) return not_saved(std::move(done).error());
  phase_ = Phase::kFinished;
  return {};
}

Result<Saved> FolderWriter::publish(CommitOptions options) {
  SHOAL_CHECK(phase_ == Phase::kFinished);
  Result<Saved> saved = make_newest(options);
  if (!saved) return not_saved(std::move(saved).error());
  return saved;
}

bool FolderWriter::index_may_be_ours() const {
  if (phase_ != Phase::kIndexed) return false;
  const Result<std::string> text = storage_.read_all(path_of(index_name()));
  return text ? *text == index_text_ : text.error().kind() != ErrorKind::kNotFound;
}

bool FolderWriter::may_be_listed() const {
  const Result<std::optional<PointerFile>> pointer = read_pointer(storage_, model_dir_);
  if (!pointer) return true;
  if (!*pointer) return false;
  return (*pointer)->lists(name_);
}

/// Removes the files of a save that was not published. A failed call may have had its effect all the same (a rename whose
/// sync failed), so this function looks at the disk. If an index or the list may refer to the files, they stay.
void FolderWriter::abandon() {
  if (phase_ == Phase::kDone) return;
  arenas_.clear();
  for (const PendingFile& file : files_.all()) (void)storage_.remove(file.path);
  if (phase_ == Phase::kIndexed) (void)storage_.remove(path_of(temporary_index_name()));
  if (index_may_be_ours()) {
    if (may_be_listed()) return;
    // The index is removed first: an index without its data files would look like a damaged checkpoint. The data files are
    // removed only once the index is certainly gone. Until then the `.unlisted` file stays, too: it tells later
    // saves to delete this checkpoint.
    const Result<void> removed = storage_.remove(path_of(index_name()));
    if (!removed && removed.error().kind() != ErrorKind::kNotFound) return;
    if (!storage_.sync_folder(model_dir_)) return;
  }
  for (const std::string& name : renamed_) (void)storage_.remove(path_of(name));
  if (marked_) (void)storage_.remove(path_of(unlisted_mark(name_)));
}

}  // namespace

Result<std::unique_ptr<Writer>> Writer::begin(Storage& storage, std::string model_dir, int64_t global_step, Folder folder,
                                              std::optional<Sharing> sharing) {
  auto writer = std::make_unique<FolderWriter>(storage, std::move(model_dir), global_step, sharing);
  SHOAL_TRY_VOID(writer->begin(folder));
  return std::unique_ptr<Writer>(std::move(writer));
}

}  // namespace shoal::checkpoint
