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
  /// A stop request ends the reading: open_bytes() checks this token before it reads more bytes of the file. Only for
  /// RecordReader::open(); a reader whose constructor gets a ByteSource ignores the token.
  StopToken stop = {};
};

/// Reads the records of one file, from its start or from a place that an earlier reader saved. Lines end with LF or CR LF;
/// the last line may lack its end. A byte order mark at the start of the file is passed over.
class RecordReader {
 public:
  /// The place where a record starts.
  struct Place {
    uint64_t offset = 0;  ///< Bytes from the start of the text (uncompressed).
    uint64_t line = 1;    ///< Counted from 1.
  };

  static Result<RecordReader> open(Storage& storage, std::string path, RecordOptions options);
  /// Reads the bytes that `source` returns. Errors call the file `path`.
  RecordReader(std::unique_ptr<ByteSource> source, std::string path, RecordOptions options);
  /// Moves from the start of the file to `place`, which was the place() of an earlier reader. `text_hash` is what its
  /// hash_before() returned; none in positions of versions before 2026-12-01. FailedPrecondition if the file has changed
  /// since, so far as that can be seen: if it ends before `place`, if the text before `place` has another hash, or if no
  /// line ends there, so that `place` is inside of a record.
  Result<void> go_to(Place place, std::optional<uint64_t> text_hash);
  /// A hash of the text before place(): of its last 240 bytes, or of all of it if it is shorter. A row that was added or
  /// removed before place() moves other bytes there, and so changes the hash. An edit farther back that keeps the length of
  /// the text does not, and the same records follow after it. The hash takes less than 0.1 us, so that a position can be
  /// saved after each record; a hash of all the text would make reading slower.
  uint32_t hash_before() const;

  /// Returns the next record, without its line end; it is valid until the next call. False at the end of the file.
  /// DataLoss, naming file, line and offset, if it is too long or ends inside quotes. FailedPrecondition at the first
  /// record of a file that is no text (an archive, another encoding). Cancelled when RecordOptions::stop stops.
  Result<bool> next(std::string_view& record);
  /// The place of the record that next() returned last; place() is the place of the next record.
  Place last() const { return last_; }
  Place place() const { return place_; }
  const std::string& path() const { return path_; }
  /// Makes an error about the record that next() gave last, such as "file.csv, line 12 (offset 1450): sentence".
  Error damaged(const std::string& sentence) const { return damaged(sentence, last_); }
  /// A sentence for a warning: which bytes of the file were not read. Call it after next() has returned false.
  std::optional<std::string> remark() const;
  /// The place of the last record as text: "file.csv, line 12 (offset 1450)".
  std::string place_text() const { return text_of(last_); }
  /// Like damaged(), but the error names the line of byte `at` of the last record, since a record may span several lines.
  /// Call it before the next call of next().
  Error damaged_at(const std::string& sentence, std::string_view record, size_t at) const;

 private:
  /// The state of find() while it looks for the end of a record.
  struct Walk {
    size_t size = 0;     ///< How many bytes of the record were looked at so far.
    uint64_t lines = 0;  ///< How many line ends are among those `size` bytes.
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
  Error changed(Place place, const std::string& how) const;
  std::string_view text_before() const;
  Error too_long(const Walk& walk) const;
  Result<bool> refill();

  std::unique_ptr<ByteSource> source_;
  std::string path_;
  RecordOptions options_;
  std::vector<char> buffer_;
  // The part of buffer_ that was read and not yet returned. text_before() lies before it.
  size_t begin_ = 0, end_ = 0;
  Place place_, last_;
};

}  // namespace shoal::data
