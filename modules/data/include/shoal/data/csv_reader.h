// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Reads a CSV text record by record, without a Dataset: for tools, and for text that is in no file.
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/hidden.h"
#include "shoal/base/std_function.h"
#include "shoal/base/storage.h"
#include "shoal/data/element.h"
#include "shoal/data/text_files.h"

namespace shoal::data {

/// Writes the bytes that are available into its argument, waiting for at least one. Returns how many it wrote; 0: the end.
using ReadBytes = std::function<Result<size_t>(std::span<std::byte>)>;

/// Reads records as Dataset::csv() does. One thread at a time.
///
///   shoal::data::CsvReader reader(read, "standard input", options);
///   const auto names = reader.header();     // If the text has a header.
///   reader.expect(columns, unused);
///   while (reader.next(element)) ...        // The checks for errors are left out here.
class CsvReader {
 public:
  /// Opens a file, plain or compressed (gzip, zstd, lz4). Errors are those of Storage::open(). The reader's first call
  /// reads the header lines (CsvOptions::header_lines); if that call is next(), the last header line names the columns,
  /// as CsvOptions says. Without columns in the options, call expect() before next().
  static Result<CsvReader> open(Storage& storage, const std::string& path, CsvOptions options);
  /// Reads the uncompressed text that `read` returns. Errors call the text `name`.
  CsvReader(ReadBytes read, std::string name, CsvOptions options);
  CsvReader(CsvReader&&) noexcept;
  CsvReader& operator=(CsvReader&&) noexcept;
  ~CsvReader();

  /// Gives the columns the names `names` from left to right, whatever the header lines say. Call it before the first
  /// record. If the last header line is a header with as many names, returns the names in it, else none. InvalidArgument,
  /// with both lists of names, if one of `names` stands at another position in that header.
  Result<std::vector<std::string>> name_columns(const std::vector<std::string>& names);
  /// Returns the fields of the next record as text, however many there are. An empty line is a record of one empty field.
  /// Returns no fields at the end of the text.
  Result<std::vector<std::string>> fields();
  /// Returns the fields of the next record, which names the columns. DataLoss if that record is blank, since the names then
  /// come after it. When a later record has more or fewer fields, the error of next() also quotes the header.
  Result<std::vector<std::string>> header();
  /// Sets the columns of next(); before this call they are those of the options. InvalidArgument as in Dataset::csv().
  Result<void> expect(std::vector<CsvColumn> columns, std::vector<std::string> unused = {});
  /// Reads the next record, passing over empty lines; false at the end. DataLoss, naming text and line, for a bad record.
  Result<bool> next(Element& element);
  /// Returns all fields of the record that next() gave last, from left to right, as text. Call it before the next record is
  /// read.
  std::vector<std::string> last_fields() const;
  /// Makes an error about the record that next() or fields() gave last: "people.csv, line 12 (offset 1450): sentence".
  Error damaged(const std::string& sentence) const;
  /// If bytes of the file were left unread, returns a sentence for a warning. Call it after next() has returned false.
  std::optional<std::string> remark() const;
  /// The place of the record that next() returned last: "people.csv, line 12 (offset 1450)".
  std::string place() const;

 private:
  struct State;
  explicit CsvReader(Hidden<State> state);
  Hidden<State> state_;
};

/// Returns a question to append to an error message if a header has only one name, and this name contains another usual
/// separator. For a name with a semicolon: `; is ";" the separator?`. Else returns "".
std::string separator_hint(const std::vector<std::string>& names);
/// Returns `text` as one field of a record, in quotes where it needs them (RFC 4180, 2.6 and 2.7).
std::string csv_field(std::string_view text, char separator = ',');
/// Makes one record of fields that csv_field() made, without a line end. A single empty field is quoted, because a reader
/// passes over empty lines.
std::string csv_record(const std::vector<std::string>& fields, char separator = ',');

}  // namespace shoal::data
