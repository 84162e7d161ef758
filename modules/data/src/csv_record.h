#pragma once
/// One CSV record to one element (RFC 4180, with a separator of choice).
#include <string>
#include <string_view>
#include <vector>

#include "csv_syntax.h"
#include "shoal/data/element.h"
#include "shoal/data/text_files.h"

namespace shoal::data {

/// InvalidArgument for options that cannot be: no columns, a name twice or unknown, a type that has no text.
Result<void> check_csv(const CsvOptions& options);

/// InvalidArgument that says what columns there are; `who` begins the sentence ("csv").
Error no_such_column(const std::string& who, const std::string& name, const std::vector<std::string>& names);

/// Of the options, those that say how fields are told from each other: InvalidArgument if they cannot be.
Result<void> check_syntax(const CsvOptions& options);

/// The end of an error about a record that has another number of fields than the table has columns: "; ..." if the record looks like
/// a remark or is blank, else nothing.
std::string odd_line_hint(std::string_view record);

/// The sentence about a label that is missing.
std::string missing_label(const std::string& column);

/// Makes elements of records: each field becomes a feature or a label, by the place of its column.
class CsvParser {
 public:
  explicit CsvParser(CsvOptions options);
  /// InvalidArgument with a sentence about the field that does not fit; the caller knows file and line.
  Result<void> parse(std::string_view record, Element& element);
  /// Where in the record the error of parse() lies, in bytes; 0 unless it is one of a quote.
  size_t error_at() const { return error_at_; }
  /// How many fields the last record has.
  size_t fields_found() const { return splitter_.fields().size(); }

 private:
  /// What becomes of a column.
  struct Target {
    bool used = true;
    bool label = false;
    size_t index = 0;  ///< Its place in its map.
  };
  Result<void> split(std::string_view record);
  Result<void> store(const CsvColumn& column, bool label, std::string_view field, Tensor& tensor);
  Result<void> store_missing(const CsvColumn& column, bool label, Tensor& tensor);

  const CsvOptions options_;
  std::vector<Target> targets_;
  std::vector<std::string> feature_names_, label_names_;
  CsvSplitter splitter_;
  size_t error_at_ = 0;
};

}  // namespace shoal::data
