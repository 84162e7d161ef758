// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Reads zip archives: members that are stored or deflated, of any size (zip64), without encryption, in one file.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "byte_source.h"
#include "shoal/base/stop.h"
#include "shoal/base/storage.h"
#include "zip_entry.h"

namespace shoal::data {

/// One thread at a time may use an archive and its members.
class ZipArchive {
 public:
  /// Reads the directory. DataLoss, naming the file and the offset, for a damaged archive, for members that overlap and for
  /// two of one name. FailedPrecondition for a file of another format, and for an archive of several parts.
  static Result<ZipArchive> open(Storage& storage, std::string path, const StopToken& stop = {});

  const std::vector<ZipEntry>& entries() const { return entries_; }
  /// Opens a member of this archive, which must outlive the result. The read that reaches the end compares the checksum.
  /// DataLoss if the member is damaged; FailedPrecondition if it is encrypted, or compressed by a method that this build
  /// does not support. Errors do not name the file.
  Result<std::unique_ptr<ByteSource>> open(const ZipEntry& entry) const;
  /// Puts "file.npz, member x.npy (offset 0)" before the error, unless a lower layer named the file already.
  Error in_member(Error error, const ZipEntry& entry) const;

 private:
  ZipArchive(std::unique_ptr<ReadableFile> file, std::string path, StopToken stop);
  std::unique_ptr<ReadableFile> file_;
  std::string path_;
  StopToken stop_;
  std::vector<ZipEntry> entries_;
};

}  // namespace shoal::data
