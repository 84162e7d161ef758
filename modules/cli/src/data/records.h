// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Reads the records of a file or a folder one after another, whatever the format.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/cell.h"
#include "shoal/base/result.h"
#include "shoal/data/file_format.h"
#include "shoal/data/image_folder.h"
#include "shoal/data/text_files.h"

namespace shoal {
class Environment;
}

namespace shoal::cli {

/// The options of the command line about reading files.
struct ReadChoice {
  std::string format = {};             ///< The name of the format; empty: the contents decide.
  std::optional<char> separator = {};  ///< The separator of CSV files. None: found by trying which one gives a table.
  std::optional<bool> header = {};     ///< Whether CSV files have a header. None: the first records decide.
  /// How the rows of CSV files are read. Other files of lines have its header_lines and line_bytes_max, too.
  data::CsvOptions table{.line_bytes_max = int64_t(16) << 20};
  bool decodes_pictures = true;  ///< False: pictures in folders are counted, not decoded.
};

/// An open file or folder. One thread at a time may use it.
class Records {
 public:
  virtual ~Records() = default;
  /// Reads the next record into `cells`, whose memory is reused. Returns false at the end; before, logs a warning if bytes of
  /// the file were not read. An error says in which file, and where in it, the record is.
  virtual Result<bool> next(std::vector<Cell>& cells) = 0;
};

/// Describes one array of an NPY, NPZ or IDX file.
struct ArrayText {
  std::string name;
  std::string type;
  std::vector<int64_t> shape;
};

struct OpenedFile {
  std::string path;
  std::string format;  ///< The name from data::to_string(), or "image-folder".
  std::unique_ptr<Records> records;
  std::vector<ArrayText> arrays = {};              ///< The arrays of an NPY, NPZ or IDX file.
  std::optional<data::ImageFolder> pictures = {};  ///< The contents of a folder of images.
  std::optional<data::CsvForm> csv = {};           ///< For a CSV file.
  /// False: the arrays have different numbers of rows, so they are read one after another, and each record has one array.
  bool records_have_all_fields = true;
};

/// Opens a file or folder. Errors: those of data::recognise_file() and of the readers; InvalidArgument for an unknown
/// format. Files come from the storage of `env`, and warnings go to its log; `env` outlives the result.
Result<OpenedFile> open_records(Environment& env, const std::string& path, const ReadChoice& choice);

}  // namespace shoal::cli
