// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The files in a tar archive, read as a stream: formats of POSIX (ustar, pax), of GNU tar, and of Version 7 Unix.
/// tar_header.h has the sources.
#include <cstdint>
#include <string>
#include <string_view>

#include "record_stage.h"
#include "tar_header.h"

namespace shoal::data {

/// The place where an entry begins, with the headers before it that belong to it.
struct TarPlace {
  uint64_t offset = 0;   ///< Bytes from the start of the archive.
  uint64_t entries = 0;  ///< How many entries come before that place.
};

/// A file in an archive.
struct TarEntry {
  std::string name;    ///< A path with slashes, of any bytes.
  uint64_t bytes = 0;  ///< How many bytes its contents have.
};

/// Errors are DataLoss for a damaged archive, and FailedPrecondition for one that has what this reader does not read: files
/// that are stored without their holes, and global pax headers with a name or a size. Both name the archive, the entry,
/// counted from 1, and the offset at which the entry begins.
class TarReader {
 public:
  /// The next entry of the file that is given to the other methods begins at `place`.
  void start_at(TarPlace place);
  /// Writes the next file into `entry`. Passes over what is left of the entry before it, and over folders, links and
  /// devices. Returns false at the end: at a block of zeros, or where the archive ends between two entries.
  Result<bool> next(RecordFile& file, TarEntry& entry);
  /// Reads the contents of the file that next() gave last. Call it at most once for each.
  Result<void> read(RecordFile& file, std::string& contents);
  /// Where the entry that next() gave last begins; behind the last entry, where the end begins.
  TarPlace place() const { return place_; }
  /// An error of `kind` that says where the entry stands.
  Error error(ErrorKind kind, const RecordFile& file, const std::string& what) const;
  Error damaged(const RecordFile& file, const std::string& what) const { return error(ErrorKind::kDataLoss, file, what); }

 private:
  Result<bool> next_header(RecordFile& file);
  Result<bool> read_header(RecordFile& file);
  Result<void> take_extension(RecordFile& file);
  Result<void> begin_contents(const RecordFile& file, const std::string& what);
  Result<void> pass_over_contents(RecordFile& file);
  template <class T>
  Result<T> placed(const RecordFile& file, Result<T> result) const;
  Error cut(const RecordFile& file, const std::string& what) const { return damaged(file, "the file ends within " + what); }

  TarPlace place_;
  uint64_t entries_ = 0;  // How many entries come before the header that is read next.
  TarHeader header_;
  // Values from headers that come before an entry's header block and belong to the entry.
  PaxValues pax_;
  std::optional<std::string> long_name_;
  bool is_extended_ = false;
  // Bytes of contents that were not read, and those behind them to the end of their last block.
  uint64_t left_ = 0, padding_ = 0;
  bool has_ended_ = false;
};

/// A name of an archive, as an error shows it: in quotes, cut where it is long, and without bytes that are no printable
/// text.
std::string shown_tar_name(std::string_view name);

}  // namespace shoal::data
