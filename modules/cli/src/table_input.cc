// SPDX-License-Identifier: Apache-2.0
#include "table_input.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "shoal/base/nearest_text.h"
#include "shoal/base/number_text.h"

namespace shoal::cli {
namespace {

/// Only for look-ups: the order of its elements depends on hashing, so nothing iterates over it.
using NameSet = std::unordered_set<std::string_view>;

/// The table's columns by name.
class Header {
 public:
  explicit Header(const std::vector<std::string>& names) : names_(names) {
    for (size_t i = 0; i < names.size(); ++i) {
      if (!places_.emplace(names[i], i).second) doubled_.insert(names[i]);
    }
  }
  const std::vector<std::string>& names() const { return names_; }
  bool contains(std::string_view name) const { return places_.contains(name); }
  bool has_twice(std::string_view name) const { return doubled_.contains(name); }
  size_t place_of(std::string_view name) const { return places_.find(name)->second; }

 private:
  const std::vector<std::string>& names_;
  std::unordered_map<std::string_view, size_t> places_;
  NameSet doubled_;
};

NameSet set_of(const std::vector<std::string>& names) { return {names.begin(), names.end()}; }

std::string listed(const std::vector<std::string>& names) {
  constexpr size_t kShownMax = 40;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kShownMax); ++i) text += (i == 0 ? "" : ", ") + data::csv_field(names[i]);
  return names.size() > kShownMax ? text + ", and " + std::to_string(names.size() - kShownMax) + " more" : text;
}

/// Returns a guess at why the header has unexpected names, for the end of an error message.
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

/// The number of values per row. InvalidArgument if the first axis is not the axis of the rows, or rows vary in size.
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

/// Returns how the CSV column `name` is read, which has values of the input `tensor`. A missing float becomes NaN, for
/// which the model may have a default.
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

Error twice(const std::string& name, const std::string& who) {
  return invalid_argument(
      who + ": the table has column " + data::csv_field(name) +
      " more than once, so it is not clear which one is meant; rename all but one, or name all with --columns");
}

/// True if the table has a column of the kind "name/3" that is for `tensor`, of `count` values per row.
bool names_values_of(const Header& header, const ExportedTensor& tensor, int64_t count) {
  return std::ranges::any_of(header.names(), [&](std::string_view name) {
    if (!name.starts_with(tensor.name + "/")) return false;
    const auto index = number_from<int64_t>(name.substr(tensor.name.size() + 1));
    return index && *index >= 0 && *index < count;
  });
}

/// Returns the names of the columns that hold an input's values, in order. `only`: true if the export has no
/// other input.
Result<std::vector<std::string>> columns_of(const ExportedTensor& tensor, bool only, const Header& header,
                                            const TableChoice& choice) {
  SHOAL_TRY(const int64_t count, values_per_row(tensor));
  const auto expected = [&](int64_t i) { return count == 1 ? tensor.name : tensor.name + "/" + std::to_string(i); };
  std::vector<std::string> columns;
  // Stops at the first name that the table lacks: `count` comes from the export and may be arbitrarily large.
  while (int64_t(columns.size()) < count && header.contains(expected(int64_t(columns.size())))) {
    columns.push_back(expected(int64_t(columns.size())));
  }
  if (int64_t(columns.size()) == count) return columns;
  if (!only || (count == 1 && !tensor.name.empty()) || names_values_of(header, tensor, count)) {
    const std::string missing = expected(int64_t(columns.size()));
    return invalid_argument(called(tensor) + " needs a column " + data::csv_field(missing) +
                            did_you_mean(missing, header.names()) + "; the table has: " + listed(header.names()) +
                            header_hint(header.names()));
  }
  columns.clear();
  const NameSet unused = set_of(choice.unused), copied = set_of(choice.copied);
  for (const std::string& name : header.names()) {
    if (!unused.contains(name) && !copied.contains(name)) columns.push_back(name);
  }
  if (int64_t(columns.size()) == count) return columns;
  return invalid_argument(called(tensor) + " takes " + std::to_string(count) + " columns, and these are " +
                          std::to_string(columns.size()) + ": " + listed(columns) +
                          "; name those that are not for it with --unused or --copy");
}

Result<void> check_choice(const TableChoice& choice, const Header& header) {
  for (const auto* chosen : {&choice.unused, &choice.copied}) {
    for (const std::string& name : *chosen) {
      if (!header.contains(name)) {
        return invalid_argument("the table has no column " + name + ", but: " + listed(header.names()) +
                                header_hint(header.names()));
      }
    }
  }
  for (const std::string& name : choice.copied) {
    if (header.has_twice(name)) return twice(name, "--copy");
  }
  return {};
}

}  // namespace

Result<TableInput> TableInput::match(const std::vector<ExportedTensor>& inputs, const std::vector<std::string>& names,
                                     const TableChoice& choice) {
  const Header header(names);
  SHOAL_TRY_VOID(check_choice(choice, header));
  const NameSet unused = set_of(choice.unused);
  TableInput table;
  for (const std::string& name : names) table.columns_.push_back({.name = name, .repeated = header.has_twice(name)});
  std::vector<const ExportedTensor*> reader(names.size());  // For each column: the model's input that uses it.
  for (const ExportedTensor& tensor : inputs) {
    Input input{tensor, {}};
    SHOAL_TRY(input.columns, columns_of(tensor, inputs.size() == 1, header, choice));
    for (const std::string& name : input.columns) {
      if (unused.contains(name)) {
        return invalid_argument("--unused " + name + ": the model needs that column, for " + called(tensor));
      }
      if (header.has_twice(name)) return twice(name, called(tensor));
      const size_t place = header.place_of(name);
      if (reader[place] && reader[place]->dtype != tensor.dtype) {
        return invalid_argument("column " + data::csv_field(name) + " would be " + called(*reader[place]) + ", which is " +
                                std::string(to_string(reader[place]->dtype)) + ", and part of " + called(tensor) +
                                ", which is " + std::string(to_string(tensor.dtype)) +
                                "; a table cannot say both, so predict in a program, by ExportedModel::predict()");
      }
      reader[place] = &tensor;
      SHOAL_TRY(table.columns_[place], column_of(tensor, name));
    }
    table.inputs_.push_back(std::move(input));
  }
  for (size_t i = 0; i < names.size(); ++i) {
    if (!reader[i]) table.unused_.push_back(names[i]);
  }
  for (const std::string& name : choice.copied) {
    const size_t place = header.place_of(name);
    table.copied_.push_back({place, reader[place] && reader[place]->dtype != DType::kString});
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
