// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Tells by the contents of a file what format it has.
#include <optional>
#include <string>
#include <string_view>

#include "shoal/base/result.h"

namespace shoal {
class Storage;
}

namespace shoal::data {

enum class FileFormat {
  kText,       ///< Lines of text that are no table.
  kCsv,        ///< Dataset::csv()
  kJsonLines,  ///< Dataset::json_lines()
  kTfExample,  ///< Dataset::tf_records() whose records are tf.Example.
  kTfRecord,   ///< Dataset::tf_records() whose records are something else.
  kNpy,        ///< read_npy()
  kNpz,        ///< read_npz()
  kTar,        ///< Dataset::tar_samples()
  kIdx,        ///< read_idx()
  kImage,      ///< read_image()
};

/// "text", "csv", "json-lines", "tf-example", "tf-record", "npy", "npz", "tar", "idx", "image".
std::string_view to_string(FileFormat format);
/// The format of that name.
std::optional<FileFormat> file_format_from(std::string_view name);

/// How a CSV file separates its fields.
struct CsvLook {
  char separator = ',';
  /// True if no field of the first record is empty or a number, so that the record looks like names.
  bool has_header = true;
};

struct RecognisedFile {
  FileFormat format = FileFormat::kText;
  CsvLook csv{};  ///< For kCsv.
};

/// Looks at the first 64 KiB of what the file holds, behind gzip, zstd or lz4; its name does not matter. A file of lines is a
/// table if its first records, up to 20 of them and at least two, have equally many fields, and more than one, by one of the
/// separators comma, tab, semicolon and bar. Lines of JSON begin with an object each. An empty file is text.
///
/// Errors name the file: those of Storage::open(); FailedPrecondition, with what helps, for a known format that Shoal does not
/// read; DataLoss for bytes that are neither text nor of a known format.
Result<RecognisedFile> recognise_file(Storage& storage, const std::string& path);

/// How the fields of a file are told from each other that is a table, whatever it looks like: also one of a single column. Errors:
/// those of Storage::open().
Result<CsvLook> look_at_csv(Storage& storage, const std::string& path, std::optional<char> separator);

}  // namespace shoal::data
