#pragma once
/// Bytes of a file from its start, plain or gzip'd.
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "shoal/base/storage.h"

namespace shoal::data {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Fills `out` as far as there are bytes; returns how many. DataLoss, naming file and offset, if the file is damaged.
  virtual Result<size_t> read(std::span<std::byte> out) = 0;
  /// Bytes still to come, at most; for sizes that a header claims. UINT64_MAX if unknown.
  virtual uint64_t left_max() const = 0;
};

/// Recognises gzip by its first two bytes. FailedPrecondition for gzip in a build without zlib.
Result<std::unique_ptr<ByteSource>> open_bytes(Storage& storage, const std::string& path);

/// The bytes that gzip'd `file` holds (every member of it).
Result<std::unique_ptr<ByteSource>> open_gzip(std::unique_ptr<ReadableFile> file, std::string path);

}  // namespace shoal::data
