// SPDX-License-Identifier: Apache-2.0
#include "shoal/data/csv_columns.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "column_guess.h"
#include "csv_header.h"
#include "csv_number.h"
#include "csv_record.h"
#include "shoal/base/environment.h"
#include "shoal/base/production.h"
#include "shoal/data/csv_reader.h"

namespace shoal::data {
namespace {

/// True if `tensor`, a field of a label column, is missing.
bool is_missing(const Tensor& tensor, const std::string& missing_text) {
  if (tensor.dtype() == DType::kFloat32) return std::isnan(tensor.as<float>()[0]);
  return number_text(tensor.strings()[0], missing_text).empty();
}

/// Returns all columns as text, under the names in the file's header.
std::vector<CsvColumn> named_by_header(const std::vector<std::string>& header) {
  std::unordered_map<std::string_view, size_t> times;  // Used for look-ups only, so its order does not matter.
  for (const std::string& name : header) ++times[name];
  std::vector<CsvColumn> columns;
  for (const std::string& name : header) columns.push_back({.name = name, .repeated = times[name] > 1});
  return columns;
}

/// Returns all columns as text, named by the program. If the file has a header, a name there that differs from the
/// program's is stored as CsvColumn::header.
Result<std::vector<CsvColumn>> named_by_program(const std::vector<std::string>& names, CsvReader& reader) {
  SHOAL_TRY(const std::vector<std::string> header, reader.name_columns(names));
  std::vector<CsvColumn> columns;
  for (size_t i = 0; i < names.size(); ++i) {
    columns.push_back({.name = names[i]});
    if (!header.empty() && header[i] != names[i]) columns.back().header = header[i];
  }
  return columns;
}

Result<std::vector<CsvColumn>> name_columns(CsvReader& reader, const std::vector<std::string>& names) {
  if (!names.empty()) return named_by_program(names, reader);
  SHOAL_TRY(const std::vector<std::string> header, reader.header());
  if (header.empty()) return reader.damaged("the file ends in its header");
  return named_by_header(header);
}

/// Finds columns by their names.
class ByName {
 public:
  ByName(const std::string& path, std::vector<CsvColumn>& columns) : path_(path), columns_(columns) {
    for (size_t i = 0; i < columns.size(); ++i) places_.emplace(columns[i].name, i);
  }
  /// Returns the column called `name`, of which there must be only one. `option` is the option in which the program gave
  /// that name; errors mention it.
  Result<CsvColumn*> find(const std::string& name, const char* option) const {
    const auto at = places_.find(name);
    if (at == places_.end()) {
      std::vector<std::string> names;
      for (const CsvColumn& column : columns_) names.push_back(column.name);
      return no_such_column("csv_columns: " + path_, name, names);
    }
    if (!columns_[at->second].repeated) return &columns_[at->second];
    return invalid_argument("csv_columns: " + path_ + ": column " + csv_field(name) + ", one of the " + option +
                            ", is in the header more than once; rename all but one there");
  }

 private:
  const std::string& path_;
  std::vector<CsvColumn>& columns_;
  std::unordered_map<std::string_view, size_t> places_;  // Used for look-ups only, so its order does not matter.
};

/// Makes the columns in CsvColumnsOptions::numbers float32.
Result<void> set_numbers(const std::string& path, const CsvColumnsOptions& found, std::vector<CsvColumn>& columns) {
  const ByName by_name(path, columns);
  const NameSet texts = set_of(found.texts);
  for (const std::string& name : found.texts) SHOAL_TRY_VOID(by_name.find(name, "texts"));
  for (const std::string& name : found.numbers) {
    SHOAL_TRY(CsvColumn* const column, by_name.find(name, "numbers"));
    if (texts.contains(name)) {
      return invalid_argument("csv_columns: " + path + ": column " + name + " is in `numbers` and in `texts`; choose one");
    }
    column->dtype = DType::kFloat32;
    column->missing = "nan";
  }
  return {};
}

/// The state of one column while csv_columns() reads the file.
struct Look {
  size_t column;
  bool open;   ///< True if the caller has not chosen the type.
  bool label;  ///< True for a label that must have a value in every record.
};

/// Returns the Looks (states of columns) in the order of an element's features, which is the order of their names.
std::vector<Look> looks_at(const std::vector<CsvColumn>& columns, const CsvOptions& options,
                           const CsvColumnsOptions& found) {
  const NameSet texts = set_of(found.texts), labels = set_of(options.labels);
  std::vector<Look> looks;
  for (size_t i = 0; i < columns.size(); ++i) {
    const CsvColumn& column = columns[i];
    if (column.repeated) continue;
    looks.push_back({.column = i,
                     .open = column.dtype == DType::kString && !texts.contains(column.name),
                     .label = labels.contains(column.name) && !options.missing_labels});
  }
  std::ranges::sort(looks, {}, [&columns](const Look& look) -> const std::string& { return columns[look.column].name; });
  return looks;
}

/// Returns the columns with which csv_columns() reads the file, and sets them as the columns that `reader` expects.
Result<std::vector<CsvColumn>> begin_columns(const std::string& path, const CsvOptions& options,
                                             const CsvColumnsOptions& found, CsvReader& reader) {
  SHOAL_TRY(std::vector<CsvColumn> columns, name_columns(reader, found.names));
  CsvOptions named = options;
  named.columns = columns;
  if (auto checked = check_used_names(named); !checked) {
    return invalid_argument(reader.damaged(checked.error().message()).message());
  }
  SHOAL_TRY_VOID(set_numbers(path, found, columns));
  SHOAL_TRY_VOID(reader.expect(columns));
  return columns;
}

}  // namespace

Result<std::vector<CsvColumn>> infer_csv_columns(const std::string& path, const CsvOptions& options,
                                                 CsvColumnsOptions found) {
  if (found.names.empty() && options.header_lines < 1) {
    return invalid_argument("csv_columns: " + path +
                            ": give the names of the columns, or header_lines if the file has them");
  }
  const std::shared_ptr<Environment> env = found.env ? found.env : make_production_environment({});
  CsvOptions text = options;
  text.labels.clear();
  if (found.names.empty()) --text.header_lines;
  SHOAL_TRY(CsvReader reader, CsvReader::open(env->storage(), path, text));
  SHOAL_TRY(std::vector<CsvColumn> columns, begin_columns(path, options, found, reader));
  const std::vector<Look> looks = looks_at(columns, options, found);
  std::vector<ColumnGuess> guesses(columns.size());
  const StopToken stop = env->interrupted();
  int64_t records = 0;
  for (Element element;; ++records) {
    if (stop.stop_requested()) return cancelled();
    SHOAL_TRY(const bool more, reader.next(element));
    if (!more) break;
    auto look = looks.begin();
    for (const auto& [name, field] : element.features) {
      if (look->open) guesses[look->column].add(field.strings()[0], options.missing_text, reader);
      if (look->label && is_missing(field, options.missing_text)) return reader.damaged(missing_label(name));
      ++look;
    }
  }
  if (const auto remark = reader.remark()) env->log().warning_once(*remark, *remark);
  if (records == 0) return reader.damaged("the file has no records");
  const NameSet unused = set_of(options.unused);
  for (const Look& look : looks) {
    if (!look.open) continue;
    CsvColumn& column = columns[look.column];
    guesses[look.column].settle(column);
    if (!unused.contains(column.name)) guesses[look.column].tell(column.name, env->log());
  }
  return columns;
}

std::vector<CsvColumn> csv_columns(const std::string& path, const CsvOptions& options, CsvColumnsOptions found) {
  return value_or_raise(infer_csv_columns(path, options, std::move(found)));
}

}  // namespace shoal::data
