// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What text lines and CSV files are: options of Dataset::text_lines() and Dataset::csv(); and read_text(), for texts as a
/// whole.
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
  int64_t header_lines = 0;  ///< Lines passed over at the start of each file.
  /// The most bytes of one line; a longer one is DataLoss, before more of it is kept.
  int64_t line_bytes_max = int64_t(1) << 20;
};

/// One column of a CSV file.
///
/// Numbers are decimal: "70", "-0.5", "+1", "6e23", for float32 also "inf" and "nan" in letters of any case. Blanks around them
/// never count. A float32 is rounded to the nearest one there is: 1e400 is infinity, 1e-59 is 0. A whole number that int64 or
/// int32 does not hold is DataLoss; one of a fraction of zero ("70.0") is that number.
struct CsvColumn {
  std::string name;  ///< The name of the feature or label, and of the column in headers unless `header` is another.
  DType dtype = DType::kString;  ///< One of kString, kFloat32, kInt64 and kInt32.
  /// What a missing field counts as, as text. None: a missing field is DataLoss, save that text is then "".
  std::optional<std::string> missing = std::nullopt;
  /// What headers call the column. None: its name.
  std::optional<std::string> header = std::nullopt;
  /// True: the header from which csv_columns() has the name has it more than once. The column is passed over, and as a
  /// label refused.
  bool doubled = false;
};

/// The last of a file's header lines says where in that file each column stands: columns are found by their names, in any
/// order. Fields that belong to no column are passed over. A header that lacks a column, has one twice or has other names
/// ends iteration with InvalidArgument, which tells both lists of names. A line that has none of the names, and another
/// number of fields than there are columns (or begins as remarks do), is no header: then, and without header lines, the
/// columns are those of the file from left to right.
struct CsvOptions {
  std::vector<CsvColumn> columns{};  ///< All columns of the files, left to right; at least one.
  /// Names of the columns that become labels; a lone one has the name "". A label that is missing, or no finite number, is
  /// DataLoss, unless its column has another value than NaN for missing fields, or missing_labels is set.
  std::vector<std::string> labels{};
  /// Names of columns that are left out; their fields are not looked at.
  std::vector<std::string> unused{};
  char separator = ',';
  /// How many lines at the start of each file are not records. The last of these lines is the file's header.
  int64_t header_lines = 0;
  bool by_position = false;       ///< True: columns are taken from left to right, whatever the header says.
  std::string missing_text = {};  ///< A field that counts as missing, as an empty one does: "?".
  bool trim_blanks = false;       ///< True: blanks and tabs around fields, or around their quotes, do not count.
  /// False: a quote is a character as any other (5" nails), and a field can hold no separator and no line end. True: a
  /// quote that does not begin a field, or end it, is DataLoss.
  bool quoting = true;
  /// True: labels may be missing, for rows that filter() passes over: NaN where they are float32, "" where they are text.
  bool missing_labels = false;
  int64_t line_bytes_max = int64_t(1) << 20;  ///< The most bytes of one record.
};

/// All of a text file, plain or compressed (gzip, zstd, lz4), without the byte order mark that it may begin with. FailedPrecondition for a file
/// that is no text of lines (an archive, another encoding); DataLoss for one that is damaged, or has more than `bytes_max`
/// bytes; otherwise the errors of Storage::open(). All name the file. Cancelled when `stop` stops.
Result<std::string> read_text(Storage& storage, const std::string& path, int64_t bytes_max = int64_t(1) << 30,
                              const StopToken& stop = {});

}  // namespace shoal::data
