// SPDX-License-Identifier: Apache-2.0
#include "cache_file.h"

#include <algorithm>
#include <array>

#include "element_state.h"
#include "shoal/base/random.h"
#include "shoal/base/record_framing.h"

#if defined(SHOAL_DATA_ZSTD)
#include <zstd.h>
#endif

namespace shoal::data {
namespace {

constexpr std::string_view kCacheMagic = "shoal cache 1\n";
constexpr std::string_view kMagicOfAnyVersion = kCacheMagic.substr(0, 12);
constexpr std::string_view kEndMark = "shoalend";
constexpr size_t kTailBytes = 16;  // The file ends with the offset of its index, and kEndMark: 8 bytes each.
constexpr size_t kCacheHeaderBytes = kCacheMagic.size() + 9;
constexpr size_t kBlockBytes = 256 << 10;
constexpr uint64_t kFramingBytes = kRecordHeadBytes + kRecordTailBytes;
/// The most bytes that zstd unpacks from one byte: a block of four bytes holds 128 KiB.
constexpr uint64_t kUnpackedMax = 32768;

std::string_view view_of_bytes(const std::vector<char>& bytes) { return {bytes.data(), bytes.size()}; }

/// Compresses by zstd's fastest level: a smaller file would not be worth the time to write it.
Result<std::string> packed([[maybe_unused]] std::string_view raw) {
#if defined(SHOAL_DATA_ZSTD)
  std::string out(ZSTD_compressBound(raw.size()), '\0');
  const size_t size = ZSTD_compress(out.data(), out.size(), raw.data(), raw.size(), 1);
  if (ZSTD_isError(size)) return unavailable(std::string("zstd: ") + ZSTD_getErrorName(size));
  out.resize(size);
  return out;
#else
  return failed_precondition("this build is without zstd");
#endif
}

}  // namespace

Result<bool> begins_as_cache_file(const ReadableFile& file) {
  std::array<char, kMagicOfAnyVersion.size()> magic{};
  if (file.size() < kRecordHeadBytes + magic.size()) return false;
  SHOAL_TRY_VOID(file.read_at(kRecordHeadBytes, std::as_writable_bytes(std::span(magic))));
  return std::string_view(magic.data(), magic.size()) == kMagicOfAnyVersion;
}

Result<CacheFileWriter> CacheFileWriter::create(Storage& storage, const std::string& path, uint64_t fingerprint,
                                                bool compress) {
  SHOAL_TRY(std::unique_ptr<WritableFile> file, storage.create(path));
#if !defined(SHOAL_DATA_ZSTD)
  compress = false;
#endif
  CacheFileWriter writer(std::move(file), compress);
  std::string header(kCacheMagic);
  append_little_endian(header, fingerprint);
  header += char(compress);
  SHOAL_TRY_VOID(writer.write_record(header));
  return writer;
}

Result<void> CacheFileWriter::append(const Element& element) {
  element_.clear();
  write_element(element, element_);
  contents_ = hash64(element_, contents_);
  StateWriter(raw_).number(element_.size());
  raw_ += element_;
  ++elements_;
  ++block_elements_;
  return raw_.size() < kBlockBytes ? Result<void>() : write_block();
}

Result<void> CacheFileWriter::write_block() {
  if (block_elements_ == 0) return {};
  blocks_.push_back({.offset = offset_, .first_element = elements_ - block_elements_});
  if (compress_) {
    std::string block;
    append_little_endian(block, uint64_t(raw_.size()));
    SHOAL_TRY(const std::string small, packed(raw_));
    SHOAL_TRY_VOID(write_record(block + small));
  } else {
    SHOAL_TRY_VOID(write_record(raw_));
  }
  raw_.clear();
  block_elements_ = 0;
  return {};
}

Result<void> CacheFileWriter::finish() {
  SHOAL_TRY_VOID(write_block());
  std::string index;
  append_little_endian(index, elements_);
  append_little_endian(index, contents_);
  for (const Block& block : blocks_) {
    append_little_endian(index, block.offset);
    append_little_endian(index, block.first_element);
  }
  std::string tail;
  append_little_endian(tail, offset_);
  tail += kEndMark;
  SHOAL_TRY_VOID(write_record(index));
  SHOAL_TRY_VOID(file_->append(std::as_bytes(std::span(tail))));
  SHOAL_TRY_VOID(file_->sync());
  return file_->close();
}

Result<void> CacheFileWriter::write_record(std::string_view payload) {
  std::string framed;
  append_record(framed, payload);
  offset_ += framed.size();
  return file_->append(std::as_bytes(std::span(framed)));
}

Result<CacheFileReader> CacheFileReader::open(Storage& storage, std::string path) {
  SHOAL_TRY(std::unique_ptr<ReadableFile> file, storage.open(path));
  SHOAL_TRY(const bool begins, begins_as_cache_file(*file));
  if (!begins) {
    return failed_precondition(path +
                               " is no file of cache(), and is left as it is; give cache() another path, or move "
                               "this file away");
  }
  CacheFileReader reader(std::move(file), std::move(path));
  SHOAL_TRY_VOID(reader.read_header());
  SHOAL_TRY_VOID(reader.read_index());
  return reader;
}

Error CacheFileReader::damaged(uint64_t offset, const std::string& why) const {
  return data_loss(path_ + " (offset " + std::to_string(offset) + "): " + why +
                   "; delete the file, and the next pass writes it anew");
}

Result<std::string> CacheFileReader::read_record(uint64_t offset, uint64_t end) const {
  if (offset > end || end - offset < kFramingBytes) return damaged(offset, "the file is cut");
  std::vector<char> head(kRecordHeadBytes);
  SHOAL_TRY_VOID(file_->read_at(offset, std::as_writable_bytes(std::span(head))));
  const auto length = load_little_endian<uint64_t>(view_of_bytes(head));
  if (masked_crc(crc32c(view_of_bytes(head).substr(0, 8))) != load_little_endian<uint32_t>(view_of_bytes(head).substr(8)) ||
      length > end - offset - kFramingBytes) {
    return damaged(offset, "the file is damaged");
  }
  std::string payload(size_t(length) + kRecordTailBytes, '\0');
  SHOAL_TRY_VOID(file_->read_at(offset + kRecordHeadBytes, std::as_writable_bytes(std::span(payload))));
  const auto expected = load_little_endian<uint32_t>(std::string_view(payload).substr(size_t(length)));
  payload.resize(size_t(length));
  if (masked_crc(crc32c(payload)) != expected) return damaged(offset, "the checksum is wrong, the file is damaged");
  return payload;
}

Result<void> CacheFileReader::read_header() {
  SHOAL_TRY(const std::string header, read_record(0, file_->size()));
  if (header.size() != kCacheHeaderBytes || !header.starts_with(kCacheMagic)) {
    return damaged(0, "the file is one of another version of Shoal");
  }
  fingerprint_ = load_little_endian<uint64_t>(std::string_view(header).substr(kCacheMagic.size()));
  compressed_ = header.back() != 0;
#if !defined(SHOAL_DATA_ZSTD)
  if (compressed_) {
    return failed_precondition(
        path_ +
        " is compressed with zstd, and this build is without it: install libzstd-dev and build again, or "
        "delete the file");
  }
#endif
  return {};
}

Result<void> CacheFileReader::read_index() {
  const uint64_t size = file_->size();
  if (size < kTailBytes) return damaged(size, "the file is cut");
  std::vector<char> tail(kTailBytes);
  SHOAL_TRY_VOID(file_->read_at(size - kTailBytes, std::as_writable_bytes(std::span(tail))));
  const uint64_t offset = load_little_endian<uint64_t>(view_of_bytes(tail));
  if (!view_of_bytes(tail).ends_with(kEndMark)) return damaged(size - kTailBytes, "the file has no end, it is cut");
  SHOAL_TRY(const std::string index, read_record(offset, size - kTailBytes));
  if (offset + kFramingBytes + index.size() != size - kTailBytes) return damaged(offset, "the index does not end the file");
  index_offset_ = offset;
  return parse_index(index, offset);
}

Result<void> CacheFileReader::parse_index(std::string_view index, uint64_t offset) {
  constexpr size_t kHeadBytes = 16, kEntryBytes = 16;
  if (index.size() < kHeadBytes || (index.size() - kHeadBytes) % kEntryBytes != 0)
    return damaged(offset, "the index is damaged");
  elements_ = load_little_endian<uint64_t>(index);
  contents_ = load_little_endian<uint64_t>(index.substr(8));
  for (size_t at = kHeadBytes; at < index.size(); at += kEntryBytes) {
    const Block block{load_little_endian<uint64_t>(index.substr(at)), load_little_endian<uint64_t>(index.substr(at + 8))};
    const bool follows = blocks_.empty()
                             ? block.first_element == 0
                             : block.first_element > blocks_.back().first_element && block.offset > blocks_.back().offset;
    if (!follows || block.offset >= index_offset_ || block.first_element >= elements_)
      return damaged(offset, "the index is damaged");
    blocks_.push_back(block);
  }
  if (blocks_.empty() != (elements_ == 0)) return damaged(offset, "the index is damaged");
  return {};
}

Result<void> CacheFileReader::load_block(size_t block) {
  const uint64_t end = block + 1 < blocks_.size() ? blocks_[block + 1].offset : index_offset_;
  block_ = kNoBlock;
  SHOAL_TRY(std::string payload, read_record(blocks_[block].offset, end));
  SHOAL_TRY_VOID(unpack(std::move(payload), blocks_[block].offset));
  block_ = block;
  element_ = blocks_[block].first_element;
  at_ = 0;
  return {};
}

Result<void> CacheFileReader::unpack(std::string payload, [[maybe_unused]] uint64_t offset) {
  if (!compressed_) {
    raw_ = std::move(payload);
    return {};
  }
#if defined(SHOAL_DATA_ZSTD)
  constexpr size_t kSizeBytes = 8;
  if (payload.size() < kSizeBytes) return damaged(offset, "a block is cut");
  const auto bytes = load_little_endian<uint64_t>(payload);
  if (bytes / kUnpackedMax > payload.size()) return damaged(offset, "a block promises more bytes than it can hold");
  raw_.resize(size_t(bytes));
  const size_t size = ZSTD_decompress(raw_.data(), raw_.size(), payload.data() + kSizeBytes, payload.size() - kSizeBytes);
  if (ZSTD_isError(size) || size != bytes) return damaged(offset, "a block cannot be unpacked");
#endif
  return {};
}

Result<bool> CacheFileReader::next(Element& element) {
  if (next_ >= elements_) return false;
  if (block_ == kNoBlock || next_ < element_ ||
      (block_ + 1 < blocks_.size() && next_ >= blocks_[block_ + 1].first_element)) {
    const auto behind = std::upper_bound(blocks_.begin(), blocks_.end(), next_,
                                         [](uint64_t number, const Block& block) { return number < block.first_element; });
    SHOAL_TRY_VOID(load_block(size_t(behind - blocks_.begin()) - 1));
  }
  for (;; ++element_) {
    const uint64_t offset = blocks_[block_].offset;
    StateReader in(std::string_view(raw_).substr(at_));
    const Result<int64_t> bytes = in.count();
    if (!bytes || uint64_t(*bytes) > in.left()) return damaged(offset, "a block has fewer elements than the index says");
    const size_t begin = raw_.size() - in.left();
    at_ = begin + size_t(*bytes);
    if (element_ < next_) continue;
    Result<Element> read = read_element(std::string_view(raw_).substr(begin, size_t(*bytes)));
    if (!read) return damaged(offset, "element " + std::to_string(next_) + " is damaged");
    element = *std::move(read);
    ++element_;
    ++next_;
    return true;
  }
}

}  // namespace shoal::data
