#include "shoal/data/csv_columns.h"

#include <algorithm>
#include <cmath>

#include "column_guess.h"
#include "csv_number.h"
#include "csv_record.h"
#include "shoal/base/environment.h"
#include "shoal/base/production.h"
#include "shoal/data/csv_reader.h"

namespace shoal::data {
namespace {

/// Whether `tensor`, a field of a label column, is none.
bool is_missing(const Tensor& tensor, const std::string& missing_text) {
  if (tensor.dtype() == DType::kFloat32) return std::isnan(tensor.as<float>()[0]);
  return number_text(tensor.strings()[0], missing_text).empty();
}

/// The columns of these names as the file is looked through: text, unless the program says that they are numbers.
Result<std::vector<CsvColumn>> columns_to_look_at(const std::string& path, const std::vector<std::string>& names,
                                                  const CsvColumnsOptions& found) {
  std::vector<CsvColumn> known;
  for (const std::string& name : names) known.push_back({.name = name});
  for (const auto* chosen : {&found.texts, &found.numbers}) {
    for (const std::string& name : *chosen) {
      const auto column = std::ranges::find(known, name, &CsvColumn::name);
      if (column == known.end()) return no_such_column("csv_columns: " + path, name, names);
      if (chosen == &found.texts) continue;
      if (std::ranges::find(found.texts, name) != found.texts.end()) {
        return invalid_argument("csv_columns: " + path + ": column " + name +
                                " is in `numbers` and in `texts`; choose one");
      }
      *column = {.name = name, .dtype = DType::kFloat32, .missing = "nan"};
    }
  }
  return known;
}

}  // namespace

Result<std::vector<CsvColumn>> infer_csv_columns(const std::string& path, const CsvOptions& options,
                                                 CsvColumnsOptions found) {
  std::vector<std::string> names = std::move(found.names);
  if (names.empty() && options.header_lines < 1) {
    return invalid_argument("csv_columns: " + path +
                            ": give the names of the columns, or header_lines if the file has them");
  }
  const std::shared_ptr<Environment> env = found.env ? found.env : make_production_environment({});
  CsvOptions text = options;
  text.labels.clear();
  if (names.empty()) --text.header_lines;
  SHOAL_TRY(CsvReader reader, CsvReader::open(env->storage(), path, text));
  if (names.empty()) {
    SHOAL_TRY(names, reader.header());
    if (names.empty()) return reader.damaged("the file ends in its header");
  }
  SHOAL_TRY(std::vector<CsvColumn> columns, columns_to_look_at(path, names, found));
  SHOAL_TRY_VOID(reader.expect(columns));
  const auto is_one_of = [](const std::vector<std::string>& all, const std::string& name) {
    return std::ranges::find(all, name) != all.end();
  };
  std::vector<size_t> open, labels;  // The columns whose type nobody has said; those that have to have a value.
  for (size_t i = 0; i < names.size(); ++i) {
    if (columns[i].dtype == DType::kString && !is_one_of(found.texts, names[i])) open.push_back(i);
    if (is_one_of(options.labels, names[i]) && !options.missing_labels) labels.push_back(i);
  }
  std::vector<ColumnGuess> guesses(names.size());
  int64_t records = 0;
  for (Element element;; ++records) {
    SHOAL_TRY(const bool more, reader.next(element));
    if (!more) break;
    for (const size_t i : open) guesses[i].add(element.features.find(names[i])->strings()[0], options.missing_text, reader);
    for (const size_t i : labels) {
      if (is_missing(*element.features.find(names[i]), options.missing_text))
        return reader.damaged(missing_label(names[i]));
    }
  }
  if (records == 0) return reader.damaged("the file has no records");
  for (const size_t i : open) {
    guesses[i].settle(columns[i]);
    if (!is_one_of(options.unused, names[i])) guesses[i].tell(names[i], env->log());
  }
  return columns;
}

std::vector<CsvColumn> csv_columns(const std::string& path, const CsvOptions& options, CsvColumnsOptions found) {
  return value_or_raise(infer_csv_columns(path, options, std::move(found)));
}

}  // namespace shoal::data
