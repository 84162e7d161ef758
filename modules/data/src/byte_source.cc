// SPDX-License-Identifier: Apache-2.0
#include "byte_source.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "shoal/base/record_framing.h"

namespace shoal::data {
namespace {

class PlainSource final : public ByteSource {
 public:
  explicit PlainSource(std::unique_ptr<ReadableFile> file) : file_(std::move(file)) {}
  Result<size_t> read(std::span<std::byte> out) override {
    const size_t count = size_t(std::min<uint64_t>(out.size(), left_max()));
    if (count > 0) SHOAL_TRY_VOID(file_->read_at(offset_, out.first(count)));
    offset_ += count;
    return count;
  }
  Result<uint64_t> skip(uint64_t count) override {
    const uint64_t skipped = std::min(count, left_max());
    offset_ += skipped;
    return skipped;
  }
  uint64_t left_max() const override { return file_->size() - offset_; }
  bool knows_its_end() const override { return true; }

 private:
  std::unique_ptr<ReadableFile> file_;
  uint64_t offset_ = 0;
};

/// Reads the bytes of another source in pieces, and checks the stop token before each piece.
class StoppableSource final : public ByteSource {
 public:
  StoppableSource(std::unique_ptr<ByteSource> source, StopToken stop)
      : source_(std::move(source)), stop_(std::move(stop)) {}
  Result<size_t> read(std::span<std::byte> out) override {
    // Reading takes a few milliseconds for 4 MiB, unpacking about ten, so a stop request ends a long read without delay.
    constexpr size_t kPieceBytes = 4 << 20;
    size_t done = 0;
    do {
      if (stop_.stop_requested()) return cancelled();
      const size_t wanted = std::min(kPieceBytes, out.size() - done);
      SHOAL_TRY(const size_t count, source_->read(out.subspan(done, wanted)));
      done += count;
      if (count < wanted) break;
    } while (done < out.size());
    return done;
  }
  Result<uint64_t> skip(uint64_t count) override {
    constexpr uint64_t kPieceBytes = 64 << 20;
    for (uint64_t done = 0; done < count;) {
      if (stop_.stop_requested()) return cancelled();
      const uint64_t wanted = std::min(kPieceBytes, count - done);
      SHOAL_TRY(const uint64_t some, source_->skip(wanted));
      done += some;
      if (some < wanted) return done;
    }
    return count;
  }
  uint64_t left_max() const override { return source_->left_max(); }
  bool knows_its_end() const override { return source_->knows_its_end(); }
  uint64_t passed_over() const override { return source_->passed_over(); }

 private:
  const std::unique_ptr<ByteSource> source_;
  const StopToken stop_;
};

enum class Compression { kNone, kGzip, kZstd, kLz4 };

/// True if the file begins with the length of a TFRecord and the length's checksum. Such a file is no gzip file,
/// although one in 65,536 such lengths begins with the same two bytes as gzip.
Result<bool> begins_with_a_record(const ReadableFile& file) {
  std::array<char, kRecordHeadBytes> head{};
  if (file.size() < head.size()) return false;
  SHOAL_TRY_VOID(file.read_at(0, std::as_writable_bytes(std::span(head))));
  const std::string_view text(head.data(), head.size());
  return masked_crc(crc32c(text.substr(0, 8))) == load_little_endian<uint32_t>(text.substr(8));
}

/// Recognises the compression by the first bytes. zstd and lz4 files may begin with skippable frames, as pzstd(1) writes.
Result<Compression> compression_of(const ReadableFile& file) {
  constexpr uint32_t kZstdMagic = 0xfd2fb528, kLz4Magic = 0x184d2204, kSkippableMagic = 0x184d2a50,
                     kSkippableMask = 0xfffffff0;
  constexpr int kSkippedMax = 16;
  uint64_t offset = 0;
  for (int skipped = 0; skipped <= kSkippedMax; ++skipped) {
    std::array<char, 8> head{};
    const size_t count = size_t(std::min<uint64_t>(head.size(), file.size() - offset));
    if (count > 0) SHOAL_TRY_VOID(file.read_at(offset, std::as_writable_bytes(std::span(head)).first(count)));
    const std::string_view text(head.data(), head.size());
    if (offset == 0 && text.starts_with("\x1f\x8b")) {
      SHOAL_TRY(const bool is_record, begins_with_a_record(file));
      return is_record ? Compression::kNone : Compression::kGzip;
    }
    const auto magic = load_little_endian<uint32_t>(text.substr(0, 4));
    if (magic == kZstdMagic) return Compression::kZstd;
    if (magic == kLz4Magic) return Compression::kLz4;
    if ((magic & kSkippableMask) != kSkippableMagic || count < head.size()) break;
    const uint64_t next = offset + head.size() + load_little_endian<uint32_t>(text.substr(4));
    if (next > file.size()) break;
    offset = next;
  }
  return Compression::kNone;
}

Result<std::unique_ptr<ByteSource>> open_source(Storage& storage, const std::string& path) {
  SHOAL_TRY(std::unique_ptr<ReadableFile> file, storage.open(path));
  SHOAL_TRY(const Compression compression, compression_of(*file));
  switch (compression) {
    case Compression::kGzip: return open_gzip(std::move(file), path);
    case Compression::kZstd: return open_zstd(std::move(file), path);
    case Compression::kLz4: return open_lz4(std::move(file), path);
    case Compression::kNone: break;
  }
  return std::make_unique<PlainSource>(std::move(file));
}

}  // namespace

Result<uint64_t> ByteSource::skip(uint64_t count) {
  std::vector<std::byte> passed(size_t(std::min<uint64_t>(count, 64 << 10)));
  for (uint64_t skipped = 0; skipped < count;) {
    const size_t wanted = size_t(std::min<uint64_t>(passed.size(), count - skipped));
    SHOAL_TRY(const size_t some, read(std::span(passed).first(wanted)));
    skipped += some;
    if (some < wanted) return skipped;
  }
  return count;
}

Result<std::unique_ptr<ByteSource>> open_bytes(Storage& storage, const std::string& path, const StopToken& stop) {
  SHOAL_TRY(std::unique_ptr<ByteSource> source, open_source(storage, path));
  return stoppable(std::move(source), stop);
}

std::optional<std::string> passed_over_remark(const ByteSource& source, const std::string& path) {
  const uint64_t bytes = source.passed_over();
  if (bytes == 0) return std::nullopt;
  return path + ": the last " + std::to_string(bytes) +
         " bytes of the file are no gzip data, and are passed over, as gzip does; if rows are missing, the file is damaged "
         "there";
}

std::unique_ptr<ByteSource> stoppable(std::unique_ptr<ByteSource> source, const StopToken& stop) {
  if (!stop.stop_possible()) return source;
  return std::make_unique<StoppableSource>(std::move(source), stop);
}

}  // namespace shoal::data
