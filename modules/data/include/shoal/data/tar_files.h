// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Options of Dataset::tar_samples(), which reads tar archives of samples; a writer of tar archives.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/hidden.h"
#include "shoal/base/result.h"

namespace shoal {
class Storage;
class WritableFile;
}  // namespace shoal

namespace shoal::data {

struct TarOptions {
  /// The most bytes of one file to read, at least 1. A larger file is DataLoss, and the reader stores no more of it.
  int64_t member_bytes_max = int64_t(256) << 20;
  /// The most bytes of one sample's files together, counting only files to read; at least 1. More is DataLoss.
  int64_t sample_bytes_max = int64_t(1) << 30;
  /// The extensions of the files to read, in lower case and without the dot before them: {"jpg", "seg.png"}. Other files
  /// are passed over without being read, and so are samples that have no file of these extensions. Empty: all files are
  /// read.
  std::vector<std::string> extensions = {};
};

/// Writes a tar archive, file by file, in the "ustar" format of POSIX; a name that does not fit this format, or a size of 8
/// GiB or more, is written in a pax header. All files have the mode 0644, the owner 0 and the time 0, so that equal files
/// make equal archives. One thread at a time. Without finish() the archive may end anywhere.
///
/// Source: POSIX.1-2017, the pax utility, "pax Interchange Format" and "ustar Interchange Format".
class TarWriter {
 public:
  /// Creates the archive `path`: on this machine, or in the second function in `storage`. Truncates an existing file.
  static Result<TarWriter> create(const std::string& path);
  static Result<TarWriter> create(Storage& storage, const std::string& path);
  TarWriter(TarWriter&&) noexcept;
  TarWriter& operator=(TarWriter&&) noexcept;
  ~TarWriter();

  /// Adds a file with this name, a path with slashes ("train/000017.jpg"), and these contents. If
  /// Dataset::tar_samples() is to read the archive, add the files of each sample one right after another. InvalidArgument
  /// for a name that is empty, has a byte of 0, ends with a slash, or has more than 64 KiB.
  Result<void> append(std::string_view name, std::string_view contents);
  /// Writes the end of the archive, and returns once all of it is on the disk.
  Result<void> finish();

 private:
  explicit TarWriter(WritableFile* file);
  Hidden<WritableFile> file_;
};

}  // namespace shoal::data
