// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Zip archives with one member that zlib deflates.
#include <zlib.h>

#include <string>

#include "shoal/base/check.h"
#include "shoal/base/record_framing.h"

namespace shoal::fuzz {

/// DEFLATE data (RFC 1951) without a header.
inline std::string deflated(std::string_view contents) {
  z_stream stream{};
  constexpr int kWindowBits = 9, kLeastMemory = 1;
  SHOAL_CHECK(deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, -kWindowBits, kLeastMemory, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string packed(deflateBound(&stream, uLong(contents.size())) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(contents.data()));  // zlib only reads these bytes.
  stream.avail_in = uInt(contents.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = uInt(packed.size());
  SHOAL_CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(packed.size() - stream.avail_out);
  deflateEnd(&stream);
  return packed;
}

/// From the time of a member on, local headers and the directory have these.
inline std::string member_fields(uint32_t crc, size_t packed_bytes, size_t bytes, size_t name_bytes) {
  std::string fields("\0\0\x21\0", 4);
  append_little_endian(fields, crc);
  append_little_endian(fields, uint32_t(packed_bytes));
  append_little_endian(fields, uint32_t(bytes));
  append_little_endian(fields, uint16_t(name_bytes));
  return fields + std::string(2, '\0');
}

/// The bytes are those of the format that zip_format.h of modules/data describes.
inline std::string deflated_archive(const std::string& name, std::string_view contents, uint32_t crc) {
  const std::string packed = deflated(contents), fields = member_fields(crc, packed.size(), contents.size(), name.size());
  const std::string local = std::string("PK\3\4\x14\0\0\0\x08\0", 10) + fields + name + packed;
  const std::string directory = std::string("PK\1\2\x14\0\x14\0\0\0\x08\0", 12) + fields + std::string(14, '\0') + name;
  std::string end = std::string("PK\5\6\0\0\0\0\1\0\1\0", 12);
  append_little_endian(end, uint32_t(directory.size()));
  append_little_endian(end, uint32_t(local.size()));
  return local + directory + end + std::string(2, '\0');
}

}  // namespace shoal::fuzz
