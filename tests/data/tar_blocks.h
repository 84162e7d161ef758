// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Tar archives made by hand, block by block, for tests; also of fuzz targets.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace shoal::data {

/// Fields of a header, as texts; they are cut to the sizes of the fields.
struct TarFields {
  std::string name = "";
  std::string prefix = "";
  std::string size = "";
  char type = '0';
  std::string magic = std::string("ustar\00000", 8);  // A zero byte, and the version 00.
};

inline void set_checksum(std::string& archive, size_t block) {
  archive.replace(block + 148, 8, 8, ' ');
  unsigned sum = 0;
  for (size_t i = 0; i < 512; ++i) sum += uint8_t(archive[block + i]);
  char text[8];
  std::snprintf(text, sizeof text, "%06o", sum);
  archive.replace(block + 148, 7, text, 7);
}

/// One header.
inline std::string tar_block(const TarFields& fields) {
  std::string block(512, '\0');
  const auto put = [&block](size_t begin, size_t bytes, const std::string& text) {
    block.replace(begin, std::min(bytes, text.size()), text, 0, bytes);
  };
  put(0, 100, fields.name);
  put(124, 12, fields.size);
  block[156] = fields.type;
  put(257, 8, fields.magic);
  put(345, 155, fields.prefix);
  set_checksum(block, 0);
  return block;
}

/// `bytes` as a header has it: octal.
inline std::string tar_size(uint64_t bytes) {
  char text[24];
  std::snprintf(text, sizeof text, "%011llo", static_cast<unsigned long long>(bytes));
  return text;
}

/// A header and contents, with the zeros that fill their last block.
inline std::string tar_entry(const std::string& name, const std::string& contents, char type = '0') {
  return tar_block({.name = name, .size = tar_size(contents.size()), .type = type}) + contents +
         std::string((512 - contents.size() % 512) % 512, '\0');
}

/// The end of an archive.
inline std::string tar_end() { return std::string(1024, '\0'); }

}  // namespace shoal::data
