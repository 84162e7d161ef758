#include "shoal/data/csv_columns.h"

#include <algorithm>

#include "csv_record.h"
#include "shoal/base/environment.h"
#include "shoal/base/number_text.h"
#include "shoal/data/csv_reader.h"

namespace shoal::data {
namespace {

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
                                                 CsvColumnsOptions found) {
  std::vector<std::string> names = std::move(found.names);
  if (names.empty() && options.header_lines < 1) {
    return invalid_argument("csv_columns: " + path +
                            ": give the names of the columns, or header_lines if the file has them");
  }
  const std::unique_ptr<Storage> own = found.env ? nullptr : make_file_storage();
  Storage& storage = found.env ? found.env->storage() : *own;
  CsvOptions text = options;
  text.labels.clear();
  if (names.empty()) --text.header_lines;
  SHOAL_TRY(CsvReader reader, CsvReader::open(storage, path, text));
  if (names.empty()) {
    SHOAL_TRY(names, reader.header());
    if (names.empty()) return reader.damaged("the file ends in its header");
  }
  std::vector<CsvColumn> known;
  for (const std::string& name : names) known.push_back({.name = name});
  for (const std::string& name : found.numbers) {
    const auto column = std::ranges::find(known, name, &CsvColumn::name);
    if (column == known.end()) return no_such_column("csv_columns: " + path, name, names);
    *column = {.name = name, .dtype = DType::kFloat32, .missing = "nan"};
  }
  SHOAL_TRY_VOID(reader.expect(known));
  std::vector<Seen> seen(names.size());
  int64_t records = 0;
  for (Element element;; ++records) {
    SHOAL_TRY(const bool more, reader.next(element));
    if (!more) break;
    for (size_t i = 0; i < names.size(); ++i) {
      if (known[i].dtype == DType::kString) seen[i].add(element.features.find(names[i])->strings()[0]);
    }
  }
  if (records == 0) return reader.damaged("the file has no records");
  std::vector<CsvColumn> columns;
  for (size_t i = 0; i < names.size(); ++i) {
    columns.push_back(known[i].dtype == DType::kString ? seen[i].column(names[i]) : known[i]);
  }
  return columns;
}

std::vector<CsvColumn> csv_columns(const std::string& path, const CsvOptions& options, CsvColumnsOptions found) {
  return value_or_raise(infer_csv_columns(path, options, std::move(found)));
}

}  // namespace shoal::data
