// SPDX-License-Identifier: Apache-2.0
#include "zip_reader.h"

#include <string_view>

#include "csv_syntax.h"
#include "shoal/base/record_framing.h"
#include "zip_directory.h"
#include "zip_format.h"
#include "zip_member.h"

namespace shoal::data {
namespace {

Error in_archive(Error error, const std::string& path) {
  if (error.kind() == ErrorKind::kCancelled || error.message().starts_with(path)) return error;
  return std::move(error).with_context(path);
}

/// Finds where the packed bytes of a member begin, from the local header in front of them. The member's sizes come from
/// `entry`, not from the local header, which lacks them if the archive was written to a pipe.
Result<uint64_t> packed_begin(const ReadableFile& file, const ZipEntry& entry) {
  std::string header(kZipLocalBytes + entry.name.size(), '\0');
  SHOAL_TRY_VOID(file.read_at(entry.offset, std::as_writable_bytes(std::span(header))));
  const std::string_view text = header;
  const auto name_bytes = load_little_endian<uint16_t>(text.substr(26)),
             extra_bytes = load_little_endian<uint16_t>(text.substr(28));
  if (load_little_endian<uint32_t>(text) != kZipLocalSignature || name_bytes != entry.name.size() ||
      !text.ends_with(entry.name) || load_little_endian<uint16_t>(text.substr(8)) != entry.method) {
    return data_loss("the archive is damaged: no header of this member stands there");
  }
  const uint64_t begin = entry.offset + header.size() + extra_bytes;
  if (begin > entry.end || entry.packed_bytes > entry.end - begin) {
    return data_loss("the archive is damaged: the member of " + std::to_string(entry.packed_bytes) +
                     " bytes overlaps with what begins at offset " + std::to_string(entry.end));
  }
  return begin;
}

}  // namespace

ZipArchive::ZipArchive(std::unique_ptr<ReadableFile> file, std::string path, StopToken stop)
    : file_(std::move(file)), path_(std::move(path)), stop_(std::move(stop)) {}

Result<ZipArchive> ZipArchive::open(Storage& storage, std::string path, const StopToken& stop) {
  auto file = storage.open(path);
  if (!file) return in_archive(std::move(file).error(), path);
  ZipArchive archive(*std::move(file), std::move(path), stop);
  auto entries = read_zip_directory(*archive.file_);
  if (!entries) return in_archive(std::move(entries).error(), archive.path_);
  archive.entries_ = *std::move(entries);
  return archive;
}

Result<std::unique_ptr<ByteSource>> ZipArchive::open(const ZipEntry& entry) const {
  if ((entry.flags & (kZipEncryptedFlag | kZipMaskedFlag)) != 0) {
    return failed_precondition("the member is encrypted, and no password can be given; pack it again without one");
  }
  if ((entry.flags & kZipPatchFlag) != 0)
    return failed_precondition("the member is a patch of another file, which is not read");
  SHOAL_TRY(const uint64_t begin, packed_begin(*file_, entry));
  SHOAL_TRY(std::unique_ptr<ByteSource> member, open_zip_member(*file_, entry, begin));
  return stoppable(std::move(member), stop_);
}

Error ZipArchive::in_member(Error error, const ZipEntry& entry) const {
  const std::string place = "member " + shown_text(entry.name) + " (offset " + std::to_string(entry.offset) + ")";
  if (error.kind() == ErrorKind::kCancelled || error.message().starts_with(path_)) return error;
  return std::move(error).with_context(path_ + ", " + place);
}

}  // namespace shoal::data
