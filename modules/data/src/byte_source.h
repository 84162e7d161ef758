// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Reads the bytes of a plain or compressed file from its start.
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "shoal/base/stop.h"
#include "shoal/base/storage.h"

namespace shoal::data {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Fills `out`, or a part of it at the end of the file; returns how many bytes. DataLoss, naming file and offset, for a
  /// damaged file.
  virtual Result<size_t> read(std::span<std::byte> out) = 0;
  /// Passes over up to `count` bytes, by seeking if possible. Returns how many; fewer than `count` only at the file's end.
  virtual Result<uint64_t> skip(uint64_t count);
  /// The most bytes that may still come, to check sizes that a header claims. UINT64_MAX if unknown.
  virtual uint64_t left_max() const = 0;
  /// Returns true if exactly left_max() bytes are still to come. It is false for compressed files.
  virtual bool knows_its_end() const { return false; }
  /// How many bytes at the end of the file do not belong to its contents; valid after read() has returned 0.
  virtual uint64_t passed_over() const { return 0; }
};

/// Opens a file, and recognises gzip, zstd and lz4 by its first bytes. FailedPrecondition for a compression that the build
/// does not support. read() checks `stop` before each piece of the file that it reads, and returns Cancelled once `stop`
/// has stopped.
Result<std::unique_ptr<ByteSource>> open_bytes(Storage& storage, const std::string& path, const StopToken& stop = {});

/// Returns a source of the bytes of `source` that checks `stop` before each piece, as open_bytes() does. Returns
/// `source` itself if `stop` can never stop.
std::unique_ptr<ByteSource> stoppable(std::unique_ptr<ByteSource> source, const StopToken& stop);

/// Returns a sentence for a warning if bytes at the end of the file `path` do not belong to its contents
/// (ByteSource::passed_over()). Call it after read() has returned 0.
std::optional<std::string> passed_over_remark(const ByteSource& source, const std::string& path);

/// Returns the decompressed contents of the gzip file `file`, one member after another. As gzip(1) does, the source passes
/// over zeros between and behind members, and over all other bytes behind the last member. Only these other bytes count in
/// passed_over().
Result<std::unique_ptr<ByteSource>> open_gzip(std::unique_ptr<ReadableFile> file, std::string path);

/// Returns the decompressed contents of `file`, one frame after another, and passes over skippable frames. Other bytes
/// between frames and behind the last one are DataLoss, as in zstd(1) and lz4(1). FailedPrecondition if a frame names the
/// dictionary that it was made with, since there is no way to give one.
Result<std::unique_ptr<ByteSource>> open_zstd(std::unique_ptr<ReadableFile> file, std::string path);
Result<std::unique_ptr<ByteSource>> open_lz4(std::unique_ptr<ReadableFile> file, std::string path);

}  // namespace shoal::data
