// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Writes zip archives without compression. All members have the date 1980-01-01 00:00:00, so that equal members give equal
/// archives.
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "shoal/base/storage.h"

namespace shoal::data {

struct ZipWriterOptions {
  /// The writer uses the zip64 format for sizes and offsets of at least zip64_from, and for archives of at least
  /// zip64_members_from members. Tests set lower limits.
  uint64_t zip64_from = 0xffffffff;
  uint64_t zip64_members_from = 0xffff;
};

class ZipWriter {
 public:
  using Sink = std::function<Result<void>(std::span<const std::byte> bytes)>;
  /// `file` must be at its start, and outlive the writer.
  explicit ZipWriter(WritableFile& file, ZipWriterOptions options = {}) : file_(file), options_(options) {}

  /// Adds a member. `write` passes `bytes` bytes to the sink. It is called twice and must pass the same bytes, since
  /// the checksum comes before the bytes. `name` is UTF-8 of at most 65535 bytes.
  Result<void> add(const std::string& name, uint64_t bytes, const std::function<Result<void>(const Sink& sink)>& write);
  /// Writes the directory. Nothing may be added afterwards.
  Result<void> finish();

 private:
  struct Member {
    std::string name;
    uint32_t crc = 0;
    uint64_t bytes = 0, offset = 0;
  };
  bool is_large(uint64_t number) const { return number >= options_.zip64_from; }
  std::string local_header(const Member& member) const;
  std::string directory_entry(const Member& member) const;
  std::string end_records(uint64_t directory_offset) const;
  Result<void> append(std::span<const std::byte> bytes);

  WritableFile& file_;
  const ZipWriterOptions options_;
  std::vector<Member> members_;
  uint64_t offset_ = 0;  // Bytes written.
};

}  // namespace shoal::data
