// SPDX-License-Identifier: Apache-2.0
#include "tar_reader.h"

#include <algorithm>

#include "shoal/base/utf8.h"

namespace shoal::data {
namespace {

bool is_extension(TarKind kind) {
  return kind == TarKind::kPax || kind == TarKind::kGlobalPax || kind == TarKind::kLongName || kind == TarKind::kLongLink;
}

}  // namespace

void TarReader::start_at(TarPlace place) {
  *this = TarReader();
  place_ = place;
  entries_ = place.entries;
}

Error TarReader::error(ErrorKind kind, const RecordFile& file, const std::string& what) const {
  return {kind, file.path() + ", entry " + std::to_string(place_.entries + 1) + " (offset " +
                    std::to_string(place_.offset) + "): " + what};
}

/// Puts the path of the archive, the number of the entry and its offset before the message of an error.
template <class T>
Result<T> TarReader::placed(const RecordFile& file, Result<T> result) const {
  if (!result) return error(result.error().kind(), file, result.error().message());
  return result;
}

Result<bool> TarReader::next(RecordFile& file, TarEntry& entry) {
  for (;;) {
    SHOAL_TRY(const bool more, next_header(file));
    if (!more) return false;
    std::string& name = pax_.path ? *pax_.path : long_name_ ? *long_name_ : header_.name;
    if (header_.kind == TarKind::kOldFile) header_.kind = name.ends_with('/') ? TarKind::kNoContents : TarKind::kFile;
    if (header_.kind == TarKind::kSparse || (header_.kind == TarKind::kFile && pax_.is_sparse)) {
      return error(ErrorKind::kFailedPrecondition, file,
                   shown_tar_name(name) +
                       " is stored without its holes (a sparse file), and is not read; make the archive without --sparse");
    }
    if (pax_.bytes) header_.bytes = *pax_.bytes;
    SHOAL_TRY_VOID(begin_contents(file, shown_tar_name(name)));
    if (header_.kind == TarKind::kHardLink) {
      file.note_passed_over(
          shown_tar_name(name) +
          " is another name of a file in the archive (a hard link), which has no contents there, and such "
          "names are passed over; tar --hard-dereference stores the contents with each name");
    }
    if (header_.kind != TarKind::kFile) continue;
    entry = {std::move(name), header_.bytes};
    return true;
  }
}

/// Reads the headers of the next entry.
Result<bool> TarReader::next_header(RecordFile& file) {
  if (has_ended_) return false;
  SHOAL_TRY_VOID(pass_over_contents(file));
  place_ = {file.offset(), entries_};
  pax_ = {};
  long_name_.reset();
  is_extended_ = false;
  for (;;) {
    SHOAL_TRY(const bool more, read_header(file));
    if (!more && is_extended_)
      return damaged(file, "the archive ends behind an extended header, and before the entry that it is for");
    has_ended_ = !more;
    if (!more) return false;
    if (!is_extension(header_.kind)) break;
    SHOAL_TRY_VOID(take_extension(file));
  }
  ++entries_;
  return true;
}

Result<bool> TarReader::read_header(RecordFile& file) {
  TarBlock block;
  SHOAL_TRY(const size_t count, file.read_up_to(std::as_writable_bytes(std::span(block))));
  if (count == 0) return false;
  if (count < block.size()) return cut(file, "a header");
  if (is_zero_block(block)) return false;
  SHOAL_TRY(header_, placed(file, parse_tar_header(block)));
  return true;
}

Result<void> TarReader::take_extension(RecordFile& file) {
  const bool is_global = header_.kind == TarKind::kGlobalPax;
  is_extended_ |= !is_global;
  const bool is_pax = is_global || header_.kind == TarKind::kPax;
  if (header_.bytes > (is_pax ? kPaxBytesMax : kTarNameBytesMax)) {
    return damaged(file, (is_pax ? "its pax header has " : "its name has ") + std::to_string(header_.bytes) +
                             " bytes, more than " + std::to_string(is_pax ? kPaxBytesMax : kTarNameBytesMax));
  }
  SHOAL_TRY_VOID(begin_contents(file, "an extended header"));
  if (header_.kind == TarKind::kLongLink) return pass_over_contents(file);
  std::string text;
  SHOAL_TRY_VOID(read(file, text));
  SHOAL_TRY_VOID(pass_over_contents(file));
  if (!is_pax) {
    long_name_ = text.substr(0, text.find('\0'));
    return {};
  }
  PaxValues global;
  SHOAL_TRY_VOID(placed(file, parse_pax(text, is_global ? global : pax_)));
  if (!global.path && !global.bytes && !global.is_sparse) return {};
  return error(
      ErrorKind::kFailedPrecondition, file,
      "a global pax header has a name or a size for all entries behind it, which is not read; make the archive without it");
}

Result<void> TarReader::begin_contents(const RecordFile& file, const std::string& what) {
  const bool has_contents = header_.kind != TarKind::kNoContents && header_.kind != TarKind::kHardLink;
  left_ = has_contents ? header_.bytes : 0;
  padding_ = tar_padding(left_);
  if (left_ <= file.left_max() && padding_ <= file.left_max() - left_) return {};
  return cut(file, what + ", which has " + std::to_string(left_) + " bytes");
}

/// Reads in pieces, so that an archive with a false size takes no more memory than it has bytes.
Result<void> TarReader::read(RecordFile& file, std::string& contents) {
  constexpr uint64_t kGrowth = uint64_t(1) << 20;
  contents.clear();
  if (file.knows_its_end()) contents.reserve(size_t(left_));
  while (left_ > 0) {
    const size_t begin = contents.size();
    contents.resize(begin + size_t(std::min(kGrowth, left_)));
    const std::span<char> piece = std::span(contents).subspan(begin);
    SHOAL_TRY(const size_t count, file.read_up_to(std::as_writable_bytes(std::span(piece))));
    if (count < piece.size()) return cut(file, "the contents of an entry");
    left_ -= count;
  }
  return {};
}

Result<void> TarReader::pass_over_contents(RecordFile& file) {
  const uint64_t wanted = left_ + padding_;
  left_ = padding_ = 0;
  SHOAL_TRY(const uint64_t count, file.skip_up_to(wanted));
  return count == wanted ? Result<void>() : Result<void>(cut(file, "the contents of an entry"));
}

std::string shown_tar_name(std::string_view name) {
  constexpr size_t kShownBytes = 200;
  const bool is_utf8 = !find_no_utf8(name);
  const bool is_cut = name.size() > kShownBytes;
  size_t end = is_cut ? kShownBytes : name.size();
  // The cut must not fall within a character.
  while (is_cut && is_utf8 && end > 0 && (uint8_t(name[end]) & 0xc0) == 0x80) --end;
  std::string shown = "\"";
  for (const char byte : name.substr(0, end)) {
    const bool is_text = uint8_t(byte) >= 0x80 ? is_utf8 : byte >= ' ' && byte != 0x7f;
    shown.push_back(is_text ? byte : '?');
  }
  return shown + (is_cut ? "...\"" : "\"");
}

}  // namespace shoal::data
