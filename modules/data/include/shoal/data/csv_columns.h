// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Finds the columns of a CSV file, and their types, by reading the whole file.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/result.h"
#include "shoal/data/text_files.h"

namespace shoal {
class Environment;
}

namespace shoal::data {

struct CsvColumnsOptions {
  /// The names of all columns, left to right. Empty: the last header line has the names. If names are given and the last
  /// header line is a header too, CsvColumn::header keeps the file's own names, and other files are read by them.
  std::vector<std::string> names{};
  /// Names of columns that are float32, also where this file happens to have whole numbers alone and no field is missing:
  /// quantities, which other files may have with fractions or gaps. A field that is no number is then damage, with its line.
  std::vector<std::string> numbers{};
  /// Columns to read as text although all their fields are numbers: ids and codes.
  std::vector<std::string> texts{};
  /// The environment whose storage is read, whose log takes warnings, and whose stop ends the reading (Cancelled):
  /// RunConfig::environment(). Null: files of this machine, with warnings on standard error; in a test with a World the
  /// task's files are elsewhere.
  std::shared_ptr<Environment> env = nullptr;
};

/// The columns of a file, for CsvOptions::columns: int64 where every field is a whole number in digits alone that int64
/// holds; float32 where every field is a number or missing, which is NaN then; else text. One piece of code decides what a
/// number is (see CsvColumn), here and where fields are read, so that a file can be read by the columns that were found in
/// it.
///
/// A warning names a float32 column, save those of `numbers`, where float32 does not hold its whole numbers, so that
/// different ones may become one, or where a number of it counts as infinity; the warning has the first such number and its
/// line.
///
///   shoal::data::CsvOptions table{.labels = {"price"}, .header_lines = 1};
///   table.columns = shoal::data::csv_columns("houses.csv", table, {.numbers = {"area", "price"}});
///
/// `options` say how to read it; their columns are not looked at. A column whose name the header has more than once becomes
/// no feature (CsvColumn::doubled). InvalidArgument without names and header lines; for `numbers` and `texts` that name no
/// column, or one both, or one of several of that name; for names of columns that are no UTF-8 and not among `unused`; and
/// for given names that stand over other columns in the header. DataLoss for a file without records, or one that is
/// damaged, also where one of `numbers` is none, or a label is missing (unless missing_labels is set); NotFound for one
/// that is missing.
Result<std::vector<CsvColumn>> infer_csv_columns(const std::string& path, const CsvOptions& options,
                                                 CsvColumnsOptions found = {});
/// Does the same and raises its errors, for programs.
std::vector<CsvColumn> csv_columns(const std::string& path, const CsvOptions& options, CsvColumnsOptions found = {});

/// The kinds of fields that csv_columns() tells apart.
enum class CsvFieldKind {
  kMissing,  ///< The field is empty, has only blanks, or is the text for missing values.
  kWhole,     ///< A whole number in digits alone that int64 holds.
  kFraction,  ///< Any other number.
  kText,
};
struct CsvFieldLook {
  CsvFieldKind kind = CsvFieldKind::kMissing;
  double number = 0;  ///< The nearest one to a number.
};
CsvFieldLook look_at_csv_field(std::string_view field, const std::string& missing_text = {});

}  // namespace shoal::data
