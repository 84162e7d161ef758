#include "table_input.h"

#include <algorithm>
#include <cstring>

#include "shoal/base/nearest_text.h"
#include "shoal/base/number_text.h"

namespace shoal::cli {
namespace {

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string listed(const std::vector<std::string>& names) {
  constexpr size_t kShownMax = 40;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kShownMax); ++i) text += (i == 0 ? "" : ", ") + data::csv_field(names[i]);
  return names.size() > kShownMax ? text + ", and " + std::to_string(names.size() - kShownMax) + " more" : text;
}

/// What a header often is that has other names than it should.
std::string header_hint(const std::vector<std::string>& names) {
  const bool has_numbers = std::any_of(names.begin(), names.end(),
                                       [](const std::string& name) { return number_from<double>(name).has_value(); });
  if (has_numbers) return "; if that is a row, and no header, --columns names the columns";
  if (!names.empty() && (names[0].starts_with('#') || names[0].starts_with('%') || names[0].starts_with("//"))) {
    return "; if that is a remark, --skip-lines 1 passes over it";
  }
  const std::string hint = data::separator_hint(names);
  return hint.empty() ? hint : hint + " (--separator)";
}

std::string called(const ExportedTensor& tensor) {
  return tensor.name.empty() ? "the input" : "input \"" + tensor.name + "\"";
}

/// Values per row. InvalidArgument if rows are not what the first axis counts.
Result<int64_t> values_per_row(const ExportedTensor& tensor) {
  const bool by_row = !tensor.shape.empty() && tensor.shape[0] < 0;
  int64_t count = 1;
  for (size_t i = 1; by_row && i < tensor.shape.size(); ++i) {
    if (tensor.shape[i] < 0)
      return invalid_argument(called(tensor) + " varies in size from row to row; a table has no such column");
    count *= tensor.shape[i];
  }
  if (!by_row || count == 0) return invalid_argument(called(tensor) + " has no values for each row; predict reads rows");
  return count;
}

/// What its columns are read as; missing numbers are NaN, which feature columns may have a default for.
Result<data::CsvColumn> column_of(const ExportedTensor& tensor, const std::string& name) {
  switch (tensor.dtype) {
    case DType::kString: return data::CsvColumn{.name = name};
    case DType::kFloat32: return data::CsvColumn{.name = name, .dtype = DType::kFloat32, .missing = "nan"};
    case DType::kInt64:
    case DType::kInt32: return data::CsvColumn{.name = name, .dtype = tensor.dtype};
    case DType::kUInt8:
    case DType::kBool: return data::CsvColumn{.name = name, .dtype = DType::kInt32};
    case DType::kBFloat16:
    case DType::kFloat16: break;
  }
  return invalid_argument(called(tensor) + " is " + std::string(to_string(tensor.dtype)) + ", which no column is read as");
}

int32_t largest(DType dtype) { return dtype == DType::kBool ? 1 : UINT8_MAX; }
bool is_byte(DType dtype) { return dtype == DType::kBool || dtype == DType::kUInt8; }

void put(const Tensor& value, Tensor& into, size_t at) {
  if (into.dtype() == DType::kString) {
    into.mutable_strings()[at] = value.strings()[0];
  } else if (is_byte(into.dtype())) {
    into.mutable_view().data[at] = std::byte(value.as<int32_t>()[0]);
  } else {
    const size_t size = size_of(into.dtype());
    std::memcpy(into.mutable_view().data + at * size, value.view().data, size);
  }
}

/// The columns of an input's values, in order. `only`: the export has no other input.
Result<std::vector<std::string>> columns_of(const ExportedTensor& tensor, bool only, const std::vector<std::string>& names,
                                            const TableChoice& choice) {
  SHOAL_TRY(const int64_t count, values_per_row(tensor));
  // One after the other, as far as the table has them: an export's sizes may be anything.
  const auto expected = [&](int64_t i) { return count == 1 ? tensor.name : tensor.name + "/" + std::to_string(i); };
  std::vector<std::string> columns;
  while (int64_t(columns.size()) < count && contains(names, expected(int64_t(columns.size())))) {
    columns.push_back(expected(int64_t(columns.size())));
  }
  if (int64_t(columns.size()) == count) return columns;
  if (!only || (count == 1 && !tensor.name.empty())) {
    return invalid_argument(called(tensor) + " needs a column " + expected(int64_t(columns.size())) +
                            did_you_mean(expected(int64_t(columns.size())), names) + "; the table has: " + listed(names) +
                            header_hint(names));
  }
  columns.clear();
  for (const std::string& name : names) {
    if (!contains(choice.unused, name) && !contains(choice.copied, name)) columns.push_back(name);
  }
  if (int64_t(columns.size()) == count) return columns;
  return invalid_argument(called(tensor) + " takes " + std::to_string(count) + " columns, and these are " +
                          std::to_string(columns.size()) + ": " + listed(columns) +
                          "; name those that are not for it with --unused or --copy");
}

}  // namespace

Result<TableInput> TableInput::match(const std::vector<ExportedTensor>& inputs, const std::vector<std::string>& names,
                                     const TableChoice& choice) {
  for (const auto* chosen : {&choice.unused, &choice.copied}) {
    for (const std::string& name : *chosen) {
      if (!contains(names, name)) {
        return invalid_argument("the table has no column " + name + ", but: " + listed(names) + header_hint(names));
      }
    }
  }
  TableInput table;
  std::vector<std::string> taken;
  for (const std::string& name : names) table.columns_.push_back({.name = name});
  for (const ExportedTensor& tensor : inputs) {
    Input input{tensor, {}};
    SHOAL_TRY(input.columns, columns_of(tensor, inputs.size() == 1, names, choice));
    for (const std::string& name : input.columns) {
      if (contains(choice.unused, name)) {
        return invalid_argument("--unused " + name + ": the model needs that column, for " + called(tensor));
      }
      const auto at = std::find(names.begin(), names.end(), name) - names.begin();
      SHOAL_TRY(table.columns_[size_t(at)], column_of(tensor, name));
      taken.push_back(name);
    }
    table.inputs_.push_back(std::move(input));
  }
  std::sort(taken.begin(), taken.end());
  for (const std::string& name : names) {
    const bool needed = std::binary_search(taken.begin(), taken.end(), name) || contains(choice.copied, name);
    if (!needed) table.unused_.push_back(name);
  }
  return table;
}

Result<void> TableInput::check(const data::Element& row) const {
  for (const Input& input : inputs_) {
    if (!is_byte(input.tensor.dtype)) continue;
    for (const std::string& name : input.columns) {
      const int32_t value = row.features.find(name)->as<int32_t>()[0];
      if (value >= 0 && value <= largest(input.tensor.dtype)) continue;
      return invalid_argument("the field of column " + name + " is " + std::to_string(value) + ", expected " +
                              std::string(to_string(input.tensor.dtype)) + ", which is 0 to " +
                              std::to_string(largest(input.tensor.dtype)));
    }
  }
  return {};
}

data::TensorMap TableInput::features(std::span<const data::Element> rows) const {
  data::TensorMap features;
  for (const Input& input : inputs_) {
    std::vector<int64_t> sizes = input.tensor.shape;
    sizes[0] = int64_t(rows.size());
    Tensor tensor(input.tensor.dtype, Shape(sizes));
    size_t at = 0;
    for (const data::Element& row : rows) {
      for (const std::string& name : input.columns) put(*row.features.find(name), tensor, at++);
    }
    features.set(input.tensor.name, std::move(tensor));
  }
  return features;
}

}  // namespace shoal::cli
