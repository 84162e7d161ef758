// SPDX-License-Identifier: Apache-2.0
#pragma once
/// gzip as zlib makes it.
#include <zlib.h>

#include <string>

#include "shoal/base/check.h"

namespace shoal::fuzz {

inline std::string gzipped(std::string_view contents) {
  z_stream stream{};
  constexpr int kGzip = 16, kWindowBits = 9, kLeastMemory = 1;
  SHOAL_CHECK(deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzip + kWindowBits, kLeastMemory, Z_DEFAULT_STRATEGY) ==
              Z_OK);
  std::string compressed(deflateBound(&stream, uLong(contents.size())) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(contents.data()));  // zlib only reads these bytes.
  stream.avail_in = uInt(contents.size());
  stream.next_out = reinterpret_cast<Bytef*>(compressed.data());
  stream.avail_out = uInt(compressed.size());
  SHOAL_CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  compressed.resize(compressed.size() - stream.avail_out);
  deflateEnd(&stream);
  return compressed;
}

}  // namespace shoal::fuzz
