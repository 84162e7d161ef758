// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A source of the records of files, one file after another. A format reads one record; RecordStage does all else.
#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "byte_source.h"
#include "nodes.h"
#include "shoal/base/storage.h"

namespace shoal::data {

/// A file of records, read from its start through a buffer, so that many small reads need only one system call.
class RecordFile {
 public:
  RecordFile(std::unique_ptr<ByteSource> source, std::string path)
      : source_(std::move(source)), path_(std::move(path)), buffer_(kBufferBytes) {}
  uint64_t offset() const { return offset_; }
  /// An upper bound of the number of bytes that are still to be read from the file.
  uint64_t left_max() const {
    const uint64_t left = source_->left_max();
    return left > UINT64_MAX - buffered() ? UINT64_MAX : left + buffered();
  }
  bool knows_its_end() const { return source_->knows_its_end(); }
  const std::string& path() const { return path_; }
  /// A sentence for a warning: which parts of the file were not read. Call it after the last record.
  std::optional<std::string> remark() const {
    const std::optional<std::string> end = passed_over_remark(*source_, path_);
    return end ? end : passed_over_;
  }
  /// The reader of the format notes in a sentence what it passes over. remark() returns the first such sentence.
  void note_passed_over(const std::string& sentence) {
    if (!passed_over_) passed_over_ = path_ + ": " + sentence;
  }

  /// Fills `out`; returns false if the file ends before the first byte of it. DataLoss if the file ends within `out`.
  Result<bool> read(std::span<char> out, std::string_view what) {
    SHOAL_TRY(const size_t count, read_up_to(std::as_writable_bytes(out)));
    if (count == out.size()) return true;
    if (count == 0) return false;
    return cut(what);
  }
  /// Passes over `bytes` bytes of a record; false if the file has ended before them. DataLoss if it ends within them.
  Result<bool> skip(uint64_t bytes, std::string_view what) {
    SHOAL_TRY(const uint64_t count, skip_up_to(bytes));
    if (count == bytes) return true;
    if (count == 0) return false;
    return cut(what);
  }
  Result<void> go_to(uint64_t offset) {
    if (offset < offset_) return damaged_position();
    const uint64_t wanted = offset - offset_;
    SHOAL_TRY(const uint64_t skipped, skip_up_to(wanted));
    return skipped == wanted ? Result<void>() : damaged_position();
  }
  /// read_up_to() and skip_up_to() return how many bytes they have read or skipped: fewer than asked for if the file ends
  /// before. A format can then return an error of its own.
  Result<size_t> read_up_to(std::span<std::byte> out) {
    SHOAL_TRY(const size_t count, read_some(out));
    offset_ += count;
    return count;
  }
  Result<uint64_t> skip_up_to(uint64_t bytes) {
    uint64_t skipped = std::min<uint64_t>(bytes, buffered());
    buffer_begin_ += size_t(skipped);
    if (skipped < bytes) {
      SHOAL_TRY(const uint64_t more, source_->skip(bytes - skipped));
      skipped += more;
    }
    offset_ += skipped;
    return skipped;
  }

  /// Counts the record that begins here, for errors.
  void begin_record() { begin_ = offset_, ++number_; }
  void set_number(uint64_t number) { number_ = number; }
  uint64_t number() const { return number_; }
  Error damaged(const std::string& what) const {
    return data_loss(path_ + ", record " + std::to_string(number_) + " (offset " + std::to_string(begin_) + "): " + what);
  }
  Error cut(std::string_view what) const { return damaged("the file ends within " + std::string(what)); }

 private:
  static constexpr size_t kBufferBytes = 16 << 10;

  size_t buffered() const { return buffer_end_ - buffer_begin_; }
  Result<size_t> read_some(std::span<std::byte> out) {
    size_t done = std::min(out.size(), buffered());
    if (done > 0) std::memcpy(out.data(), buffer_.data() + buffer_begin_, done);
    buffer_begin_ += done;
    if (done == out.size()) return done;
    if (out.size() - done >= kBufferBytes) {
      SHOAL_TRY(const size_t direct, source_->read(out.subspan(done)));
      return done + direct;
    }
    SHOAL_TRY(buffer_end_, source_->read(buffer_));
    buffer_begin_ = std::min(out.size() - done, buffer_end_);
    if (buffer_begin_ > 0) std::memcpy(out.data() + done, buffer_.data(), buffer_begin_);
    return done + buffer_begin_;
  }

  std::unique_ptr<ByteSource> source_;
  std::string path_;
  std::optional<std::string> passed_over_;
  std::vector<std::byte> buffer_;
  size_t buffer_begin_ = 0, buffer_end_ = 0;  // The part of the buffer that was read and not yet returned.
  uint64_t offset_ = 0, begin_ = 0;
  uint64_t number_ = 0;  // Counted from 1.
};

/// True for a Format (see RecordStage) that reads beyond the record that it returns. Such a Format has three more members.
/// A saved position then contains next_offset() and what Format::save() writes. To resume from this position, the stage
/// calls `load` before `resume`.
///
///   uint64_t next_offset() const;  // Where the next record begins.
///   void save(StateWriter& out) const;
///   Result<void> load(StateReader& in);
template <class Format>
concept ReadsAhead = requires(const Format& format) {
  format.next_offset();
};

/// The stage of a source of files. A saved position of the dataset contains the file, the offset in it, and how many
/// records come before this offset.
///
/// A Format is a copyable value with the members below. After it has opened a file, the stage calls `begin`, and then
/// `next` or `skip` for each record. Both call RecordFile::begin_record() first, and return false at the file's end. To
/// resume, the stage calls `resume` in place of `begin`: `resume` moves the file to `offset`, where a record begins.
///
///   Result<void> begin(RecordFile& file);
///   Result<void> resume(RecordFile& file, uint64_t offset);
///   Result<bool> next(RecordFile& file, Element& element);
///   Result<bool> skip(RecordFile& file);
///   RandomKey fold_parameters(RandomKey key) const;  // Hashes what changes contents or positions (stage.h).
template <class Format>
class RecordStage final : public Stage {
 public:
  RecordStage(const std::vector<std::string>& paths, Format format, StageContext& context)
      : paths_(paths), format_(std::move(format)), context_(context), first_file_(context.add_files(paths)) {}

  Result<bool> next(Item& item) override {
    Element& element = item.own();
    SHOAL_TRY(const bool more, next_of_some_file([&] { return format_.next(*file_, element); }));
    if (more) item.set_record(StageContext::numbered_record(first_file_ + at_, file_->number()));
    return more;
  }
  Result<int64_t> skip(int64_t count) override {
    for (int64_t skipped = 0; skipped < count; ++skipped) {
      SHOAL_TRY(const bool more, next_of_some_file([&] { return format_.skip(*file_); }));
      if (!more) return skipped;
    }
    return count;
  }
  Result<void> restart(uint64_t) override {
    file_.reset();
    at_ = 0;
    return {};
  }
  Result<void> save(StateWriter& out) const override {
    out.number(at_);
    out.flag(file_.has_value());
    out.number(file_ ? next_offset() : 0);
    out.number(file_ ? file_->number() : 0);
    if constexpr (ReadsAhead<Format>) {
      if (file_) format_.save(out);
    }
    return {};
  }
  Result<void> load(StateReader& in) override {
    file_.reset();
    SHOAL_TRY(const int64_t at, in.count(int64_t(paths_.size())));
    SHOAL_TRY(const bool inside, in.flag());
    SHOAL_TRY(const uint64_t offset, in.number());
    SHOAL_TRY(const uint64_t number, in.number());
    at_ = size_t(at);
    if (!inside) return {};
    if (at_ >= paths_.size()) return damaged_position();
    if constexpr (ReadsAhead<Format>) SHOAL_TRY_VOID(format_.load(in));
    SHOAL_TRY_VOID(open());
    SHOAL_TRY_VOID(format_.resume(*file_, offset));
    file_->set_number(number);
    return {};
  }

 private:
  uint64_t next_offset() const {
    if constexpr (ReadsAhead<Format>)
      return format_.next_offset();
    else
      return file_->offset();
  }
  template <class Read>
  Result<bool> next_of_some_file(const Read& read) {
    for (; at_ < paths_.size(); ++at_, file_.reset()) {
      SHOAL_TRY_VOID(check_stopping(context_));
      if (!file_) {
        SHOAL_TRY_VOID(open());
        SHOAL_TRY_VOID(format_.begin(*file_));
      }
      SHOAL_TRY(const bool more, read());
      if (more) return true;
      if (const auto remark = file_->remark()) context_.env.log().warning_once(*remark, *remark);
    }
    return false;
  }
  Result<void> open() {
    SHOAL_TRY(auto source, open_bytes(context_.env.storage(), paths_[at_], context_.stop));
    file_.emplace(std::move(source), paths_[at_]);
    return {};
  }

  const std::vector<std::string>& paths_;
  Format format_;
  StageContext& context_;
  const uint64_t first_file_;  // The number of paths_[0] among all files of the iterator.
  size_t at_ = 0;
  std::optional<RecordFile> file_;  // Reads the file paths_[at_]. None: that file is not open yet.
};

/// Describes a source of records, and makes its RecordStage. `kind` is the method of Dataset, a literal.
template <class Format>
class RecordNode final : public Node {
 public:
  RecordNode(std::vector<std::string> paths, Format format, std::string_view kind)
      : paths_(std::move(paths)), format_(std::move(format)), kind_(kind) {}
  Result<std::unique_ptr<Stage>> make_stage(StageContext& context) const override {
    return std::make_unique<RecordStage<Format>>(paths_, format_, context);
  }
  std::string_view kind() const override { return kind_; }
  RandomKey fold_parameters(RandomKey key) const override {
    key = fold_in(key, kind_);
    for (const std::string& path : paths_) key = fold_in(key, path);
    return format_.fold_parameters(fold_in(key, paths_.size()));
  }
  std::optional<bool> is_finite() const override { return true; }
  std::optional<int64_t> cardinality() const override { return std::nullopt; }

 private:
  const std::vector<std::string> paths_;
  const Format format_;
  const std::string_view kind_;
};

}  // namespace shoal::data
