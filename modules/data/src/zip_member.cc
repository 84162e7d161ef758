// SPDX-License-Identifier: Apache-2.0
// Reads members that are stored, or deflated (RFC 1951; by zlib). A build without zlib refuses deflated members here.
#include "zip_member.h"

#include <algorithm>
#include <array>
#include <climits>
#include <vector>

#include "crc32.h"
#include "zip_format.h"

#if defined(SHOAL_DATA_ZLIB)
#include <zlib.h>
#endif

namespace shoal::data {
namespace {

Error checksum_differs(uint32_t found, uint32_t expected) {
  return data_loss("the checksum of the member is " + std::to_string(found) + ", and its directory says " +
                   std::to_string(expected) + ": its bytes are damaged");
}

/// Counts the bytes of a member, and compares their checksum at the end. `Unpacked` is the class that unpacks the
/// bytes: its fill(out) fills all of `out`, and its finish() is called behind the last byte.
template <class Unpacked>
class ZipMember final : public ByteSource {
 public:
  ZipMember(const ReadableFile& file, const ZipEntry& entry, uint64_t begin)
      : unpacked_(file, entry, begin), bytes_(entry.bytes), expected_crc_(entry.crc) {}
  Result<void> start() {
    SHOAL_TRY_VOID(unpacked_.start());
    return bytes_ == 0 ? finish() : Result<void>();
  }
  Result<size_t> read(std::span<std::byte> out) override {
    out = out.first(size_t(std::min<uint64_t>(out.size(), left_max())));
    if (out.empty()) return size_t(0);
    SHOAL_TRY_VOID(unpacked_.fill(out));
    crc_ = crc32_of(out, crc_);
    done_ += out.size();
    if (done_ == bytes_) SHOAL_TRY_VOID(finish());
    return out.size();
  }
  uint64_t left_max() const override { return bytes_ - done_; }
  bool knows_its_end() const override { return true; }

 private:
  Result<void> finish() {
    SHOAL_TRY_VOID(unpacked_.finish());
    return crc_ == expected_crc_ ? Result<void>() : checksum_differs(crc_, expected_crc_);
  }

  Unpacked unpacked_;
  const uint64_t bytes_;
  const uint32_t expected_crc_;
  uint64_t done_ = 0;
  uint32_t crc_ = 0;
};

class StoredBytes {
 public:
  StoredBytes(const ReadableFile& file, const ZipEntry&, uint64_t begin) : file_(file), offset_(begin) {}
  static Result<void> start() { return {}; }
  static Result<void> finish() { return {}; }
  Result<void> fill(std::span<std::byte> out) {
    SHOAL_TRY_VOID(file_.read_at(offset_, out));
    offset_ += out.size();
    return {};
  }

 private:
  const ReadableFile& file_;
  uint64_t offset_;
};

#if defined(SHOAL_DATA_ZLIB)

class InflatedBytes {
 public:
  InflatedBytes(const ReadableFile& file, const ZipEntry& entry, uint64_t begin)
      : file_(file), offset_(begin), left_(entry.packed_bytes), input_(size_t(std::min<uint64_t>(kInputBytesMax, left_))) {}
  InflatedBytes(const InflatedBytes&) = delete;
  InflatedBytes& operator=(const InflatedBytes&) = delete;
  ~InflatedBytes() { inflateEnd(&stream_); }

  Result<void> start() {
    if (inflateInit2(&stream_, -MAX_WBITS) != Z_OK) return unavailable("zlib has no memory");
    return {};
  }
  Result<void> fill(std::span<std::byte> out) {
    while (!out.empty()) {
      SHOAL_TRY(const size_t made, inflate_into(out));
      if (made == 0 && (ended_ || nothing_left())) return damaged("its deflate data ends before its bytes do");
      out = out.subspan(made);
    }
    return {};
  }
  /// Checks that the data ends here, with the announced length and checksum.
  Result<void> finish() {
    std::array<std::byte, 1> extra{};
    while (!ended_) {
      SHOAL_TRY(const size_t made, inflate_into(extra));
      if (made > 0) return damaged("its deflate data makes more bytes than its directory says");
      if (!ended_ && nothing_left()) return damaged("its deflate data has no end");
    }
    return nothing_left() ? Result<void>() : damaged("bytes stand behind its deflate data");
  }

 private:
  static constexpr uint64_t kInputBytesMax = 64 << 10;

  bool nothing_left() const { return stream_.avail_in == 0 && left_ == 0; }
  /// Inflates packed bytes into `out` by one call of zlib. Returns how many bytes it has written, which may be fewer than
  /// out.size().
  Result<size_t> inflate_into(std::span<std::byte> out) {
    if (ended_) return size_t(0);
    if (stream_.avail_in == 0 && left_ > 0) {
      const auto count = size_t(std::min<uint64_t>(input_.size(), left_));
      SHOAL_TRY_VOID(file_.read_at(offset_, std::as_writable_bytes(std::span(input_)).first(count)));
      offset_ += count;
      left_ -= count;
      stream_.next_in = input_.data();
      stream_.avail_in = uInt(count);
    }
    const size_t room = std::min<size_t>(out.size(), UINT_MAX);
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = uInt(room);
    const int status = inflate(&stream_, Z_NO_FLUSH);
    if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR) {
      return damaged(std::string("its deflate data is wrong") +
                     (stream_.msg ? std::string(" (") + stream_.msg + ")" : std::string()));
    }
    ended_ = status == Z_STREAM_END;
    return room - stream_.avail_out;
  }
  Error damaged(const std::string& what) const {
    return data_loss("the member is damaged near byte " + std::to_string(offset_ - stream_.avail_in) +
                     " of the archive: " + what);
  }

  const ReadableFile& file_;
  uint64_t offset_, left_;  // The offset and the number of the unread packed bytes.
  std::vector<Bytef> input_;
  z_stream stream_{};
  bool ended_ = false;
};

#endif

template <class Unpacked>
Result<std::unique_ptr<ByteSource>> started(const ReadableFile& file, const ZipEntry& entry, uint64_t begin) {
  auto member = std::make_unique<ZipMember<Unpacked>>(file, entry, begin);
  SHOAL_TRY_VOID(member->start());
  return member;
}

}  // namespace

Result<std::unique_ptr<ByteSource>> open_zip_member(const ReadableFile& file, const ZipEntry& entry, uint64_t begin) {
  if (entry.method == kZipStored) {
    if (entry.packed_bytes == entry.bytes) return started<StoredBytes>(file, entry, begin);
    return data_loss("the member is stored, and is said to have " + std::to_string(entry.bytes) + " bytes in " +
                     std::to_string(entry.packed_bytes));
  }
  if (entry.method != kZipDeflated) {
    return failed_precondition(
        "the member is compressed by the method " + std::to_string(entry.method) +
        " of zip, and 0 (stored) and 8 (deflated) are read; pack it again, as by numpy.savez_compressed");
  }
#if defined(SHOAL_DATA_ZLIB)
  // DEFLATE unpacks one byte to at most 1032 bytes.
  constexpr uint64_t kRatioMax = 1032;
  if (entry.bytes / kRatioMax > entry.packed_bytes) {
    return data_loss("the member is said to have " + std::to_string(entry.bytes) + " bytes in " +
                     std::to_string(entry.packed_bytes) + ", which is more than deflate data can hold");
  }
  return started<InflatedBytes>(file, entry, begin);
#else
  return failed_precondition(
      "the member is deflated, and this build is without zlib: install zlib1g-dev and build again, or save it by "
      "numpy.savez");
#endif
}

}  // namespace shoal::data
