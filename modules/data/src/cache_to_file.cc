// SPDX-License-Identifier: Apache-2.0
// cache(path): writes the elements of a complete pass to a file, which later passes, and later runs, read. Until the file is
// complete, each pass reads the input's first pass again, so that all passes are equal. A position that is saved before that
// also contains the input's position at the beginning of the pass. A resumed iterator reads the input from there, and so
// writes the elements before the saved position to the file again.
#include <algorithm>
#include <array>

#include "cache_file.h"
#include "nodes.h"
#include "shoal/base/synced_file.h"

namespace shoal::data {
namespace {

struct FileCache {
  std::string path;
  CacheOptions options;
  uint64_t fingerprint;  ///< Of the input.

  /// The iterator that holds the lock of `lock_path()` writes to `unfinished_path()`, and renames the file at the end.
  std::string unfinished_path() const { return path + ".unfinished"; }
  std::string lock_path() const { return path + ".lock"; }
};

constexpr std::string_view kLockNote = "writes ";

Error not_ours(const std::string& path) {
  return failed_precondition(path +
                             " is there, and no file of cache(), which would overwrite it; give cache() another "
                             "path, or move that file away");
}

/// Fails if somebody has a file of their own in the place of the lock file. A lock file may be empty for a moment, and have
/// a part of its text, or zeros, after a power failure.
Result<void> check_lock_file(Storage& storage, const std::string& path) {
  const Result<std::unique_ptr<ReadableFile>> file = storage.open(path);
  if (!file || (*file)->size() == 0) return {};
  std::array<char, kLockNote.size()> note{};
  const size_t size = size_t(std::min<uint64_t>(note.size(), (*file)->size()));
  if (!(*file)->read_at(0, std::as_writable_bytes(std::span(note)).first(size))) return {};  // Another one has just cut it.
  const std::string_view begin(note.data(), size);
  const bool ours = kLockNote.starts_with(begin) || begin.find_first_not_of('\0') == std::string_view::npos;
  return ours ? Result<void>() : not_ours(path);
}

/// Fails if `path` is a link that leads nowhere, which the finished file would replace.
Result<void> check_no_link(Storage& storage, const std::string& path) {
  const auto entries = storage.list(folder_of(path));  // They include links that lead nowhere.
  const std::string name = path.substr(path.rfind('/') + 1);
  const bool listed = entries && std::ranges::find(*entries, name, &FileInfo::name) != entries->end();
  if (!listed || storage.exists(path)) return {};
  return failed_precondition(path +
                             " is a link that leads nowhere, and is left as it is; give cache() the path to which "
                             "it leads, or remove the link");
}

/// The file while it is being written. If this object is destroyed before finish(), it removes the file.
class UnfinishedCache {
 public:
  /// Returns null if another iterator, of this process or another one, is writing the file.
  static Result<std::unique_ptr<UnfinishedCache>> begin(Storage& storage, const FileCache& cache) {
    SHOAL_TRY_VOID(check_no_link(storage, cache.path));
    SHOAL_TRY_VOID(check_lock_file(storage, cache.lock_path()));
    Result<std::unique_ptr<StorageLock>> lock = storage.lock(cache.lock_path(), std::string(kLockNote) + cache.path);
    if (!lock && lock.error().kind() == ErrorKind::kUnavailable && storage.exists(cache.lock_path())) {
      return std::unique_ptr<UnfinishedCache>();
    }
    if (!lock) return std::move(lock).error();
    SHOAL_TRY(CacheFileWriter writer,
              CacheFileWriter::create(storage, cache.unfinished_path(), cache.fingerprint, cache.options.compress));
    return std::make_unique<UnfinishedCache>(storage, cache, *std::move(lock), std::move(writer));
  }
  UnfinishedCache(Storage& storage, const FileCache& cache, std::unique_ptr<StorageLock> lock, CacheFileWriter writer)
      : storage_(storage), cache_(cache), lock_(std::move(lock)), writer_(std::move(writer)) {}
  ~UnfinishedCache() {
    if (!finished_) (void)storage_.remove(cache_.unfinished_path());
  }

  Result<void> append(const Element& element) { return writer_.append(element); }
  Result<void> finish() {
    SHOAL_TRY_VOID(writer_.finish());
    SHOAL_TRY(const bool in_place, lock_->is_in_place());
    if (!in_place) {  // Somebody removed the lock file, so another iterator may write the file now.
      finished_ = true;
      return unavailable(cache_.lock_path() + " was removed while " + cache_.path + " was being written");
    }
    SHOAL_TRY_VOID(storage_.rename(cache_.unfinished_path(), cache_.path));
    finished_ = true;
    return storage_.sync_folder(folder_of(cache_.path));
  }

 private:
  Storage& storage_;
  const FileCache& cache_;
  const std::unique_ptr<StorageLock> lock_;
  CacheFileWriter writer_;
  bool finished_ = false;  // True: the destructor must not remove the file, which was renamed or may be another's.
};

class FileCacheStage final : public Stage {
 public:
  FileCacheStage(StageContext& context, std::unique_ptr<Stage> input, const FileCache& cache)
      : context_(context), input_(std::move(input)), cache_(cache) {}

  Result<bool> next(Item& item) override {
    SHOAL_TRY_VOID(check_stopping(context_));
    if (state_ == State::kNew) SHOAL_TRY_VOID(begin_pass());
    if (state_ == State::kReading) return reader_->next(item.own());
    return next_of_input(item);
  }
  Result<int64_t> skip(int64_t count) override {
    if (state_ == State::kNew) SHOAL_TRY_VOID(begin_pass());
    if (state_ != State::kReading) return Stage::skip(count);  // Calls next(), which writes the skipped elements, too.
    const uint64_t skipped = std::min(uint64_t(count), reader_->elements() - reader_->next_number());
    reader_->go_to(reader_->next_number() + skipped);
    return int64_t(skipped);
  }
  Result<void> restart(uint64_t) override {
    unfinished_.reset();
    index_ = 0;
    if (reader_) {
      reader_->go_to(0);
      state_ = State::kReading;
      return {};
    }
    state_ = State::kNew;
    return input_->restart(0);
  }

  Result<void> save(StateWriter& out) const override {
    out.flag(state_ == State::kReading);
    if (state_ == State::kReading) {
      out.number(reader_->contents());
      out.number(reader_->next_number());
      return {};
    }
    std::string now;
    StateWriter writer(now);
    SHOAL_TRY_VOID(input_->save(writer));
    if (state_ != State::kNew && unsaved_) return *unsaved_;
    out.number(index_);
    out.text(state_ == State::kNew ? now : beginning_);
    out.text(now);
    return {};
  }
  Result<void> load(StateReader& in) override {
    unfinished_.reset();
    reader_.reset();
    state_ = State::kNew;
    index_ = 0;
    SHOAL_TRY(const bool reading, in.flag());
    return reading ? load_reading(in) : load_not_reading(in);
  }

 private:
  enum class State : uint8_t {
    kNew,      ///< At the beginning of a pass, before its first element was requested.
    kReading,  ///< The file is complete, and elements come from it.
    kWriting,  ///< Elements come from the input, and each is written to unfinished_.
    kPassing,  ///< Elements come from the input, and are not written.
    kEnded,    ///< The input has ended.
  };

  Storage& storage() { return context_.env.storage(); }

  /// Opens the file if there is a complete one; else returns false.
  Result<bool> open_file() {
    Result<CacheFileReader> reader = CacheFileReader::open(storage(), cache_.path);
    if (!reader && reader.error().kind() == ErrorKind::kNotFound) return false;
    if (!reader) return std::move(reader).error();
    if (reader->fingerprint() != cache_.fingerprint) {
      return failed_precondition(cache_.path +
                                 " holds the elements of another pipeline than the one before this cache(); delete it, or "
                                 "give this pipeline another file");
    }
    reader_ = std::make_unique<CacheFileReader>(*std::move(reader));
    return true;
  }

  Result<void> begin_pass() {
    SHOAL_TRY(const bool complete, open_file());
    if (complete) {
      state_ = State::kReading;
      return {};
    }
    beginning_.clear();
    unsaved_.reset();
    StateWriter writer(beginning_);
    if (Result<void> saved = input_->save(writer); !saved) unsaved_ = std::move(saved).error();
    begin_writing();
    if (state_ != State::kWriting) return {};
    // Another iterator may have finished the file between the first open_file() and the lock.
    SHOAL_TRY(const bool now_complete, open_file());
    if (!now_complete) return {};
    unfinished_.reset();
    state_ = State::kReading;
    return {};
  }

  /// Begins to write the file. If that fails, the pass goes on without it: a slower pass is no reason to end a training.
  void begin_writing() {
    index_ = 0;
    Result<std::unique_ptr<UnfinishedCache>> begun = UnfinishedCache::begin(storage(), cache_);
    if (!begun) return give_up(begun.error());
    unfinished_ = *std::move(begun);
    state_ = unfinished_ ? State::kWriting : State::kPassing;
    if (!unfinished_) {
      context_.env.log().info("cache: another one is writing " + cache_.path +
                              "; this pass takes its elements from the input");
    }
  }

  void give_up(const Error& error) {
    context_.env.log().warning("cache: " + error.message() + "; this pass goes on without " + cache_.path);
    unfinished_.reset();
    state_ = State::kPassing;
  }

  Result<bool> next_of_input(Item& item) {
    if (state_ == State::kEnded) return false;
    SHOAL_TRY(const bool more, input_->next(item));
    if (more) {
      ++index_;
      write(item);
      return true;
    }
    const bool writing = state_ == State::kWriting;
    if (writing) {
      if (Result<void> finished = unfinished_->finish(); !finished) give_up(finished.error());
    }
    const bool written = state_ == State::kWriting;
    unfinished_.reset();
    state_ = State::kEnded;
    if (written) SHOAL_TRY_VOID(open_file());
    return false;
  }

  void write(Item& item) {
    if (state_ != State::kWriting) return;
    if (Result<void> written = unfinished_->append(item.readable(context_.env.buffers())); !written)
      give_up(written.error());
  }

  Result<void> load_reading(StateReader& in) {
    SHOAL_TRY(const uint64_t contents, in.number());
    SHOAL_TRY(const int64_t number, in.count());
    SHOAL_TRY(const bool complete, open_file());
    if (!complete)
      return failed_precondition("the input's position is in " + cache_.path + ", which is not there any more");
    if (reader_->contents() != contents) return failed_precondition(cache_.path + " holds other elements than before");
    if (uint64_t(number) > reader_->elements()) return damaged_position();
    reader_->go_to(uint64_t(number));
    state_ = State::kReading;
    return {};
  }

  Result<void> load_not_reading(StateReader& in) {
    SHOAL_TRY(const int64_t index, in.count());
    SHOAL_TRY(const std::string_view beginning, in.text());
    SHOAL_TRY(const std::string_view now, in.text());
    if (index == 0) return load_input(now);
    beginning_ = beginning;
    unsaved_.reset();
    // If the file exists, another iterator has finished it since this position was saved. Then this pass writes no file,
    // and goes on with the elements of its input.
    if (storage().exists(cache_.path)) {
      state_ = State::kPassing;
    } else {
      begin_writing();
    }
    if (state_ == State::kPassing) {
      SHOAL_TRY_VOID(load_input(now));
      index_ = index;
      return {};
    }
    SHOAL_TRY_VOID(load_input(beginning));
    for (Item item; index_ < index;) {
      SHOAL_TRY_VOID(check_stopping(context_));
      SHOAL_TRY(const bool more, input_->next(item));
      if (!more) return damaged_position();
      ++index_;
      write(item);
    }
    return {};
  }

  Result<void> load_input(std::string_view position) {
    StateReader reader(position);
    SHOAL_TRY_VOID(input_->load(reader));
    return reader.at_end() ? Result<void>() : damaged_position();
  }

  StageContext& context_;
  std::unique_ptr<Stage> input_;
  const FileCache& cache_;
  State state_ = State::kNew;
  int64_t index_ = 0;  ///< How many elements of this pass came from the input.
  std::unique_ptr<CacheFileReader> reader_;
  std::unique_ptr<UnfinishedCache> unfinished_;
  std::string beginning_;         ///< The input's position at the beginning of the current pass.
  std::optional<Error> unsaved_;  ///< Set if the input cannot save its position.
};

class FileCacheNode final : public Node {
 public:
  FileCacheNode(NodePtr input, FileCache cache) : Node({std::move(input)}), cache_(std::move(cache)) {}
  Result<std::unique_ptr<Stage>> make_stage(StageContext& context) const override {
    SHOAL_TRY(std::unique_ptr<Stage> stage, input().stage(context));
    return std::make_unique<FileCacheStage>(context, std::move(stage), cache_);
  }
  std::string_view kind() const override { return "cache"; }
  bool passes_elements_on() const override { return true; }
  std::optional<bool> reads_to_the_end() const override { return true; }
  /// The path of the file does not go into the key, since it does not change any element.
  RandomKey fold_parameters(RandomKey key) const override { return fold_in(key, "cache in a file"); }

 private:
  const FileCache cache_;
};

}  // namespace

NodePtr make_file_cache_node(NodePtr input, std::string path, CacheOptions options, uint64_t fingerprint) {
  return std::make_shared<FileCacheNode>(std::move(input), FileCache{std::move(path), options, fingerprint});
}

}  // namespace shoal::data
