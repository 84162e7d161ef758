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

/// InvalidArgument for invalid options: no columns, a name that occurs twice or is unknown, a type without a text form.
Result<void> check_csv(const CsvOptions& options);

/// InvalidArgument, naming the byte, if the name of a feature or label is no UTF-8: models store these names.
Result<void> check_used_names(const CsvOptions& options);

class CsvParser;
/// Tells `parser` the order of the columns. `record` is the header line of a file, which has the names of the columns;
/// `reader` has just read it. Errors name this line. They are those of layout_by_header(), and DataLoss for misplaced
/// quotes.
Result<void> follow_header(const RecordReader& reader, std::string_view record, CsvParser& parser);

/// Returns the fields of a record as text, however many there are. InvalidArgument for misplaced quotes.
Result<std::vector<std::string>> fields_of(std::string_view record, const CsvOptions& options);

/// Makes an InvalidArgument that lists the columns; `who` begins the sentence ("csv").
Error no_such_column(const std::string& who, const std::string& name, const std::vector<std::string>& names);

/// Checks the options that say how fields are separated. InvalidArgument if they contradict each other.
Result<void> check_syntax(const CsvOptions& options);

/// Returns the end of an error about a record with more or fewer fields than the table has columns: "; ..." if the
/// record looks like a comment or is blank, else nothing.
std::string odd_line_hint(std::string_view record);

/// Returns the error sentence about a missing label.
std::string missing_label(const std::string& column);

/// Makes elements of records: each field becomes a feature or a label, as its column says.
class CsvParser {
 public:
  explicit CsvParser(CsvOptions options);
  /// Sets the column of each field for the following records; before this call, fields are columns from left to right.
  void set_layout(CsvLayout layout);
  /// The options with which the parser was made.
  const CsvOptions& options() const { return options_; }
  /// Makes `element`. InvalidArgument with a sentence about a field that does not fit; the caller adds file and line.
  Result<void> parse(std::string_view record, Element& element);
  /// The place of parse()'s error in the record, in bytes; 0 unless the error is about a quote.
  size_t error_at() const { return error_at_; }
  /// The number of fields of the last record.
  size_t fields_found() const { return splitter_.fields().size(); }

 private:
  /// The tensor into which a column is written.
  struct Target {
    bool used = true;
    bool label = false;
    size_t index = 0;  ///< The tensor's index among the element's features or labels.
  };
  /// Reads a record of the most frequent kind: numbers in plain digits, texts without doubled quotes. The end of a
  /// number is found while the number is read, without a search for the separator first. False: the record is of
  /// another kind, and must be parsed by split(); some tensors may have been written by then.
  bool parse_plain(std::string_view record, Element& element);
  bool take_plain_field(size_t column, const char*& at, const char* end, bool quotes, Element& element);
  bool take_plain_text(const char*& at, const char* end, bool quotes, std::string_view& field) const;
  template <class T>
  bool take_plain_number(const char*& at, const char* end, Tensor& tensor) const;
  /// Returns the tensor of a column, ready to be written.
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
