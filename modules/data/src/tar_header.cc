// SPDX-License-Identifier: Apache-2.0
#include "tar_header.h"

#include <algorithm>

#include "shoal/base/number_text.h"

namespace shoal::data {
namespace {

struct TarField {
  size_t begin, bytes;
};
constexpr TarField kName{0, 100}, kSize{124, 12}, kChecksum{148, 8}, kMagicField{257, 6}, kPrefix{345, 155};
constexpr size_t kTypeAt = 156;
constexpr std::string_view kUstarMagic("ustar\0", 6);

std::string_view field_of(const TarBlock& block, TarField field) { return {block.data() + field.begin, field.bytes}; }

/// Returns the bytes of a field before its first zero byte.
std::string_view text_of_field(const TarBlock& block, TarField field) {
  const std::string_view text = field_of(block, field);
  return text.substr(0, text.find('\0'));
}

/// Reads octal digits, between blanks and before a zero byte; a field without digits is 0. If the first bit is set, reads
/// the other bits as one big-endian number, as GNU tar writes numbers too large for the digits. Nothing for a number of
/// 2^63 or more, and for a negative one.
std::optional<uint64_t> number_of_field(const TarBlock& block, TarField field) {
  std::string_view text = field_of(block, field);
  if (uint8_t(text[0]) >= 0x80) {
    if (uint8_t(text[0]) != 0x80) return std::nullopt;
    uint64_t value = 0;
    for (const char byte : text.substr(1)) {
      if (value > uint64_t(INT64_MAX) >> 8) return std::nullopt;
      value = value << 8 | uint8_t(byte);
    }
    return value;
  }
  text = text_of_field(block, field);
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  uint64_t value = 0;
  for (const char digit : text) {
    if (digit < '0' || digit > '7') return std::nullopt;
    value = value * 8 + uint64_t(digit - '0');
  }
  return value;
}

/// Compares the checksum with the sum of all bytes, in which the checksum itself counts as blanks. Also accepts
/// the sum of signed bytes, which some old programs wrote.
bool has_its_checksum(const TarBlock& block) {
  int64_t unsigned_sum = 0, signed_sum = 0;
  for (size_t i = 0; i < block.size(); ++i) {
    const bool in_checksum = i >= kChecksum.begin && i < kChecksum.begin + kChecksum.bytes;
    const char byte = in_checksum ? ' ' : block[i];
    unsigned_sum += uint8_t(byte);
    signed_sum += int8_t(byte);
  }
  const std::optional<uint64_t> written = number_of_field(block, kChecksum);
  return written && (int64_t(*written) == unsigned_sum || int64_t(*written) == signed_sum);
}

TarKind kind_of(char type) {
  switch (type) {
    case '0':
    case '7': return TarKind::kFile;
    case '\0': return TarKind::kOldFile;
    case '1': return TarKind::kHardLink;
    case '2':
    case '3':
    case '4':
    case '5':
    case '6': return TarKind::kNoContents;
    case 'S': return TarKind::kSparse;
    case 'x':
    case 'X': return TarKind::kPax;  // Solaris wrote X before POSIX had pax headers.
    case 'g': return TarKind::kGlobalPax;
    case 'L': return TarKind::kLongName;
    case 'K': return TarKind::kLongLink;
    default: return TarKind::kOther;
  }
}

constexpr std::string_view kNoPax = "its pax header is damaged: ";

Result<void> take_pax_record(std::string_view key, std::string_view value, PaxValues& values) {
  if (key == "path") {
    if (value.size() > kTarNameBytesMax) return data_loss("its name has more than 64 KiB");
    values.path = std::string(value);
  } else if (key == "size") {
    const std::optional<uint64_t> bytes = number_from<uint64_t>(value);
    if (!bytes || *bytes > uint64_t(INT64_MAX)) return data_loss(std::string(kNoPax) + "the size is no number");
    values.bytes = bytes;
  } else if (key.starts_with("GNU.sparse.")) {
    values.is_sparse = true;
  }
  return {};
}

}  // namespace

bool is_zero_block(const TarBlock& block) {
  return std::ranges::all_of(block, [](char byte) { return byte == 0; });
}

Result<TarHeader> parse_tar_header(const TarBlock& block) {
  if (!has_its_checksum(block)) {
    return data_loss("the checksum of its header is wrong: the archive is damaged, or no tar archive");
  }
  TarHeader header;
  header.kind = kind_of(block[kTypeAt]);
  // Only POSIX archives are sure to have the first part of a long path in the field kPrefix. GNU tar, whose magic is
  // "ustar  ", may store other things there.
  if (field_of(block, kMagicField) == kUstarMagic && block[kPrefix.begin] != 0) {
    header.name.append(text_of_field(block, kPrefix)).push_back('/');
  }
  header.name += text_of_field(block, kName);
  if (header.kind == TarKind::kNoContents || header.kind == TarKind::kHardLink) return header;
  const std::optional<uint64_t> bytes = number_of_field(block, kSize);
  if (!bytes) return data_loss("the size in its header is no number");
  header.bytes = *bytes;
  return header;
}

Result<void> parse_pax(std::string_view records, PaxValues& values) {
  while (!records.empty()) {
    const size_t blank = std::min(records.find(' '), records.size());
    const std::optional<size_t> length = number_from<size_t>(records.substr(0, blank));
    if (!length || *length > records.size() || *length < blank + 2) {
      return data_loss(std::string(kNoPax) + "the length of a record is wrong");
    }
    const std::string_view record = records.substr(blank + 1, *length - blank - 1);
    const size_t equals = record.find('=');
    if (record.back() != '\n' || equals == std::string_view::npos) {
      return data_loss(std::string(kNoPax) + "a record is not of the form KEY=VALUE");
    }
    SHOAL_TRY_VOID(
        take_pax_record(record.substr(0, equals), record.substr(equals + 1, record.size() - equals - 2), values));
    records.remove_prefix(*length);
  }
  return {};
}

}  // namespace shoal::data
