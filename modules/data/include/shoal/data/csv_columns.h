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
  /// The names of all columns, left to right. Empty: the last header line has the names. If names are given and the
  /// file has a header too, CsvColumn::header keeps the header's names, by which the columns are found in other files.
  std::vector<std::string> names{};
  /// Names of columns that become float32 even if all their fields in this file are whole numbers: quantities, which in
  /// other files may have fractions or be missing. A field of such a column that is no number is DataLoss, naming its line.
  std::vector<std::string> numbers{};
  /// Names of columns to read as text although all their fields are numbers: ids and codes.
  std::vector<std::string> texts{};
  /// The environment whose storage is read, whose log takes warnings, and whose stop request ends the reading
  /// (Cancelled): RunConfig::environment(). Null: files of this machine, with warnings on standard error. A test with a
  /// World (a simulated cluster) must pass the environment, because its tasks have simulated disks.
  std::shared_ptr<Environment> env = nullptr;
};

/// Finds the columns of a file, for CsvOptions::columns. A column becomes int64 if every field is a whole number in
/// digits alone that fits int64. It becomes float32 if every field is a number or missing; missing fields are then NaN.
/// Else it becomes text. Readers use the same code to decide what a number is (see CsvColumn), so they can read the
/// file by the columns that were found in it.
///
/// A warning names each float32 column, except those of `numbers`, that has a whole number which float32 cannot hold
/// (so that different numbers may become one), or a number that counts as infinity. The warning quotes the first such
/// number and its line. Another warning says which bytes at the end of a gzip file were passed over.
///
///   shoal::data::CsvOptions table{.labels = {"price"}, .header_lines = 1};
///   table.columns = shoal::data::csv_columns("houses.csv", table, {.numbers = {"area", "price"}});
///
/// `options` says how to read the file; its columns are ignored. A column whose name the header has more than once
/// becomes no feature (CsvColumn::repeated). InvalidArgument if there are neither names nor header lines; if a name in
/// `numbers` or `texts` is in both, belongs to no column, or belongs to several; if a column's name is no UTF-8 and not
/// in CsvOptions::unused; and if one of `names` is in the header, too, but there for another column. DataLoss for
/// a file that has no records or is damaged, for a field of `numbers` that is no number, and for a missing label (unless
/// missing_labels is set). NotFound for a missing file.
Result<std::vector<CsvColumn>> infer_csv_columns(const std::string& path, const CsvOptions& options,
                                                 CsvColumnsOptions found = {});
/// As infer_csv_columns(), but raises errors as exceptions, which is shorter in a program.
std::vector<CsvColumn> csv_columns(const std::string& path, const CsvOptions& options, CsvColumnsOptions found = {});

/// The kinds of fields that csv_columns() tells apart.
enum class CsvFieldKind {
  kMissing,   ///< The field is empty, has only blanks, or is the text for missing values.
  kWhole,     ///< A whole number in digits alone that int64 holds.
  kFraction,  ///< Any other number.
  kText,
};
struct ParsedCsvField {
  CsvFieldKind kind = CsvFieldKind::kMissing;
  double number = 0;  ///< The float64 that is nearest to the field's number; 0 if the field is no number.
};
ParsedCsvField parse_csv_field(std::string_view field, const std::string& missing_text = {});

}  // namespace shoal::data
