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
  bool is_named = false;  ///< True if the new checkpoint takes it. Others go at the end.
  FileKind kind = FileKind::kTensors;
  uint64_t bytes = 0;  ///< These two hold once it is named.
  uint64_t checksum = 0;

  /// Names it, with what was written to it.
  void set(const DataFileWriter& file);
};

class PendingFiles {
 public:
  /// `begin` and `ending` are the parts of a path before and behind a file's number.
  PendingFiles(std::string begin, std::string ending) : begin_(std::move(begin)), ending_(std::move(ending)) {}

  /// A further file. Counted before it exists: whoever abandons the save removes it, however far it came.
  uint32_t add(FileKind kind, bool is_new = true);
  PendingFile& operator[](uint32_t number) { return files_[number]; }
  const std::vector<PendingFile>& all() const { return files_; }
  /// How many the new checkpoint has.
  size_t named() const;
  /// Bytes of those that are named and new.
  uint64_t new_bytes() const;

 private:
  const std::string begin_, ending_;
  std::vector<PendingFile> files_;
};

}  // namespace shoal::checkpoint
