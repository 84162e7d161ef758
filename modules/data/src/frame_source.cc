// SPDX-License-Identifier: Apache-2.0
// zstd (RFC 8878) and lz4 frames, decoded by the libraries of those names. Without its library, a format is refused.
#include <algorithm>
#include <vector>

#include "byte_source.h"

#if defined(SHOAL_DATA_ZSTD)
#include <zstd.h>
#include <zstd_errors.h>
#endif
#if defined(SHOAL_DATA_LZ4)
#include <lz4frame.h>
#endif

namespace shoal::data {
namespace {

#if defined(SHOAL_DATA_ZSTD) || defined(SHOAL_DATA_LZ4)

/// The result of one call of a decoder.
struct Decoded {
  size_t taken = 0, made = 0;
  bool frame_ended = false;
};

constexpr size_t kMagicBytes = 4;

/// True if `head` begins with the magic number of a frame or of a skippable frame, or is shorter and may be the beginning
/// of one.
bool begins_as_a_frame(std::span<const std::byte> head, uint32_t magic) {
  constexpr uint32_t kSkippableMagic = 0x184d2a50, kSkippableMask = 0xfffffff0;
  uint32_t number = 0, known = 0;  // `known` has a one for each bit that is in `head`.
  for (size_t i = 0; i < std::min(head.size(), kMagicBytes); ++i) {
    number |= uint32_t(head[i]) << (8 * i);
    known |= uint32_t(0xff) << (8 * i);
  }
  return number == (magic & known) || (number & kSkippableMask) == (kSkippableMagic & known);
}

Error needs_a_dictionary(const char* name) {
  return failed_precondition(std::string("its ") + name +
                             " data was made with a dictionary, and none can be given here; unpack the file with " + name +
                             " -d -D DICTIONARY");
}

/// Returns the bytes of the frames of a file, one frame after another.
template <class Decoder>
class FrameSource final : public ByteSource {
 public:
  FrameSource(std::unique_ptr<ReadableFile> file, std::string path)
      : file_(std::move(file)), path_(std::move(path)), input_(kInputBytes) {}
  Result<void> start() {
    if (!decoder_.start()) return unavailable(path_ + ": " + Decoder::kName + " has no memory");
    return {};
  }

  Result<size_t> read(std::span<std::byte> out) override {
    size_t done = 0;
    while (done < out.size()) {
      if (inside_ ? begin_ == end_ : end_ - begin_ < kMagicBytes) SHOAL_TRY_VOID(refill());
      if (begin_ == end_ && !inside_) break;
      if (!inside_) SHOAL_TRY_VOID(check_frame_begins());
      const Result<Decoded> step = decoder_.decode(std::span(input_).subspan(begin_, end_ - begin_), out.subspan(done));
      if (!step && step.error().kind() == ErrorKind::kFailedPrecondition) return step.error().with_context(path_);
      if (!step) {
        return data_loss(path_ + ": the " + Decoder::kName + " data is damaged near byte " + std::to_string(offset()) +
                         " (" + step.error().message() + ")");
      }
      if (step->taken == 0 && step->made == 0 && begin_ == end_) {
        return data_loss(path_ + ": the file is truncated: its " + Decoder::kName + " data goes on beyond byte " +
                         std::to_string(file_->size()));
      }
      begin_ += step->taken;
      done += step->made;
      inside_ = !step->frame_ended;
    }
    return done;
  }

  uint64_t left_max() const override {
    const uint64_t compressed = file_->size() - offset();
    const uint64_t most = UINT64_MAX - Decoder::kPendingBytesMax;
    return compressed >= most / Decoder::kRatioMax ? UINT64_MAX
                                                   : (compressed + 1) * Decoder::kRatioMax + Decoder::kPendingBytesMax;
  }

 private:
  static constexpr size_t kInputBytes = 128 << 10;

  uint64_t offset() const { return read_ - (end_ - begin_); }

  /// Between two frames: returns an error if the bytes that come next begin no frame. The decoders would call them damaged, or
  /// wait for more of them.
  Result<void> check_frame_begins() const {
    const std::span<const std::byte> head = std::span(input_).subspan(begin_, end_ - begin_);
    if (!begins_as_a_frame(head, Decoder::kMagic)) {
      return data_loss(
          path_ + ": its " + Decoder::kName + " data ends at byte " + std::to_string(offset()) + ", and the " +
          std::to_string(file_->size() - offset()) + " bytes behind it are no " + Decoder::kName +
          " data: something was added to the file, or it is damaged there; if it was whole before, cut it with "
          "truncate -s " +
          std::to_string(offset()));
    }
    return {};
  }

  /// Moves the bytes that are left to the front, and fills the rest of input_.
  Result<void> refill() {
    std::copy(input_.begin() + ptrdiff_t(begin_), input_.begin() + ptrdiff_t(end_), input_.begin());
    end_ -= begin_;
    begin_ = 0;
    const auto more = size_t(std::min<uint64_t>(kInputBytes - end_, file_->size() - read_));
    if (more > 0) SHOAL_TRY_VOID(file_->read_at(read_, std::span(input_).subspan(end_, more)));
    end_ += more;
    read_ += more;
    return {};
  }

  std::unique_ptr<ReadableFile> file_;
  const std::string path_;
  Decoder decoder_;
  std::vector<std::byte> input_;
  size_t begin_ = 0, end_ = 0;  // The part of input_ that was read and not yet decoded.
  uint64_t read_ = 0;           ///< How many bytes of the file were read.
  bool inside_ = false;         ///< True if a frame has begun and not ended.
};

template <class Decoder>
Result<std::unique_ptr<ByteSource>> open_frames(std::unique_ptr<ReadableFile> file, std::string path) {
  auto source = std::make_unique<FrameSource<Decoder>>(std::move(file), std::move(path));
  SHOAL_TRY_VOID(source->start());
  return source;
}

#endif

#if defined(SHOAL_DATA_ZSTD)
class ZstdDecoder {
 public:
  static constexpr const char* kName = "zstd";
  static constexpr uint32_t kMagic = 0xfd2fb528;
  /// How many bytes one byte of input can become. A block takes at least three bytes for its header and one byte for its
  /// contents, and unpacks to at most 128 KiB.
  static constexpr uint64_t kRatioMax = 32768;
  static constexpr uint64_t kPendingBytesMax = 256 << 10;

  ZstdDecoder() = default;
  ZstdDecoder(const ZstdDecoder&) = delete;
  ZstdDecoder& operator=(const ZstdDecoder&) = delete;
  ~ZstdDecoder() { ZSTD_freeDStream(stream_); }
  bool start() { return stream_ != nullptr; }
  Result<Decoded> decode(std::span<const std::byte> from, std::span<std::byte> to) {
    ZSTD_inBuffer in{from.data(), from.size(), 0};
    ZSTD_outBuffer out{to.data(), to.size(), 0};
    const size_t hint = ZSTD_decompressStream(stream_, &out, &in);
    if (ZSTD_getErrorCode(hint) == ZSTD_error_frameParameter_windowTooLarge) {
      return failed_precondition(
          "unpacking its zstd data takes a window of more than 128 MiB; compress the file with zstd --long=27 at most");
    }
    if (ZSTD_getErrorCode(hint) == ZSTD_error_dictionary_wrong) return needs_a_dictionary(kName);
    if (ZSTD_isError(hint)) return data_loss(ZSTD_getErrorName(hint));
    return Decoded{in.pos, out.pos, hint == 0};
  }

 private:
  ZSTD_DStream* const stream_ = ZSTD_createDStream();
};
#endif

#if defined(SHOAL_DATA_LZ4)
class Lz4Decoder {
 public:
  static constexpr const char* kName = "lz4";
  static constexpr uint32_t kMagic = 0x184d2204;
  /// How many bytes one byte of input can become, rounded up: one byte lengthens a match by at most 255 bytes.
  static constexpr uint64_t kRatioMax = 256;
  /// The most unpacked bytes that the decoder may not have returned yet: two blocks of the largest size.
  static constexpr uint64_t kPendingBytesMax = 8 << 20;

  Lz4Decoder() = default;
  Lz4Decoder(const Lz4Decoder&) = delete;
  Lz4Decoder& operator=(const Lz4Decoder&) = delete;
  ~Lz4Decoder() { LZ4F_freeDecompressionContext(context_); }
  bool start() { return !LZ4F_isError(LZ4F_createDecompressionContext(&context_, LZ4F_VERSION)); }
  Result<Decoded> decode(std::span<const std::byte> from, std::span<std::byte> to) {
    size_t taken = from.size(), made = to.size();
    const size_t hint = LZ4F_decompress(context_, to.data(), &made, from.data(), &taken, nullptr);
    if (LZ4F_isError(hint) && names_a_dictionary()) return needs_a_dictionary(kName);
    if (LZ4F_isError(hint)) return data_loss(LZ4F_getErrorName(hint));
    return Decoded{taken, made, hint == 0};
  }

 private:
  /// True if the header of the present frame has the number of a dictionary. (`lz4 -D` writes none: without its dictionary
  /// such a file looks damaged.)
  bool names_a_dictionary() {
    LZ4F_frameInfo_t info{};
    size_t none = 0;
    LZ4F_getFrameInfo(context_, &info, nullptr, &none);  // Its result says how to go on, which is of no interest here.
    return info.dictID != 0;
  }

  LZ4F_dctx* context_ = nullptr;
};
#endif

[[maybe_unused]] Error without(const std::string& path, const char* name, const char* package, const char* command) {
  return failed_precondition(path + " is compressed with " + name + ", and this build is without it: install " + package +
                             " and build again, or decompress the file with " + command);
}

}  // namespace

#if defined(SHOAL_DATA_ZSTD)
Result<std::unique_ptr<ByteSource>> open_zstd(std::unique_ptr<ReadableFile> file, std::string path) {
  return open_frames<ZstdDecoder>(std::move(file), std::move(path));
}
#else
Result<std::unique_ptr<ByteSource>> open_zstd(std::unique_ptr<ReadableFile>, std::string path) {
  return without(path, "zstd", "libzstd-dev", "unzstd");
}
#endif

#if defined(SHOAL_DATA_LZ4)
Result<std::unique_ptr<ByteSource>> open_lz4(std::unique_ptr<ReadableFile> file, std::string path) {
  return open_frames<Lz4Decoder>(std::move(file), std::move(path));
}
#else
Result<std::unique_ptr<ByteSource>> open_lz4(std::unique_ptr<ReadableFile>, std::string path) {
  return without(path, "lz4", "liblz4-dev", "unlz4");
}
#endif

}  // namespace shoal::data
