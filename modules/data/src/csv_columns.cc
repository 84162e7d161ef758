#include "shoal/data/csv_columns.h"

#include "csv_record.h"
#include "record_reader.h"
#include "shoal/base/number_text.h"
#include "shoal/base/storage.h"

namespace shoal::data {
namespace {

size_t fields_in(std::string_view record, char separator) {
  size_t fields = 1;
  bool quoted = false;
  for (char c : record) {
    if (c == '"') quoted = !quoted;  // A doubled quote does that twice.
    if (c == separator && !quoted) ++fields;
  }
  return fields;
}

CsvOptions all_text(CsvOptions options, const std::vector<std::string>& names) {
  options.columns.clear();
  for (const std::string& name : names) options.columns.push_back({.name = name});
  options.labels.clear();
  options.unused.clear();
  return options;
}

Result<std::vector<std::string>> fields_of(std::string_view record, const CsvOptions& options) {
  std::vector<std::string> numbered;
  for (size_t i = 0; i < fields_in(record, options.separator); ++i) numbered.push_back(std::to_string(i));
  CsvParser parser(all_text(options, numbered));
  Element element;
  SHOAL_TRY_VOID(parser.parse(record, element));
  std::vector<std::string> fields;
  for (const std::string& number : numbered) fields.push_back(element.features.find(number)->strings()[0]);
  return fields;
}

/// What has been seen of one column.
struct Seen {
  bool whole = true;   ///< Whether all fields are whole numbers.
  bool number = true;  ///< Whether all fields that are there are numbers.
  bool missing = false;

  void add(const std::string& field) {
    if (field.empty()) {
      missing = true;
      return;
    }
    whole = whole && number_from<int64_t>(field).has_value();
    number = number && number_from<float>(field).has_value();
  }
  CsvColumn column(const std::string& name) const {
    if (whole && !missing) return {.name = name, .dtype = DType::kInt64};
    if (number) return {.name = name, .dtype = DType::kFloat32, .missing = "nan"};
    return {.name = name};
  }
};

}  // namespace

Result<std::vector<CsvColumn>> infer_csv_columns(const std::string& path, const CsvOptions& options,
                                                 std::vector<std::string> names) {
  if (names.empty() && options.header_lines < 1) {
    return invalid_argument("csv_columns: " + path +
                            ": give the names of the columns, or header_lines if the file has them");
  }
  const auto storage = make_file_storage();
  SHOAL_TRY(RecordReader reader,
            RecordReader::open(*storage, path, {.record_bytes_max = options.line_bytes_max, .quotes = true}));
  std::string_view record;
  for (int64_t line = 0; line < options.header_lines; ++line) {
    SHOAL_TRY(const bool more, reader.next(record));
    if (!more) return reader.damaged("the file ends in its header");
    if (!names.empty() || line + 1 < options.header_lines) continue;
    auto fields = fields_of(record, options);
    if (!fields) return reader.damaged(fields.error().message());
    names = std::move(*fields);
  }
  const CsvOptions text = all_text(options, names);
  SHOAL_TRY_VOID(check_csv(text));
  CsvParser parser(text);
  std::vector<Seen> seen(names.size());
  int64_t records = 0;
  for (Element element;;) {
    SHOAL_TRY(const bool more, reader.next(record));
    if (!more) break;
    if (record.empty()) continue;
    if (auto parsed = parser.parse(record, element); !parsed) return reader.damaged(parsed.error().message());
    for (size_t i = 0; i < names.size(); ++i) {
      seen[i].add(element.features.find(names[i])->strings()[0]);
    }
    ++records;
  }
  if (records == 0) return reader.damaged("the file has no records");
  std::vector<CsvColumn> columns;
  for (size_t i = 0; i < names.size(); ++i) columns.push_back(seen[i].column(names[i]));
  return columns;
}

std::vector<CsvColumn> csv_columns(const std::string& path, const CsvOptions& options, std::vector<std::string> names) {
  return value_or_raise(infer_csv_columns(path, options, std::move(names)));
}

}  // namespace shoal::data
