// SPDX-License-Identifier: Apache-2.0
#include "disk_file.h"

#include <algorithm>
#include <cerrno>

#include "shoal/base/path_error.h"

namespace shoal::testing {
namespace {

/// Buffers small appends, as the real file writer does, so a killed process loses the buffered bytes.
class DiskWriter final : public WritableFile {
 public:
  DiskWriter(OpenFile file, bool at_end)
      : file_(std::move(file)), at_end_(at_end), power_lost_(file_.disk->counts.power_lost) {}

  Result<void> append(std::span<const std::byte> bytes) override {
    if (failure_) return *failure_;
    if (closed_) return failed_precondition("cannot write " + file_.path + ": the file was closed");
    if (buffer_.size() + bytes.size() > kBufferBytes) SHOAL_TRY_VOID(flush());
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (bytes.size() >= kBufferBytes) return write(text);
    buffer_ += text;
    return {};
  }

  Result<void> flush() override {
    if (failure_) return *failure_;
    if (!buffer_.empty()) SHOAL_TRY_VOID(write(buffer_));
    buffer_.clear();
    return {};
  }

  Result<void> sync() override {
    SHOAL_TRY_VOID(flush());
    if (closed_) return keep(path_error("sync", file_.path, EBADF));
    Result<void> synced = perform("sync", [this](bool half) { return half ? 0 : (file_.node->sync(), 0); });
    // Behaves as kernels do. If a disk fails in a sync, the kernel drops the bytes that it could not write, and a second
    // sync succeeds without them. But if the host is cut off from the disk, the kernel keeps all bytes.
    if (!synced && !file_.link->cut_off) file_.node->drop_unsynced();
    return keep(std::move(synced));
  }

  Result<void> close() override {
    if (closed_) return {};
    Result<void> flushed = flush();
    closed_ = true;
    if (!flushed) return flushed;
    return keep(perform("close", [](bool) { return 0; }));
  }

 private:
  static constexpr size_t kBufferBytes = 64 * 1024;

  Result<void> perform(const char* verb, const DiskState::Effect& effect) {
    if (file_.disk->counts.power_lost != power_lost_) return path_error(verb, file_.path, EIO);
    return file_.disk->perform(*file_.link, {DiskCall::Kind::kChange, verb, file_.path}, effect);
  }
  Result<void> write(std::string_view bytes) {
    if (file_.disk->counts.power_lost != power_lost_) return keep(path_error("write", file_.path, EIO));
    const size_t offset = at_end_ ? file_.node->contents.size() : written_bytes_;
    written_bytes_ += bytes.size();
    Result<void> written = file_.disk->write(*file_.link, file_.path, *file_.node, offset, bytes);
    if (file_.link->late) file_.link->late->forget(file_.path);
    return keep(std::move(written));
  }
  Result<void> keep(Result<void> result) {
    if (!result) failure_ = result.error();
    return result;
  }

  OpenFile file_;
  bool at_end_;
  // How many power losses there had been when the file was opened. A further power loss makes this open file invalid.
  int64_t power_lost_;
  size_t written_bytes_ = 0;
  std::string buffer_;
  std::optional<Error> failure_;  // The first error.
  bool closed_ = false;
};

class DiskReader final : public ReadableFile {
 public:
  DiskReader(OpenFile file, uint64_t size, bool only_known)
      : file_(std::move(file)), size_(size), only_known_(only_known) {}

  uint64_t size() const override { return size_; }
  Result<void> read_at(uint64_t offset, std::span<std::byte> out) const override {
    if (out.empty()) return {};
    const DiskCall call{DiskCall::Kind::kRead, "read", file_.path};
    SHOAL_TRY_VOID(file_.disk->perform(*file_.link, call, [](bool) { return 0; }));
    const std::string& contents = file_.node->contents;
    const uint64_t end = only_known_ ? std::min<uint64_t>(size_, contents.size()) : contents.size();
    const uint64_t begin = std::min(end, offset);
    const size_t count = size_t(std::min<uint64_t>(out.size(), end - begin));
    std::copy_n(reinterpret_cast<const std::byte*>(contents.data()) + begin, count, out.data());
    if (count == out.size()) return {};
    return data_loss(file_.path + ": ends at byte " + std::to_string(size_) + ", but " +
                     std::to_string(out.size() - count) + " bytes from " + std::to_string(offset + count) +
                     " are needed; the file was cut");
  }

 private:
  OpenFile file_;
  uint64_t size_;
  bool only_known_;
};

}  // namespace

std::unique_ptr<WritableFile> make_writable_file(OpenFile file, bool at_end) {
  return std::make_unique<DiskWriter>(std::move(file), at_end);
}

std::unique_ptr<ReadableFile> make_readable_file(OpenFile file, uint64_t size, bool only_known) {
  return std::make_unique<DiskReader>(std::move(file), size, only_known);
}

}  // namespace shoal::testing
