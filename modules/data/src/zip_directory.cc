// SPDX-License-Identifier: Apache-2.0
#include "zip_directory.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "csv_syntax.h"
#include "no_text.h"
#include "shoal/base/record_framing.h"
#include "shoal/base/utf8.h"
#include "zip_format.h"

namespace shoal::data {
namespace {

constexpr uint64_t kZipDirectoryBytesMax = uint64_t(1) << 30;

Error zip_damaged(uint64_t offset, const std::string& what) {
  return data_loss("the zip archive is damaged (offset " + std::to_string(offset) + "): " + what);
}

/// Takes numbers off the front of a text, which must be long enough.
class ZipFields {
 public:
  explicit ZipFields(std::string_view text) : left_(text) {}
  template <class T>
  T take() {
    const T value = load_little_endian<T>(left_.substr(0, sizeof(T)));
    left_.remove_prefix(sizeof(T));
    return value;
  }
  void pass_over(size_t bytes) { left_.remove_prefix(bytes); }
  std::string_view text(size_t bytes) {
    const std::string_view taken = left_.substr(0, bytes);
    left_.remove_prefix(bytes);
    return taken;
  }
  size_t left() const { return left_.size(); }

 private:
  std::string_view left_;
};

/// Reads `bytes` bytes at `offset`; all of them must lie in the file.
Result<std::string> read_text_at(const ReadableFile& file, uint64_t offset, size_t bytes) {
  std::string text(bytes, '\0');
  if (bytes > 0) SHOAL_TRY_VOID(file.read_at(offset, std::as_writable_bytes(std::span(text))));
  return text;
}

/// The place of the directory, as told by the records at the end of the archive.
struct ZipEnd {
  uint64_t members = 0;
  uint64_t offset = 0, bytes = 0;  ///< The directory's place and size.
  uint64_t end_offset = 0;         ///< The offset of the end record; in a zip64 archive, of the zip64 end record.
};

/// Makes the error for a file that does not end like a zip archive, and says what the file is.
Error no_zip(const ReadableFile& file) {
  const auto begin = read_text_at(file, 0, size_t(std::min<uint64_t>(512, file.size())));
  if (!begin) return begin.error();
  if (begin->starts_with("PK")) {
    return data_loss(
        "the zip archive is truncated, or bytes stand behind it: it has no end of a directory up to its end, byte " +
        std::to_string(file.size()));
  }
  if (begin->starts_with("\x93NUMPY"))
    return failed_precondition("the file is one array and no archive; read it by read_npy()");
  if (const auto what = what_is_no_text(*begin)) return failed_precondition("the file " + *what);
  return data_loss("not a zip archive: it begins (offset 0) with \"" + shown_text(begin->substr(0, 8)) +
                   "\", expected \"PK\"");
}

/// Finds the end record of a zip archive and copies it into `record`. Only the archive's comment may follow this record.
/// Returns the record's offset.
Result<uint64_t> find_zip_end(const ReadableFile& file, std::string& record) {
  const auto looked_at = size_t(std::min<uint64_t>(kZipEndBytes + UINT16_MAX, file.size()));
  SHOAL_TRY(const std::string tail, read_text_at(file, file.size() - looked_at, looked_at));
  for (size_t at = tail.size() < kZipEndBytes ? 0 : tail.size() - kZipEndBytes + 1; at-- > 0;) {
    const std::string_view from_here = std::string_view(tail).substr(at);
    if (load_little_endian<uint32_t>(from_here) != kZipEndSignature) continue;
    if (load_little_endian<uint16_t>(from_here.substr(kZipEndBytes - 2)) != from_here.size() - kZipEndBytes) continue;
    record = from_here.substr(0, kZipEndBytes);
    return file.size() - looked_at + at;
  }
  return no_zip(file);
}

/// Reads the zip64 end record, if the archive has one, and replaces the numbers in `end` by the wider ones of that record.
/// Before the call, end.end_offset is the offset of the ordinary end record.
Result<void> read_zip64_end(const ReadableFile& file, ZipEnd& end) {
  if (end.end_offset < kZip64LocatorBytes + kZip64EndBytes) return {};
  const uint64_t locator_offset = end.end_offset - kZip64LocatorBytes;
  SHOAL_TRY(const std::string locator, read_text_at(file, locator_offset, kZip64LocatorBytes));
  ZipFields where(locator);
  if (where.take<uint32_t>() != kZip64LocatorSignature) return {};
  where.pass_over(4);
  const auto offset = where.take<uint64_t>();
  if (offset > locator_offset - kZip64EndBytes)
    return zip_damaged(locator_offset, "its zip64 record is said to lie behind this");
  SHOAL_TRY(const std::string record, read_text_at(file, offset, kZip64EndBytes));
  ZipFields fields(record);
  if (fields.take<uint32_t>() != kZip64EndSignature) return zip_damaged(offset, "there is no zip64 record");
  if (fields.take<uint64_t>() != locator_offset - offset - 12)
    return zip_damaged(offset, "the zip64 record has another length");
  fields.pass_over(4);
  const auto disk = fields.take<uint32_t>(), first_disk = fields.take<uint32_t>();
  const auto here = fields.take<uint64_t>(), members = fields.take<uint64_t>();
  if (disk != 0 || first_disk != 0 || here != members)
    return failed_precondition("the zip archive has several parts; join them with zip -s 0");
  end.members = members;
  end.bytes = fields.take<uint64_t>();
  end.offset = fields.take<uint64_t>();
  end.end_offset = offset;
  return {};
}

Result<ZipEnd> read_zip_end(const ReadableFile& file) {
  std::string record;
  SHOAL_TRY(const uint64_t end_offset, find_zip_end(file, record));
  ZipFields fields(std::string_view(record).substr(4));
  const auto disk = fields.take<uint16_t>(), first_disk = fields.take<uint16_t>();
  const auto here = fields.take<uint16_t>(), members = fields.take<uint16_t>();
  ZipEnd end{.members = members};
  end.bytes = fields.take<uint32_t>();
  end.offset = fields.take<uint32_t>();
  end.end_offset = end_offset;
  if (members == kZip64Mark16 || end.bytes == kZip64Mark32 || end.offset == kZip64Mark32)
    SHOAL_TRY_VOID(read_zip64_end(file, end));
  const bool is_zip64 = end.end_offset != end_offset;
  if ((disk != 0 || first_disk != 0 || here != members) && !(is_zip64 && disk == kZip64Mark16)) {
    return failed_precondition("the zip archive has several parts; join them with zip -s 0");
  }
  if (end.offset > end.end_offset || end.bytes != end.end_offset - end.offset) {
    return zip_damaged(end.end_offset, "its directory is said to have " + std::to_string(end.bytes) +
                                           " bytes from offset " + std::to_string(end.offset) +
                                           ", and does not end where this begins");
  }
  if (end.members > end.bytes / kZipDirectoryBytes || end.bytes > kZipDirectoryBytesMax) {
    return zip_damaged(end.end_offset, "its directory of " + std::to_string(end.bytes) + " bytes is said to have " +
                                           std::to_string(end.members) + " members");
  }
  return end;
}

/// Reads the numbers that the directory stores in the extra field of zip64.
Result<void> read_zip64_extra(std::string_view extra, uint64_t offset, ZipEntry& entry) {
  for (ZipFields fields(extra); fields.left() >= 4;) {
    const auto id = fields.take<uint16_t>(), size = fields.take<uint16_t>();
    if (size > fields.left()) break;
    ZipFields numbers(fields.text(size));
    if (id != kZip64ExtraId) continue;
    for (uint64_t* const number : {&entry.bytes, &entry.packed_bytes, &entry.offset}) {
      if (*number != kZip64Mark32) continue;
      if (numbers.left() < sizeof *number) return zip_damaged(offset, "the zip64 field of the member is too short");
      *number = numbers.take<uint64_t>();
    }
    return {};
  }
  return zip_damaged(offset, "the member has no zip64 field, and needs one");
}

Result<std::string> zip_name(std::string_view bytes, uint16_t flags, uint64_t offset) {
  const bool is_ascii = std::ranges::all_of(bytes, [](char c) { return uint8_t(c) < 0x80; });
  if (bytes.find('\0') != std::string_view::npos || bytes.empty())
    return zip_damaged(offset, "the name of a member is empty or has a zero byte");
  if (is_ascii) return std::string(bytes);
  if ((flags & kZipUtf8Flag) == 0) {
    return failed_precondition("the name of a member (offset " + std::to_string(offset) +
                               ") is in an encoding that the archive does not tell; pack it again with names in UTF-8");
  }
  if (find_no_utf8(bytes)) return zip_damaged(offset, "the name of a member is no UTF-8");
  return std::string(bytes);
}

/// Reads one member of the directory from the front of `left`, and removes the member's bytes from `left`. `offset` is the
/// offset in the file at which `left` begins.
Result<ZipEntry> read_zip_entry(std::string_view& left, uint64_t offset) {
  if (left.size() < kZipDirectoryBytes) return zip_damaged(offset, "its directory ends within a member");
  ZipFields fields(left);
  if (fields.take<uint32_t>() != kZipDirectorySignature) return zip_damaged(offset, "there is no member of its directory");
  ZipEntry entry;
  fields.pass_over(4);
  entry.flags = fields.take<uint16_t>();
  entry.method = fields.take<uint16_t>();
  fields.pass_over(4);
  entry.crc = fields.take<uint32_t>();
  entry.packed_bytes = fields.take<uint32_t>();
  entry.bytes = fields.take<uint32_t>();
  const auto name_bytes = fields.take<uint16_t>(), extra_bytes = fields.take<uint16_t>(),
             comment_bytes = fields.take<uint16_t>();
  fields.pass_over(8);  // Not used: attributes, and the number of the disk, which is the only one (read_zip_end()).
  entry.offset = fields.take<uint32_t>();
  if (size_t(name_bytes) + extra_bytes + comment_bytes > fields.left())
    return zip_damaged(offset, "its directory ends within a member");
  SHOAL_TRY(entry.name, zip_name(fields.text(name_bytes), entry.flags, offset));
  const std::string_view extra = fields.text(extra_bytes);
  if (entry.bytes == kZip64Mark32 || entry.packed_bytes == kZip64Mark32 || entry.offset == kZip64Mark32) {
    SHOAL_TRY_VOID(read_zip64_extra(extra, offset, entry));
  }
  left.remove_prefix(kZipDirectoryBytes + name_bytes + extra_bytes + comment_bytes);
  return entry;
}

/// Sets ZipEntry::end of each entry. DataLoss if members overlap, or lie beyond the directory.
Result<void> check_zip_places(std::vector<ZipEntry>& entries, uint64_t directory_offset) {
  std::vector<ZipEntry*> by_offset;
  for (ZipEntry& entry : entries) by_offset.push_back(&entry);
  std::ranges::sort(by_offset, {}, &ZipEntry::offset);
  for (size_t i = 0; i < by_offset.size(); ++i) {
    ZipEntry& entry = *by_offset[i];
    entry.end = i + 1 < by_offset.size() ? by_offset[i + 1]->offset : directory_offset;
    const uint64_t room = entry.end < entry.offset ? 0 : entry.end - entry.offset,
                   head = kZipLocalBytes + entry.name.size();
    if (room >= head && entry.packed_bytes <= room - head) continue;
    return zip_damaged(entry.offset, "member " + shown_text(entry.name) + " of " + std::to_string(entry.packed_bytes) +
                                         " bytes overlaps with what begins at offset " + std::to_string(entry.end));
  }
  return {};
}

Result<void> check_zip_names(const std::vector<ZipEntry>& entries) {
  std::vector<std::string_view> names;
  for (const ZipEntry& entry : entries) names.push_back(entry.name);
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice == names.end()) return {};
  return data_loss("the zip archive has two members with the name " + shown_text(*twice));
}

}  // namespace

Result<std::vector<ZipEntry>> read_zip_directory(const ReadableFile& file) {
  SHOAL_TRY(const ZipEnd end, read_zip_end(file));
  SHOAL_TRY(const std::string directory, read_text_at(file, end.offset, size_t(end.bytes)));
  std::vector<ZipEntry> entries;
  std::string_view left = directory;
  while (entries.size() < end.members) {
    SHOAL_TRY(ZipEntry entry, read_zip_entry(left, end.end_offset - left.size()));
    entries.push_back(std::move(entry));
  }
  if (!left.empty()) return zip_damaged(end.end_offset - left.size(), "its directory goes on behind its last member");
  SHOAL_TRY_VOID(check_zip_places(entries, end.offset));
  SHOAL_TRY_VOID(check_zip_names(entries));
  return entries;
}

}  // namespace shoal::data
