// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Lists the data files of a save that is not finished. The files have temporary names, which no other writer uses.
#include <string>
#include <vector>

#include "shoal/base/storage.h"
#include "shoal/checkpoint/manifest.h"

namespace shoal::checkpoint {

class DataFileWriter;

struct PendingFile {
  std::string path;
  bool is_new = false;    ///< False: this is a second name for a file of the previous checkpoint.
  bool is_named = false;  ///< True if the new checkpoint has this file. If false, the save removes the file.
  FileKind kind = FileKind::kTensors;
  uint64_t bytes = 0;  ///< Size and checksum are valid if is_named.
  uint64_t checksum = 0;

  /// Marks this file as part of the new checkpoint, with the size and checksum that its writer `file` has computed.
  void set(const DataFileWriter& file);
};

class PendingFiles {
 public:
  /// Each file gets the path `begin` + its number + `ending`.
  PendingFiles(std::string begin, std::string ending) : begin_(std::move(begin)), ending_(std::move(ending)) {}

  /// Adds a file and returns its number. The file need not exist yet: an abandoned save removes all files that were added.
  uint32_t add(FileKind kind, bool is_new = true);
  PendingFile& operator[](uint32_t number) { return files_[number]; }
  const std::vector<PendingFile>& all() const { return files_; }
  /// The number of files in the new checkpoint.
  size_t named() const;
  /// The size of those files of the new checkpoint that this save has written, without those shared with the previous one.
  uint64_t new_bytes() const;

 private:
  const std::string begin_, ending_;
  std::vector<PendingFile> files_;
};

}  // namespace shoal::checkpoint
