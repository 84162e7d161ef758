#pragma once
/// One CSV record to one element (RFC 4180, with a separator of choice).
#include <string>
#include <string_view>
#include <vector>

#include "shoal/data/element.h"
#include "shoal/data/text_files.h"

namespace shoal::data {

/// InvalidArgument for options that cannot be: no columns, a name twice or unknown, a type that has no text.
Result<void> check_csv(const CsvOptions& options);

/// InvalidArgument that says what columns there are; `who` begins the sentence ("csv").
Error no_such_column(const std::string& who, const std::string& name, const std::vector<std::string>& names);

/// Fields, split: `fields` views `record` or, where quotes were doubled, `unquoted`. Both are reused.
class CsvParser {
 public:
  explicit CsvParser(CsvOptions options);
  /// InvalidArgument with a sentence about the field that does not fit; the caller knows file and line.
  Result<void> parse(std::string_view record, Element& element);

 private:
  /// What becomes of a column.
  struct Target {
    bool used = true;
    bool label = false;
    size_t index = 0;  ///< Its place in its map.
  };
  Result<void> split(std::string_view record);
  Result<void> store(const CsvColumn& column, std::string_view field, Tensor& tensor);
  bool is_missing(std::string_view field) const { return field.empty() || field == options_.missing_text; }

  const CsvOptions options_;
  std::vector<Target> targets_;
  std::vector<std::string> feature_names_, label_names_;
  std::vector<std::string_view> fields_;
  std::vector<std::string> unquoted_;
};

}  // namespace shoal::data
