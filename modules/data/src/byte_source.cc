// SPDX-License-Identifier: Apache-2.0
#include "byte_source.h"

#include <algorithm>
#include <array>
#include <vector>

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

/// The bytes of another source, in pieces between which somebody may ask for a stop.
class StoppableSource final : public ByteSource {
 public:
  StoppableSource(std::unique_ptr<ByteSource> source, StopToken stop)
      : source_(std::move(source)), stop_(std::move(stop)) {}
  Result<size_t> read(std::span<std::byte> out) override {
    constexpr size_t kPieceBytes = 4 << 20;  // Milliseconds of reading, or some ten of unpacking.
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

Result<std::unique_ptr<ByteSource>> open_source(Storage& storage, const std::string& path) {
  SHOAL_TRY(std::unique_ptr<ReadableFile> file, storage.open(path));
  std::array<std::byte, 2> magic{};
  if (file->size() >= magic.size()) SHOAL_TRY_VOID(file->read_at(0, magic));
  if (magic[0] == std::byte(0x1f) && magic[1] == std::byte(0x8b)) return open_gzip(std::move(file), path);
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
  if (!stop.stop_possible()) return source;
  return std::make_unique<StoppableSource>(std::move(source), stop);
}

}  // namespace shoal::data
