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

/// The place where an entry begins, including the headers that come before the entry and belong to it.
struct TarPlace {
  uint64_t offset = 0;   ///< Bytes from the start of the archive.
  uint64_t entries = 0;  ///< How many entries of the archive come before the place.
};

/// A file in an archive.
struct TarEntry {
  std::string name;    ///< A path with slashes; it may contain any bytes.
  uint64_t bytes = 0;  ///< The size of the file's contents.
};

/// Reads the files of an archive. DataLoss for a damaged archive. FailedPrecondition for features that this reader lacks:
/// files stored without their holes, and global pax headers with a name or a size. Errors name the archive, the entry,
/// counted from 1, and the offset at which the entry begins.
class TarReader {
 public:
  /// Makes the next entry begin at `place`. The caller has moved to place.offset in the archive, that is, in the `file`
  /// which it passes to the other methods.
  void start_at(TarPlace place);
  /// Writes the next file into `entry`. Passes over the unread rest of the previous entry, and over folders, links and
  /// devices. Returns false at the end: at a block of zeros, or if the archive ends between two entries.
  Result<bool> next(RecordFile& file, TarEntry& entry);
  /// Reads the contents of the file that next() gave last. Call it at most once for each.
  Result<void> read(RecordFile& file, std::string& contents);
  /// The place of the entry that next() gave last; after the last entry, the place of the archive's end.
  TarPlace place() const { return place_; }
  /// Makes an error of `kind` whose message begins with the path of the archive, the number of the entry, and the entry's
  /// offset.
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
  // How many bytes of the contents are unread, and how many zeros fill the last block behind the contents.
  uint64_t left_ = 0, padding_ = 0;
  bool has_ended_ = false;
};

/// Returns a name in an archive as errors show it: in quotes, cut if it is long, and with ? for bytes that are no printable
/// text.
std::string shown_tar_name(std::string_view name);

}  // namespace shoal::data
