// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Turns one CSV record into one element (RFC 4180, with a separator of choice).
#include <string>
#include <string_view>
#include <vector>

#include "csv_header.h"
#include "csv_syntax.h"
#include "record_reader.h"
#include "shoal/data/element.h"
#include "shoal/data/text_files.h"

namespace shoal::data {

/// InvalidArgument for options that cannot be: no columns, a name twice or unknown, a type that has no text.
Result<void> check_csv(const CsvOptions& options);

/// InvalidArgument, with the byte, if the name of a feature or label is no UTF-8: models keep such names.
Result<void> check_used_names(const CsvOptions& options);

class CsvParser;
/// Lets `parser` take the columns of records where the header line `record`, which `reader` gave last, says that they are.
/// Errors name the line; they are those of layout_by_header(), and DataLoss for quotes that cannot be.
Result<void> follow_header(const RecordReader& reader, std::string_view record, CsvParser& parser);

/// The fields of a record as text, however many there are. InvalidArgument for quotes that cannot be.
Result<std::vector<std::string>> fields_of(std::string_view record, const CsvOptions& options);

/// InvalidArgument that says what columns there are; `who` begins the sentence ("csv").
Error no_such_column(const std::string& who, const std::string& name, const std::vector<std::string>& names);

/// Checks the options that say how fields are separated. InvalidArgument if they contradict each other.
Result<void> check_syntax(const CsvOptions& options);

/// The end of an error about a record that has another number of fields than the table has columns: "; ..." if the record
/// looks like a remark or is blank, else nothing.
std::string odd_line_hint(std::string_view record);

/// The sentence about a label that is missing.
std::string missing_label(const std::string& column);

/// Makes elements of records: each field becomes a feature or a label, by the place of its column.
class CsvParser {
 public:
  explicit CsvParser(CsvOptions options);
  /// Which columns the fields of the records that follow belong to; until then, the columns are the fields from left to right.
  void set_layout(CsvLayout layout);
  /// The options that it was made of.
  const CsvOptions& options() const { return options_; }
  /// InvalidArgument with a sentence about the field that does not fit; the caller knows file and line.
  Result<void> parse(std::string_view record, Element& element);
  /// The place of parse()'s error in the record, in bytes; 0 unless the error is about a quote.
  size_t error_at() const { return error_at_; }
  /// The number of fields of the last record.
  size_t fields_found() const { return splitter_.fields().size(); }

 private:
  /// The tensor that a column is written to.
  struct Target {
    bool used = true;
    bool label = false;
    size_t index = 0;  ///< The tensor's index in its map.
  };
  /// Reads a record whose numbers are digits, and whose texts have no doubled quotes, as most do: where a number ends shows
  /// while it is read, so that nobody has to look for its separator first. False: the general way, by split(), decides what
  /// the record is; some tensors have been written by then.
  bool parse_plain(std::string_view record, Element& element);
  bool take_plain_field(size_t column, const char*& at, const char* end, bool quotes, Element& element);
  bool take_plain_text(const char*& at, const char* end, bool quotes, std::string_view& field) const;
  template <class T>
  bool take_plain_number(const char*& at, const char* end, Tensor& tensor) const;
  /// The tensor of a column, ready to be written.
  Tensor& tensor_for(size_t column, Element& element);
  Result<void> split(std::string_view record);
  Result<void> store(const CsvColumn& column, bool label, std::string_view field, Tensor& tensor);
  Result<void> store_missing(const CsvColumn& column, bool label, Tensor& tensor);

  const CsvOptions options_;
  CsvLayout layout_;
  std::vector<Target> targets_;
  std::vector<std::string> feature_names_, label_names_;
  CsvSplitter splitter_;
  size_t error_at_ = 0;
  bool may_be_plain_ = false;  // True if parse_plain() may be tried.
};

}  // namespace shoal::data
