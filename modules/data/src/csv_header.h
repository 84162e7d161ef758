// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Matches the header of a CSV file with the columns that a program expects in it.
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "shoal/base/result.h"
#include "shoal/data/text_files.h"

namespace shoal::data {

/// A set of names, for lookups only. Tables have up to 100,000 columns, so searching a list would be slow.
using NameSet = std::unordered_set<std::string_view>;
inline NameSet set_of(const std::vector<std::string>& names) { return {names.begin(), names.end()}; }

/// For each field of a record, the number of its column among CsvOptions::columns, or kPassedOver.
using CsvLayout = std::vector<size_t>;
constexpr size_t kPassedOver = size_t(-1);

/// Returns the layout of a file whose fields are the columns, from left to right.
CsvLayout layout_left_to_right(size_t columns);

/// Returns the layout of a file whose last header line is `header`. Columns are found by their names
/// (CsvColumn::header), in any order. Fields that belong to no column, or to an unused one, are passed over. If the
/// line has none of the names, and looks like a comment or has another number of fields than there are columns, it is
/// not taken for a header: the fields of the file are then the columns, from left to right. InvalidArgument, with both
/// lists of names, if the header lacks a column, has its name twice, or has other names.
Result<CsvLayout> layout_by_header(const std::vector<std::string>& header, const CsvOptions& options);

/// Compares `names`, which the caller gave for the columns of a file from left to right, with `header`, the fields of
/// its last header line. InvalidArgument, with both lists, if the header has one of these names over another column.
Result<void> check_given_names(const std::vector<std::string>& names, const std::vector<std::string>& header);

/// Whether a line whose first field is `first` is more likely a remark (a comment in the file) than a header.
bool looks_like_remark(std::string_view first);

/// Returns the names as "a, b, c", quoted where needed. Of more than 40 names, returns the first 40 and how many follow.
std::string names_listed(const std::vector<std::string>& names);

}  // namespace shoal::data
