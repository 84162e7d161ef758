// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The code that the sources for text files share. A source reads one file after another. Its records are lines, CSV
/// records or lines of JSON.
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nodes.h"
#include "record_reader.h"

namespace shoal::data {

/// The files to read, and the options for reading them.
struct TextFiles {
  std::vector<std::string> paths;
  RecordOptions records;
  int64_t header_lines;
};

/// Reads the records one after another, and lets `Parser` turn each into an element. A saved position contains a file, an
/// offset in it, and a hash of the text before the offset (RecordReader::hash_before()). To resume, the stage reads this
/// file again from its start up to the offset. If the text there is another one, the position fits no more, and load()
/// fails with FailedPrecondition. A Parser has these members:
///
///   static bool is_passed_over(std::string_view record);  // Such a record is no element.
///   // Called for each file that has header lines, with the last of them.
///   Result<void> follow(const RecordReader& reader, std::string_view header);
///   Result<void> parse(std::string_view record, Element& element);
///   size_t error_at() const;  // Where in the record the error of parse() lies, in bytes.
template <class Parser>
class TextStage final : public Stage {
 public:
  TextStage(const TextFiles& files, Parser parser, StageContext& context)
      : files_(files), parser_(std::move(parser)), context_(context), first_file_(context.add_files(files.paths)) {}

  Result<bool> next(Item& item) override {
    std::string_view record;
    SHOAL_TRY(const bool more, next_record(record));
    if (!more) return false;
    Result<void> parsed = parser_.parse(record, item.own());
    if (!parsed) return reader_->damaged_at(parsed.error().message(), record, parser_.error_at());
    item.set_record(StageContext::record_at(first_file_ + file_, reader_->last().line));
    return true;
  }
  Result<int64_t> skip(int64_t count) override {
    std::string_view record;
    for (int64_t skipped = 0; skipped < count; ++skipped) {
      SHOAL_TRY(const bool more, next_record(record));
      if (!more) return skipped;
    }
    return count;
  }
  Result<void> restart(uint64_t) override {
    reader_.reset();
    file_ = 0;
    return {};
  }
  Result<void> save(StateWriter& out) const override {
    out.number(file_);
    out.number(uint64_t(reader_ ? Where::kInsideWithHash : Where::kBeforeFile));
    const RecordReader::Place place = reader_ ? reader_->place() : RecordReader::Place{};
    out.number(place.offset);
    out.number(place.line);
    if (reader_) out.number(reader_->hash_before());
    return {};
  }
  Result<void> load(StateReader& in) override {
    reader_.reset();
    SHOAL_TRY(const int64_t file, in.count(int64_t(files_.paths.size())));
    SHOAL_TRY(const int64_t where, in.count(int64_t(Where::kInsideWithHash)));
    RecordReader::Place place;
    SHOAL_TRY(place.offset, in.number());
    SHOAL_TRY(place.line, in.number());
    std::optional<uint64_t> text_hash;
    if (Where(where) == Where::kInsideWithHash) {
      SHOAL_TRY(text_hash, in.number());
    }
    file_ = size_t(file);
    if (Where(where) == Where::kBeforeFile) return {};
    if (file_ >= files_.paths.size()) return damaged_position();
    SHOAL_TRY_VOID(open());
    return reader_->go_to(place, text_hash);
  }

 private:
  /// Where a saved position lies. The numbers are those of the saved bytes.
  enum class Where : uint8_t {
    kBeforeFile = 0,
    kInside = 1,          ///< Inside of the file, without a hash: in positions of versions before 2026-12-01.
    kInsideWithHash = 2,  ///< The hash follows.
  };

  Result<bool> next_record(std::string_view& record) {
    for (; file_ < files_.paths.size(); ++file_, reader_.reset()) {
      if (!reader_) SHOAL_TRY_VOID(open());
      for (;;) {
        SHOAL_TRY_VOID(check_stopping(context_));
        SHOAL_TRY(const bool more, reader_->next(record));
        if (!more) {
          if (const auto remark = reader_->remark()) context_.env.log().warning_once(*remark, *remark);
          break;
        }
        if (!Parser::is_passed_over(record)) return true;
      }
    }
    return false;
  }
  Result<void> open() {
    RecordOptions options = files_.records;
    options.stop = context_.stop;
    SHOAL_TRY(reader_, RecordReader::open(context_.env.storage(), files_.paths[file_], options));
    std::string_view header;
    bool more = false;
    for (int64_t i = 0; i < files_.header_lines; ++i) {
      SHOAL_TRY(more, reader_->next(header));
    }
    return more ? parser_.follow(*reader_, header) : Result<void>();
  }

  const TextFiles& files_;
  Parser parser_;
  StageContext& context_;
  const uint64_t first_file_;  // The number of files_.paths[0] among all files of the iterator.
  size_t file_ = 0;
  std::optional<RecordReader> reader_;  // Reads the current file. None: that file is not open yet.
};

inline RandomKey fold_files(RandomKey key, const TextFiles& files) {
  for (const std::string& path : files.paths) key = fold_in(key, path);
  return fold_in(fold_in(key, files.paths.size()), uint64_t(files.header_lines));
}

class TextNode : public Node {
 public:
  explicit TextNode(TextFiles files) : files_(std::move(files)) {}
  std::optional<bool> is_finite() const override { return true; }
  std::optional<int64_t> cardinality() const override { return std::nullopt; }

 protected:
  const TextFiles files_;
};

}  // namespace shoal::data
