// SPDX-License-Identifier: Apache-2.0
// Reads gzip (RFC 1952) by zlib. A build without zlib refuses gzip files here.
#include "byte_source.h"

#if defined(SHOAL_DATA_ZLIB)
#include <zlib.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <vector>
#endif

namespace shoal::data {

#if defined(SHOAL_DATA_ZLIB)
namespace {

constexpr size_t kChunkBytes = 64 << 10;
constexpr size_t kGzipMagicBytes = 2;
constexpr Bytef kGzipMagic[kGzipMagicBytes] = {0x1f, 0x8b};
/// DEFLATE unpacks one byte to at most 1032 bytes.
constexpr uint64_t kDeflateRatioMax = 1032;

class GzipSource final : public ByteSource {
 public:
  GzipSource(std::unique_ptr<ReadableFile> file, std::string path)
      : file_(std::move(file)), path_(std::move(path)), input_(kChunkBytes) {}
  ~GzipSource() override { inflateEnd(&stream_); }

  Result<void> start() {
    stream_.next_in = input_.data();
    // Adding 16 tells zlib to expect a gzip header and to check its CRC and length.
    if (inflateInit2(&stream_, 16 + MAX_WBITS) != Z_OK) return unavailable(path_ + ": zlib has no memory");
    return {};
  }

  Result<size_t> read(std::span<std::byte> out) override {
    size_t done = 0;
    while (done < out.size()) {
      if (between_members_) {
        SHOAL_TRY(const bool more, find_member());
        if (!more) break;
      }
      SHOAL_TRY_VOID(refill(1));
      if (stream_.avail_in == 0) {
        return damaged("the file is truncated: its gzip data goes on beyond byte " + std::to_string(file_->size()));
      }
      between_members_ = false;
      const size_t room = std::min<size_t>(out.size() - done, UINT_MAX);
      stream_.next_out = reinterpret_cast<Bytef*>(out.data() + done);
      stream_.avail_out = uInt(room);
      const int status = inflate(&stream_, Z_NO_FLUSH);
      done += room - stream_.avail_out;
      if (status == Z_STREAM_END) {
        inflateReset(&stream_);
        between_members_ = true;
      } else if (status != Z_OK && status != Z_BUF_ERROR) {
        return damaged(std::string("the gzip data is damaged near byte ") + std::to_string(read_ - stream_.avail_in) +
                       (stream_.msg ? std::string(" (") + stream_.msg + ")" : std::string()));
      }
    }
    return done;
  }

  uint64_t left_max() const override {
    const uint64_t compressed = file_->size() - read_ + stream_.avail_in;
    return compressed > UINT64_MAX / kDeflateRatioMax - 1 ? UINT64_MAX
                                                          : (compressed + 1) * kDeflateRatioMax + kPendingBytesMax;
  }
  uint64_t passed_over() const override { return passed_over_; }

 private:
  /// left_max() is an upper bound of the bytes that are still to come. It includes this many bytes for input that inflate()
  /// has read, but not yet written in unpacked form. 64 KiB are two windows of DEFLATE.
  static constexpr uint64_t kPendingBytesMax = 64 << 10;

  /// Looks for another member behind the last one. Like gzip(1), skips zeros, the padding of tapes and blocks. If no member
  /// begins behind the zeros, skips the rest of the file.
  Result<bool> find_member() {
    for (;;) {
      SHOAL_TRY_VOID(refill(kGzipMagicBytes));
      while (stream_.avail_in > 0 && *stream_.next_in == 0) ++stream_.next_in, --stream_.avail_in;
      if (stream_.avail_in >= kGzipMagicBytes) break;
      if (read_ == file_->size()) return pass_over_rest();
    }
    return stream_.next_in[0] == kGzipMagic[0] && stream_.next_in[1] == kGzipMagic[1] ? true : pass_over_rest();
  }

  bool pass_over_rest() {
    passed_over_ += stream_.avail_in + (file_->size() - read_);
    stream_.avail_in = 0;
    read_ = file_->size();
    return false;
  }

  /// Reads on until at least `least` bytes are in the buffer, or all that are left.
  Result<void> refill(size_t least) {
    if (stream_.avail_in >= least) return {};
    std::memmove(input_.data(), stream_.next_in, stream_.avail_in);
    const size_t had = stream_.avail_in;
    const size_t count = size_t(std::min<uint64_t>(kChunkBytes - had, file_->size() - read_));
    if (count > 0) SHOAL_TRY_VOID(file_->read_at(read_, std::as_writable_bytes(std::span(input_.data() + had, count))));
    read_ += count;
    stream_.next_in = input_.data();
    stream_.avail_in = uInt(had + count);
    return {};
  }

  Error damaged(std::string sentence) const { return data_loss(path_ + ": " + std::move(sentence)); }

  std::unique_ptr<ReadableFile> file_;
  const std::string path_;
  std::vector<Bytef> input_;
  uint64_t read_ = 0;  ///< How many bytes of the file were read.
  uint64_t passed_over_ = 0;
  bool between_members_ = false;
  z_stream stream_{};
};

}  // namespace

Result<std::unique_ptr<ByteSource>> open_gzip(std::unique_ptr<ReadableFile> file, std::string path) {
  auto source = std::make_unique<GzipSource>(std::move(file), std::move(path));
  SHOAL_TRY_VOID(source->start());
  return source;
}

#else

Result<std::unique_ptr<ByteSource>> open_gzip(std::unique_ptr<ReadableFile>, std::string path) {
  return failed_precondition(path +
                             " is compressed with gzip, and this build is without zlib: install zlib1g-dev and build "
                             "again, or decompress the file with gunzip");
}

#endif

}  // namespace shoal::data
