#pragma once
/// What columns a CSV file has, found out by looking at all of it.
#include <string>
#include <vector>

#include "shoal/base/result.h"
#include "shoal/data/text_files.h"

namespace shoal::data {

/// The columns of a file, for CsvOptions::columns: int64 where every field is a whole number; float32 where every field is
/// a number or missing, which is NaN then; else text.
///
///   shoal::data::CsvOptions table{.labels = {"price"}, .header_lines = 1};
///   table.columns = shoal::data::csv_columns("houses.csv", table);
///
/// `options` say how to read it; their columns are not looked at. `names` are those of all columns, left to right; if none
/// are given, the fields of the last header line are. InvalidArgument without names and header lines, DataLoss for a file
/// without records, or one that is damaged, NotFound for one that is missing.
Result<std::vector<CsvColumn>> infer_csv_columns(const std::string& path, const CsvOptions& options,
                                                 std::vector<std::string> names = {});
/// The same, raising its errors: for programs.
std::vector<CsvColumn> csv_columns(const std::string& path, const CsvOptions& options, std::vector<std::string> names = {});

}  // namespace shoal::data
