// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Text files as records: lines, or CSV records, which may contain line ends inside quotes.
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "byte_source.h"
#include "csv_syntax.h"
#include "shoal/base/stop.h"

namespace shoal::data {

struct RecordOptions {
  int64_t record_bytes_max = 0;
  /// Set for a table: a line end inside of a quoted field belongs to the record. None: each line is a record.
  std::optional<CsvSyntax> table = std::nullopt;
  /// Asked before each piece of the file is read (see open_bytes()). Not heeded by a reader that is made of a source.
  StopToken stop = {};
};

/// Reads the records of one file, from its start or from a place told by an earlier reader. Lines end with LF or CR LF;
/// the last one may lack it. A byte order mark at the start of the file is passed over.
class RecordReader {
 public:
  /// The place where a record starts.
  struct Place {
    uint64_t offset = 0;  ///< Bytes from the start (of the text, where the file is compressed).
    uint64_t line = 1;    ///< Counted from 1.
  };

  static Result<RecordReader> open(Storage& storage, std::string path, RecordOptions options);
  /// Reads what `source` returns; errors call it `path`.
  RecordReader(std::unique_ptr<ByteSource> source, std::string path, RecordOptions options);
  /// Moves there from the start of the file; FailedPrecondition if the file ends before.
  Result<void> go_to(Place place);

  /// The next record, without its line end, valid until the next call. False at the end of the file. DataLoss, naming the
  /// file, line and offset, if it is too long or ends inside quotes. FailedPrecondition for a file that is no text (an
  /// archive, another encoding), told at its first record. Cancelled when RecordOptions::stop is.
  Result<bool> next(std::string_view& record);
  /// The place of the record that next() returned last; place() is the place of the next record.
  Place last() const { return last_; }
  Place place() const { return place_; }
  const std::string& path() const { return path_; }
  /// An error such as "file.csv, line 12 (offset 1450): sentence", about the record that next() gave last.
  Error damaged(const std::string& sentence) const { return damaged(sentence, last_); }
  /// A sentence about what of the file was not read, once next() has said that it ends; for warnings.
  std::optional<std::string> remark() const;
  /// The place of that record as text: "file.csv, line 12 (offset 1450)".
  std::string place_text() const { return text_of(last_); }
  /// The same error about byte `at` of that record, which may lie in a later line; call it before the next next().
  Error damaged_at(const std::string& sentence, std::string_view record, size_t at) const;

 private:
  /// The state of find() while it looks for the end of a record.
  struct Walk {
    size_t size = 0;     ///< The bytes looked at so far.
    uint64_t lines = 0;  ///< Line ends in them.
    CsvState state = CsvState::kFieldBegin;
    Place open = {};  ///< The place where the last quoted field began.
  };
  Result<bool> find(std::string_view& record);
  bool find_end(Walk& walk) const;
  void walk_through(std::string_view line, Walk& walk) const;
  void step(Walk& walk, char c) const;
  void hand_out(const Walk& walk, bool ended, std::string_view& record);
  Result<void> pass_over_mark();
  std::string text_of(Place place) const;
  Error damaged(const std::string& sentence, Place place) const;
  Error too_long(const Walk& walk) const;
  Result<bool> refill();

  std::unique_ptr<ByteSource> source_;
  std::string path_;
  RecordOptions options_;
  std::vector<char> buffer_;
  size_t begin_ = 0, end_ = 0;  // The part of buffer_ that was read and not handed out.
  Place place_, last_;
};

}  // namespace shoal::data
