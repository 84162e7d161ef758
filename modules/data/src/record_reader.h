#pragma once
/// Text files as records: lines, or CSV records, which may contain line ends inside quotes.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "byte_source.h"

namespace shoal::data {

struct RecordOptions {
  int64_t record_bytes_max = 0;
  bool quotes = false;  ///< True: a line end inside double quotes belongs to the record.
};

/// Reads the records of one file, from its start or from a place told by an earlier reader. Lines end with LF or CR LF;
/// the last one may lack it.
class RecordReader {
 public:
  /// Where a record starts.
  struct Place {
    uint64_t offset = 0;  ///< Bytes from the start (of the text, where the file is compressed).
    uint64_t line = 1;    ///< Counted from 1.
  };

  static Result<RecordReader> open(Storage& storage, std::string path, RecordOptions options);
  /// Of what `source` gives; `path` is its name in errors.
  RecordReader(std::unique_ptr<ByteSource> source, std::string path, RecordOptions options);
  /// Moves there from the start of the file; FailedPrecondition if the file ends before.
  Result<void> go_to(Place place);

  /// The next record, without its line end, valid until the next call. False at the end of the file. DataLoss, naming the
  /// file, line and offset, if it is too long or ends inside quotes. FailedPrecondition for a file that is no text (an
  /// archive, another encoding), told at its first record.
  Result<bool> next(std::string_view& record);
  /// The place of the record that next() gave last; place() is that of what comes next.
  Place last() const { return last_; }
  Place place() const { return place_; }
  const std::string& path() const { return path_; }
  /// An error such as "file.csv, line 12 (offset 1450): sentence".
  Error damaged(const std::string& sentence) const;

 private:
  Result<bool> find(std::string_view& record);
  Error too_long(bool quoted) const;
  Result<bool> refill();

  std::unique_ptr<ByteSource> source_;
  std::string path_;
  RecordOptions options_;
  std::vector<char> buffer_;
  size_t begin_ = 0, end_ = 0;  // Where what is read and not handed out lies in buffer_.
  Place place_, last_;
};

}  // namespace shoal::data
