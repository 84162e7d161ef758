// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The data files of a save while they have temporary names, which no other writer has.
#include <string>
#include <vector>

#include "shoal/base/storage.h"
#include "shoal/checkpoint/manifest.h"

namespace shoal::checkpoint {

class DataFileWriter;

struct PendingFile {
  std::string path;
  bool is_new = false;    ///< False: a second name for a file of an earlier checkpoint.
  bool is_named = false;  ///< True if the new checkpoint has this file. All others are removed at the end.
  FileKind kind = FileKind::kTensors;
  uint64_t bytes = 0;  ///< These two hold once it is named.
  uint64_t checksum = 0;

  /// Marks it as named, and takes size and checksum from `file`, which wrote it.
  void set(const DataFileWriter& file);
};

class PendingFiles {
 public:
  /// `begin` and `ending` are the parts of a path before and behind a file's number.
  PendingFiles(std::string begin, std::string ending) : begin_(std::move(begin)), ending_(std::move(ending)) {}

  /// Adds a file and returns its number. The file need not exist yet: a save that is abandoned removes all files that were added.
  uint32_t add(FileKind kind, bool is_new = true);
  PendingFile& operator[](uint32_t number) { return files_[number]; }
  const std::vector<PendingFile>& all() const { return files_; }
  /// The number of files that the new checkpoint has.
  size_t named() const;
  /// The bytes of all files that the new checkpoint has and that this save wrote.
  uint64_t new_bytes() const;

 private:
  const std::string begin_, ending_;
  std::vector<PendingFile> files_;
};

}  // namespace shoal::checkpoint
