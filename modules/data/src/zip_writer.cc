// SPDX-License-Identifier: Apache-2.0
#include "zip_writer.h"

#include <algorithm>

#include "crc32.h"
#include "shoal/base/record_framing.h"
#include "zip_format.h"

namespace shoal::data {
namespace {

constexpr uint16_t kZipVersion = 20, kZip64Version = 45;  // ZIP 2.0; ZIP 4.5, the first with zip64.
constexpr uint16_t kZipTime = 0, kZipDate = 1 << 5 | 1;   // 00:00:00; year 1980 + 0, month 1, day 1.

/// Returns a header's extra field of zip64. It has the `numbers` that are too large for their usual places in the header.
std::string zip64_extra(const std::vector<uint64_t>& numbers) {
  std::string extra;
  if (numbers.empty()) return extra;
  append_little_endian(extra, kZip64ExtraId);
  append_little_endian(extra, uint16_t(8 * numbers.size()));
  for (const uint64_t number : numbers) append_little_endian(extra, number);
  return extra;
}

uint16_t zip_flags(const std::string& name) {
  return std::ranges::all_of(name, [](char c) { return uint8_t(c) < 0x80; }) ? uint16_t(0) : kZipUtf8Flag;
}

/// Appends the part that local headers and the directory share: from the needed version to the length of the extra fields.
void append_member(std::string& out, const std::string& name, uint32_t crc, uint32_t bytes, size_t extra_bytes) {
  append_little_endian(out, extra_bytes > 0 ? kZip64Version : kZipVersion);
  append_little_endian(out, zip_flags(name));
  append_little_endian(out, kZipStored);
  append_little_endian(out, kZipTime);
  append_little_endian(out, kZipDate);
  append_little_endian(out, crc);
  append_little_endian(out, bytes);  // The packed size. The next line appends the unpacked size, which is equal.
  append_little_endian(out, bytes);
  append_little_endian(out, uint16_t(name.size()));
  append_little_endian(out, uint16_t(extra_bytes));
}

}  // namespace

std::string ZipWriter::local_header(const Member& member) const {
  const bool large = is_large(member.bytes);
  const std::string extra = large ? zip64_extra({member.bytes, member.bytes}) : std::string();
  std::string header;
  append_little_endian(header, kZipLocalSignature);
  append_member(header, member.name, member.crc, large ? kZip64Mark32 : uint32_t(member.bytes), extra.size());
  return header + member.name + extra;
}

std::string ZipWriter::directory_entry(const Member& member) const {
  const bool large = is_large(member.bytes), far = is_large(member.offset);
  std::vector<uint64_t> numbers;
  if (large) numbers = {member.bytes, member.bytes};
  if (far) numbers.push_back(member.offset);
  const std::string extra = zip64_extra(numbers);
  std::string entry;
  append_little_endian(entry, kZipDirectorySignature);
  append_little_endian(entry, extra.empty() ? kZipVersion : kZip64Version);
  append_member(entry, member.name, member.crc, large ? kZip64Mark32 : uint32_t(member.bytes), extra.size());
  entry.append(10, '\0');  // All 0: the comment's length, the number of the disk, the file's attributes.
  append_little_endian(entry, far ? kZip64Mark32 : uint32_t(member.offset));
  return entry + member.name + extra;
}

std::string ZipWriter::end_records(uint64_t directory_offset) const {
  const uint64_t directory_bytes = offset_ - directory_offset;
  const bool large =
      is_large(directory_offset) || is_large(directory_bytes) || members_.size() >= options_.zip64_members_from;
  std::string records;
  if (large) {
    append_little_endian(records, kZip64EndSignature);
    append_little_endian(records, uint64_t(kZip64EndBytes - 12));
    append_little_endian(records, kZip64Version);
    append_little_endian(records, kZip64Version);
    append_little_endian(records, uint64_t(0));  // Disks.
    append_little_endian(records, uint64_t(members_.size()));
    append_little_endian(records, uint64_t(members_.size()));
    append_little_endian(records, directory_bytes);
    append_little_endian(records, directory_offset);
    append_little_endian(records, kZip64LocatorSignature);
    append_little_endian(records, uint32_t(0));
    append_little_endian(records, offset_);
    append_little_endian(records, uint32_t(1));
  }
  append_little_endian(records, kZipEndSignature);
  append_little_endian(records, uint32_t(0));
  append_little_endian(records, large ? kZip64Mark16 : uint16_t(members_.size()));
  append_little_endian(records, large ? kZip64Mark16 : uint16_t(members_.size()));
  append_little_endian(records, large ? kZip64Mark32 : uint32_t(directory_bytes));
  append_little_endian(records, large ? kZip64Mark32 : uint32_t(directory_offset));
  append_little_endian(records, uint16_t(0));
  return records;
}

Result<void> ZipWriter::add(const std::string& name, uint64_t bytes,
                            const std::function<Result<void>(const Sink& sink)>& write) {
  Member member{.name = name, .bytes = bytes, .offset = offset_};
  SHOAL_TRY_VOID(write([&](std::span<const std::byte> some) -> Result<void> {
    member.crc = crc32_of(some, member.crc);
    return {};
  }));
  const std::string header = local_header(member);
  SHOAL_TRY_VOID(append(std::as_bytes(std::span(header))));
  SHOAL_TRY_VOID(write([this](std::span<const std::byte> some) { return append(some); }));
  SHOAL_CHECK(offset_ == member.offset + header.size() + bytes);
  members_.push_back(std::move(member));
  return {};
}

Result<void> ZipWriter::finish() {
  const uint64_t directory_offset = offset_;
  for (const Member& member : members_) {
    const std::string entry = directory_entry(member);
    SHOAL_TRY_VOID(append(std::as_bytes(std::span(entry))));
  }
  const std::string records = end_records(directory_offset);
  return append(std::as_bytes(std::span(records)));
}

Result<void> ZipWriter::append(std::span<const std::byte> bytes) {
  SHOAL_TRY_VOID(file_.append(bytes));
  offset_ += bytes.size();
  return {};
}

}  // namespace shoal::data
