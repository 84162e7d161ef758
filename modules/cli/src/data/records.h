// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The records of a file or a folder, one after another, whatever its format is.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/cell.h"
#include "shoal/base/result.h"
#include "shoal/base/storage.h"
#include "shoal/data/file_format.h"
#include "shoal/data/image_folder.h"

namespace shoal::cli {

/// What the command line says of the files.
struct ReadChoice {
  std::string format = {};             ///< Empty: by the contents.
  std::optional<char> separator = {};  ///< Of CSV files. None: the one by which a file is a table.
  std::optional<bool> header = {};     ///< Whether CSV files have a header. None: by their first records.
  std::string missing = {};            ///< The text of CSV files that says that a field is missing.
  bool decodes_pictures = true;        ///< False: pictures of folders are counted only.
};

/// One file (or folder) that is being read. One thread at a time.
class Records {
 public:
  virtual ~Records() = default;
  /// The next record into `cells`, whose memory is reused. False: the end. Errors name file and place.
  virtual Result<bool> next(std::vector<Cell>& cells) = 0;
};

/// An array of a file of arrays.
struct ArrayText {
  std::string name;
  std::string type;
  std::vector<int64_t> shape;
};

struct OpenedFile {
  std::string path;
  std::string format;  ///< As data::to_string() has it, or "image-folder".
  std::unique_ptr<Records> records;
  std::vector<ArrayText> arrays = {};              ///< Of NPY, NPZ and IDX files.
  std::optional<data::ImageFolder> pictures = {};  ///< Of a folder of images.
  std::optional<data::CsvLook> csv = {};           ///< Of a CSV file.
  /// False: records have one array each, one array after another, since the arrays have different numbers of rows.
  bool records_have_all_fields = true;
};

/// Errors are those of data::recognise_file() and of the readers; InvalidArgument for a format that there is none of. `storage`
/// outlives what is returned.
Result<OpenedFile> open_records(Storage& storage, const std::string& path, const ReadChoice& choice);

}  // namespace shoal::cli
