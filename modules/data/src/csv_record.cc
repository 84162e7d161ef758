// SPDX-License-Identifier: Apache-2.0
#include "csv_record.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "csv_number.h"
#include "item.h"
#include "shoal/base/check.h"
#include "shoal/base/nearest_text.h"
#include "shoal/base/utf8.h"
#include "shoal/data/csv_reader.h"

namespace shoal::data {
namespace {

template <class T>
bool parse_into(std::string_view field, Tensor& tensor) {
  const auto number = field_number<T>(field);
  if (number) tensor.mutable_as<T>()[0] = *number;
  return number.has_value();
}

bool parse_field(std::string_view field, Tensor& tensor) {
  switch (tensor.dtype()) {
    case DType::kFloat32: return parse_into<float>(field, tensor);
    case DType::kInt64: return parse_into<int64_t>(field, tensor);
    case DType::kInt32: return parse_into<int32_t>(field, tensor);
    default: tensor.mutable_strings()[0].assign(field); return true;
  }
}

bool is_no_finite_number(const Tensor& tensor) {
  return tensor.dtype() == DType::kFloat32 && !std::isfinite(tensor.as<float>()[0]);
}

constexpr const char* kLabelHelp =
    "give the row a label, or take the row out; rows without one are read if missing_labels is set, for filter() to pass "
    "over";

Result<void> check_column(const CsvColumn& column) {
  const bool has_text = column.dtype == DType::kString || column.dtype == DType::kFloat32 ||
                        column.dtype == DType::kInt64 || column.dtype == DType::kInt32;
  if (!has_text) {
    return invalid_argument("csv: column " + column.name + " cannot be " + std::string(to_string(column.dtype)) +
                            "; choose string, float32, int64 or int32");
  }
  if (!column.missing) return {};
  Tensor probe(column.dtype, Shape{});
  if (parse_field(*column.missing, probe)) return {};
  return invalid_argument("csv: column " + column.name + ": its value for missing fields, \"" + *column.missing +
                          "\", is no " + std::string(to_string(column.dtype)));
}

std::vector<std::string> names_of(const std::vector<CsvColumn>& columns) {
  std::vector<std::string> names;
  for (const CsvColumn& column : columns) names.push_back(column.name);
  return names;
}

}  // namespace

Result<void> check_csv(const CsvOptions& options) {
  std::unordered_map<std::string_view, bool> repeated;  // Maps the name of each column to its CsvColumn::repeated.
  const NameSet labels = set_of(options.labels), unused = set_of(options.unused);
  size_t features = 0;
  for (const CsvColumn& column : options.columns) {
    const auto [other, fresh] = repeated.emplace(column.name, column.repeated);
    if (!fresh && !(column.repeated && other->second)) {
      return invalid_argument("csv: column " + column.name + " is named twice");
    }
    SHOAL_TRY_VOID(check_column(column));
    features += !column.repeated && !labels.contains(column.name) && !unused.contains(column.name);
  }
  for (const std::string& name : options.labels) {
    const auto at = repeated.find(name);
    if (at == repeated.end() || !at->second) continue;
    return invalid_argument("csv: column " + csv_field(name) +
                            ", a label, is in the header more than once; rename all but one there");
  }
  if (features == 0) return invalid_argument("csv: no column becomes a feature");
  for (const auto* chosen : {&options.labels, &options.unused}) {
    for (const std::string& name : *chosen) {
      if (!repeated.contains(name)) return no_such_column("csv", name, names_of(options.columns));
    }
  }
  return check_syntax(options);
}

Result<void> check_syntax(const CsvOptions& options) {
  if (options.header_lines < 0 || options.line_bytes_max < 1) {
    return invalid_argument("csv: header_lines must not be negative, line_bytes_max must be at least 1");
  }
  if (options.separator == '"' || options.separator == '\n' || options.separator == '\r') {
    return invalid_argument("csv: the separator cannot be a quote or a line end");
  }
  return {};
}

std::string missing_label(const std::string& column) {
  return "the label, column " + column + ", is missing; " + kLabelHelp;
}

std::string odd_line_hint(std::string_view record) {
  const std::string_view text = without_blanks_around(record);
  if (text.empty()) return "; the line has blanks alone: take it out";
  const bool remark = text.starts_with('#') || text.starts_with('%') || text.starts_with("//");
  return remark ? "; if the line is a remark, take it out" : "";
}

Result<void> check_used_names(const CsvOptions& options) {
  const NameSet unused = set_of(options.unused);
  for (size_t i = 0; i < options.columns.size(); ++i) {
    const CsvColumn& column = options.columns[i];
    if (column.repeated || unused.contains(column.name)) continue;
    SHOAL_TRY_VOID(
        check_utf8(column.name, "the name of column " + std::to_string(i + 1),
                   "make the file UTF-8, for example with iconv -f LATIN1 -t UTF-8, or, if nobody needs the column, "
                   "let it be one of `unused`"));
  }
  return {};
}

Error no_such_column(const std::string& who, const std::string& name, const std::vector<std::string>& names) {
  return invalid_argument(who + ": there is no column " + name + did_you_mean(name, names) +
                          "; there are: " + names_listed(names) + separator_hint(names));
}

std::string separator_hint(const std::vector<std::string>& names) {
  if (names.size() != 1) return "";
  for (const char separator : {';', '\t', '|'}) {
    if (names[0].find(separator) == std::string::npos) continue;
    return std::string("; is ") + (separator == '\t' ? "a tab" : std::string("\"") + separator + "\"") + " the separator?";
  }
  return "";
}

std::string csv_field(std::string_view text, char separator) {
  if (text.find_first_of(std::string("\"\r\n") + separator) == std::string_view::npos) return std::string(text);
  std::string field = "\"";
  for (const char c : text) field.append(c == '"' ? 2 : 1, c);
  return field + "\"";
}

std::string csv_record(const std::vector<std::string>& fields, char separator) {
  if (fields.size() == 1 && fields[0].empty()) return "\"\"";
  std::string record;
  for (size_t i = 0; i < fields.size(); ++i) {
    if (i > 0) record += separator;
    record += fields[i];
  }
  return record;
}

CsvParser::CsvParser(CsvOptions options) : options_(std::move(options)), splitter_(syntax_of(options_)) {
  const NameSet labels = set_of(options_.labels), unused = set_of(options_.unused);
  for (const CsvColumn& column : options_.columns) {
    Target target{.used = !column.repeated && !unused.contains(column.name), .label = labels.contains(column.name)};
    if (target.used) (target.label ? label_names_ : feature_names_).push_back(column.name);
    targets_.push_back(target);
  }
  // A TensorMap has its tensors in the order of their names. So the index of a name here is also that of its tensor.
  std::sort(feature_names_.begin(), feature_names_.end());
  std::sort(label_names_.begin(), label_names_.end());
  for (size_t i = 0; i < targets_.size(); ++i) {
    const auto& names = targets_[i].label ? label_names_ : feature_names_;
    targets_[i].index = size_t(std::ranges::lower_bound(names, options_.columns[i].name) - names.begin());
  }
  if (label_names_.size() == 1) label_names_[0].clear();
  // parse_plain() first reads a number and then expects a separator behind it. This fails if the separator is a character
  // that numbers contain. Such records are left to the splitter, which searches for separators first.
  constexpr std::string_view kOfNumbers = "+-.0123456789";
  const char lower = char(options_.separator | 0x20);
  may_be_plain_ = !options_.trim_blanks && !(lower >= 'a' && lower <= 'z') &&
                  kOfNumbers.find(options_.separator) == std::string_view::npos;
  set_layout(layout_left_to_right(options_.columns.size()));
}

void CsvParser::set_layout(CsvLayout layout) { layout_ = std::move(layout); }

Result<void> CsvParser::split(std::string_view record) {
  error_at_ = 0;
  if (auto split = splitter_.split(record); !split) {
    error_at_ = splitter_.error_at();
    return split;
  }
  const size_t found = splitter_.fields().size(), expected = layout_.size();
  if (found == expected) return {};
  return invalid_argument("the record has " + std::to_string(found) + (found == 1 ? " field" : " fields") + ", expected " +
                          std::to_string(expected) + odd_line_hint(record));
}

Result<void> CsvParser::store_missing(const CsvColumn& column, bool label, Tensor& tensor) {
  const bool text = column.dtype == DType::kString;
  if (column.missing) {
    SHOAL_CHECK(parse_field(*column.missing, tensor));  // check_csv() has checked that the text can be parsed.
  } else if (text) {
    tensor.mutable_strings()[0].clear();
  }
  if (label && !options_.missing_labels && (!column.missing || is_no_finite_number(tensor))) {
    return invalid_argument(missing_label(column.name));
  }
  if (column.missing || text) return {};
  return invalid_argument("the field of column " + column.name +
                          " is missing; write a value there, or, in a program, give the column one for missing fields "
                          "(CsvColumn::missing), which may be \"nan\" if the column is float32");
}

Result<void> CsvParser::store(const CsvColumn& column, bool label, std::string_view field, Tensor& tensor) {
  if (column.dtype != DType::kString) {
    field = number_text(field, options_.missing_text);
  } else if (field == options_.missing_text || (label && without_blanks_around(field).empty())) {
    field = {};
  }
  if (field.empty()) return store_missing(column, label, tensor);
  if (parse_field(field, tensor)) {
    if (!label || options_.missing_labels || !is_no_finite_number(tensor)) return {};
    return invalid_argument("the label, column " + column.name + ", is \"" + shown_text(field) +
                            "\", which is no finite number; " + kLabelHelp);
  }
  const std::string hint = field == column.name ? "; that is the column's name: if the line is a header, count it among "
                                                  "header_lines (--skip-lines), or take it out from between the rows"
                                                : number_hint(field, column.dtype);
  return invalid_argument("the field of column " + column.name + " is \"" + shown_text(field) + "\", expected " +
                          std::string(to_string(column.dtype)) + hint);
}

Result<std::vector<std::string>> fields_of(std::string_view record, const CsvOptions& options) {
  SHOAL_TRY_VOID(check_syntax(options));
  CsvSplitter splitter(syntax_of(options));
  SHOAL_TRY_VOID(splitter.split(record));
  return std::vector<std::string>(splitter.fields().begin(), splitter.fields().end());
}

Result<void> follow_header(const RecordReader& reader, std::string_view record, CsvParser& parser) {
  if (parser.options().by_position) return {};
  const auto header = fields_of(record, parser.options());
  if (!header && looks_like_remark(record)) return {};  // A comment is no header.
  if (!header) {
    return reader.damaged("the header: " + header.error().message() +
                          "; if the line is no header, by_position takes columns from left to right");
  }
  auto layout = layout_by_header(*header, parser.options());
  if (!layout) return invalid_argument(reader.damaged(layout.error().message()).message());
  parser.set_layout(std::move(*layout));
  return {};
}

Result<void> CsvParser::parse(std::string_view record, Element& element) {
  ready_names(element.features, feature_names_);
  ready_names(element.labels, label_names_);
  if (parse_plain(record, element)) return {};
  SHOAL_TRY_VOID(split(record));
  for (size_t i = 0; i < layout_.size(); ++i) {
    if (layout_[i] == kPassedOver) continue;
    const Target& target = targets_[layout_[i]];
    if (!target.used) continue;
    const CsvColumn& column = options_.columns[layout_[i]];
    SHOAL_TRY_VOID(store(column, target.label, splitter_.fields()[i], tensor_for(layout_[i], element)));
  }
  return {};
}

}  // namespace shoal::data
