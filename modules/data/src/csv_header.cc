// SPDX-License-Identifier: Apache-2.0
#include "csv_header.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "shoal/base/nearest_text.h"
#include "shoal/data/csv_reader.h"

namespace shoal::data {
namespace {

const std::string& name_in_file(const CsvColumn& column) { return column.header ? *column.header : column.name; }

std::vector<std::string> names_in_file(const std::vector<CsvColumn>& columns) {
  std::vector<std::string> names;
  names.reserve(columns.size());
  for (const CsvColumn& column : columns) names.push_back(name_in_file(column));
  return names;
}

/// Finds fields of a header line by their names.
class Places {
 public:
  explicit Places(const std::vector<std::string>& header) {
    for (size_t i = 0; i < header.size(); ++i) {
      const auto [at, fresh] = first_.emplace(header[i], i);
      if (!fresh) twice_.insert(header[i]);
    }
  }
  /// Returns the index of the first field that is called `name`; kPassedOver if no field is.
  size_t of(std::string_view name) const {
    const auto at = first_.find(name);
    return at == first_.end() ? kPassedOver : at->second;
  }
  bool has_twice(std::string_view name) const { return twice_.contains(name); }

 private:
  std::unordered_map<std::string_view, size_t> first_;  // Used for look-ups only, so its order does not matter.
  NameSet twice_;
};

std::string both(const std::vector<std::string>& header, const std::vector<CsvColumn>& columns) {
  return "; the columns are: " + names_listed(names_in_file(columns)) +
         "; and the header of this file is: " + names_listed(header);
}

constexpr const char* kByPosition = "by_position takes columns from left to right, whatever the header says";

Error twice(const std::string& name, const std::vector<std::string>& header, const std::vector<CsvColumn>& columns) {
  return invalid_argument("column " + csv_field(name) +
                          " is there twice, so that nobody can tell which of the two is meant; rename one of them" +
                          both(header, columns));
}

Error lacking(const std::vector<std::string>& missing, const std::vector<std::string>& header, const CsvOptions& options) {
  const std::string what = missing.size() == 1 ? "column " + csv_field(missing[0])
                                               : std::to_string(missing.size()) + " columns: " + names_listed(missing);
  return invalid_argument("the header lacks " + what + did_you_mean(missing[0], header) + both(header, options.columns));
}

Error other_names(const std::vector<std::string>& header, const CsvOptions& options) {
  return invalid_argument("the header has other names than the columns" + both(header, options.columns) +
                          "; name them alike in all files, or, if it is no header, say so: " + kByPosition);
}

}  // namespace

CsvLayout layout_left_to_right(size_t columns) {
  CsvLayout layout(columns);
  std::iota(layout.begin(), layout.end(), size_t(0));
  return layout;
}

Result<CsvLayout> layout_by_header(const std::vector<std::string>& header, const CsvOptions& options) {
  const std::vector<CsvColumn>& columns = options.columns;
  if (options.by_position || std::ranges::equal(header, columns, {}, {}, name_in_file)) {
    return layout_left_to_right(columns.size());
  }
  const Places places(header);
  const NameSet unused = set_of(options.unused);
  CsvLayout layout(header.size(), kPassedOver);
  std::vector<std::string> missing;
  bool has_any = false;
  for (size_t i = 0; i < columns.size(); ++i) {
    const std::string& name = name_in_file(columns[i]);
    const size_t place = places.of(name);
    has_any |= place != kPassedOver;
    if (columns[i].repeated || unused.contains(columns[i].name)) continue;
    if (place == kPassedOver) {
      missing.push_back(name);
    } else if (places.has_twice(name) || layout[place] != kPassedOver) {
      return twice(name, header, columns);
    } else {
      layout[place] = i;
    }
  }
  if (has_any) return missing.empty() ? Result<CsvLayout>(std::move(layout)) : lacking(missing, header, options);
  const bool remark = header.size() != columns.size() || looks_like_remark(header[0]);
  return remark ? Result<CsvLayout>(layout_left_to_right(columns.size())) : other_names(header, options);
}

Result<void> check_given_names(const std::vector<std::string>& names, const std::vector<std::string>& header) {
  const Places places(header);
  for (size_t i = 0; i < names.size(); ++i) {
    const size_t place = places.of(names[i]);
    if (place == kPassedOver || names[i] == header[i]) continue;
    return invalid_argument("the names that are given are: " + names_listed(names) + "; and the header of this file is: " +
                            names_listed(header) + "; so column " + csv_field(names[i]) +
                            " is another one there; give the names in the order of the file, or leave them to its header");
  }
  return {};
}

bool looks_like_remark(std::string_view first) {
  return first.starts_with('#') || first.starts_with('%') || first.starts_with('|') || first.starts_with("//");
}

std::string names_listed(const std::vector<std::string>& names) {
  constexpr size_t kShownMax = 40;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kShownMax); ++i) text += (i == 0 ? "" : ", ") + csv_field(names[i]);
  return names.size() > kShownMax ? text + ", and " + std::to_string(names.size() - kShownMax) + " more" : text;
}

}  // namespace shoal::data
