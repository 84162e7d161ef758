// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Recognises the format of a file by its contents.
#include <optional>
#include <string>
#include <string_view>

#include "shoal/base/result.h"
#include "shoal/data/text_files.h"

namespace shoal {
class Storage;
}

namespace shoal::data {

enum class FileFormat {
  kText,       ///< Lines of text that form no table.
  kCsv,        ///< Dataset::csv()
  kJsonLines,  ///< Read by Dataset::json_lines().
  kTfExample,  ///< Records of tf.Example, read by Dataset::tf_records().
  kTfRecord,   ///< TFRecord files whose records are no tf.Example, read by Dataset::tf_records().
  kNpy,        ///< read_npy()
  kNpz,        ///< read_npz()
  kTar,        ///< Read by Dataset::tar_samples().
  kIdx,        ///< read_idx()
  kImage,      ///< read_image()
};

/// Returns "text", "csv", "json-lines", "tf-example", "tf-record", "npy", "npz", "tar", "idx" or "image".
std::string_view to_string(FileFormat format);
/// Returns the format for which to_string() returns `name`; nothing if there is none.
std::optional<FileFormat> file_format_from(std::string_view name);

/// How a CSV file separates its fields.
struct CsvForm {
  char separator = ',';
  /// True if no field of the first record is empty or a number: the record is probably a header.
  bool has_header = true;
};

struct RecognisedFile {
  FileFormat format = FileFormat::kText;
  CsvForm csv{};  ///< For kCsv, and for kText with a remark.
  /// For kText: a sentence why the file is no table, if most of its first lines are rows of one. Else empty.
  std::string remark{};
};

/// Recognises a file by its first 64 KiB, or by its first two lines if they are longer; uncompressed if it is gzip, zstd or
/// lz4. Its name does not matter. A file of lines is a table if one of the separators comma, tab, semicolon and bar divides
/// each of its first records (at least two, at most 20) into the same number of fields, at least two. In JSON Lines each
/// line begins with an object. An empty file is text. `table` says how the file will be read if it is a table: its quoting,
/// trim_blanks, header_lines and line_bytes_max count. As many lines may come before JSON Lines.
///
/// Errors name the file: those of Storage::open(); FailedPrecondition, with advice, for a known format that Shoal does not
/// read; DataLoss for bytes that are neither text nor of a known format.
Result<RecognisedFile> recognise_file(Storage& storage, const std::string& path, const CsvOptions& table = {});

/// Finds how the fields of a file are separated. The file counts as a table even if it does not look like one or has a
/// single column. `table` is as for recognise_file(). Errors: those of Storage::open().
Result<CsvForm> infer_csv_form(Storage& storage, const std::string& path, std::optional<char> separator,
                               const CsvOptions& table = {});

}  // namespace shoal::data
