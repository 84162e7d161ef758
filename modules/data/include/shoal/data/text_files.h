// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Options of Dataset::text_lines() and Dataset::csv(), which read text lines and CSV files; and read_text(), which reads a
/// whole text.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shoal/base/dtype.h"
#include "shoal/base/result.h"
#include "shoal/base/stop.h"

namespace shoal {
class Storage;
}

namespace shoal::data {

struct TextLinesOptions {
  int64_t header_lines = 0;  ///< Lines to pass over at the start of each file.
  /// The most bytes of one line. A longer line is DataLoss, and the reader stores no more of it.
  int64_t line_bytes_max = int64_t(1) << 20;
};

/// One column of a CSV file.
///
/// Numbers are decimal: "70", "-0.5", "+1", "6e23"; for float32 also "inf" and "nan" in letters of any case. Blanks around
/// numbers never count. A float32 is rounded to the nearest one: 1e400 is infinity, 1e-59 is 0. A whole number that int64
/// or int32 does not hold is DataLoss; "70.0" and "7e1", whose fraction is zero, are whole numbers. The digits decide, so no
/// whole number is rounded.
struct CsvColumn {
  std::string name;  ///< The name of the feature or label, and the column's name in headers unless `header` is set.
  DType dtype = DType::kString;  ///< One of kString, kFloat32, kInt64 and kInt32.
  /// The text that a missing field counts as. Unset: a missing field is DataLoss, except for kString, where it is "".
  std::optional<std::string> missing = std::nullopt;
  /// The column's name in headers. Unset: `name`.
  std::optional<std::string> header = std::nullopt;
  /// True: csv_columns() found the name more than once in the header. The column is passed over, and cannot be a
  /// label.
  bool repeated = false;
};

/// Options of Dataset::csv().
///
/// If files have header lines, the last one of each file is its header. The columns are found by the names in the header,
/// in any order; fields under other names are passed over. A header that has none of the names, lacks some of them or has
/// one twice ends iteration with InvalidArgument, which quotes the names of the columns and those of the header. An
/// exception: a line with none of the names counts as no header if it has more or fewer fields than there are columns, or
/// begins like a comment ("#", "%", "|", "//"). In a file without a header, the columns are those of the file from left to
/// right.
struct CsvOptions {
  std::vector<CsvColumn> columns{};  ///< All columns of the files, left to right; at least one.
  /// Names of the columns that become labels; a single label has the name "". A label that is missing, NaN or infinite is
  /// DataLoss, unless missing_labels is set. A label may also be missing if CsvColumn::missing gives it a finite value.
  std::vector<std::string> labels{};
  /// Names of columns to leave out; the parser does not check their fields.
  std::vector<std::string> unused{};
  char separator = ',';
  /// How many lines at the start of each file are not records. The last of these lines is the file's header.
  int64_t header_lines = 0;
  bool by_position = false;       ///< True: columns are those of the file from left to right, whatever the header says.
  std::string missing_text = {};  ///< A text, such as "?", that counts as missing like an empty field.
  bool trim_blanks = false;       ///< True: blanks and tabs around fields, or around their quotes, do not count.
  /// False: a quote is like any other character (5" nails), and a field can contain no separator and no line end. True: a
  /// quote that neither begins nor ends a field, and is not doubled within one, is DataLoss.
  bool quoting = true;
  /// True: labels may be missing, for rows that filter() drops: a missing one is NaN in float32, and "" in text.
  bool missing_labels = false;
  int64_t line_bytes_max = int64_t(1) << 20;  ///< The most bytes of one record.
};

/// Reads a whole text file, plain or compressed (gzip, zstd, lz4), without the byte order mark at its start, if it has one.
/// FailedPrecondition for a file that is no text (an archive, another encoding); DataLoss for a damaged one, for a gzip file
/// that ends with other bytes than gzip's, and for a text of more than `bytes_max` bytes; otherwise the errors of Storage::open(). All errors name the file. Cancelled when `stop` stops.
Result<std::string> read_text(Storage& storage, const std::string& path, int64_t bytes_max = int64_t(1) << 30,
                              const StopToken& stop = {});

}  // namespace shoal::data
