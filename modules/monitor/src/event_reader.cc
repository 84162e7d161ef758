// SPDX-License-Identifier: Apache-2.0
#include "shoal/monitor/event_reader.h"

#include <algorithm>

#include "event_codec.h"
#include "shoal/base/record_framing.h"

namespace shoal::monitor {
namespace {

constexpr uint64_t kBlockBytes = uint64_t(1) << 18;

}  // namespace

/// Fills the buffer with at least `bytes` bytes after consumed_. False if the file has fewer at present.
Result<bool> EventFileReader::fill(uint64_t bytes) {
  if (buffer_.size() - consumed_ >= bytes) return true;
  buffer_.erase(0, consumed_);
  consumed_ = 0;
  // An open file may go on reporting the size that it had at its opening, so a growing file is opened again.
  if (!file_ || offset_ + bytes > file_->size()) {
    SHOAL_TRY(file_, storage_.open(path_));
    if (file_->size() < offset_ + buffer_.size()) return data_loss(path_ + ": became shorter while being read");
    // The comparison comes before any allocation: `bytes` is a number from the file.
    if (bytes > file_->size() - offset_) return false;
  }
  const size_t had = buffer_.size();
  buffer_.resize(size_t(std::min(std::max(bytes, kBlockBytes), file_->size() - offset_)));
  Result<void> read = file_->read_at(offset_ + had, std::as_writable_bytes(std::span(buffer_)).subspan(had));
  if (read) return true;
  buffer_.resize(had);
  return std::move(read).error();
}

Result<bool> EventFileReader::read_record() {
  const auto damaged = [&](const std::string& what) {
    damage_ = data_loss("event file " + path_ + ": the record at byte " + std::to_string(offset_) + " is damaged (" + what +
                        "); what follows it cannot be read");
    return *damage_;
  };
  SHOAL_TRY(const bool has_head, fill(kRecordHeadBytes));
  if (!has_head) return false;
  const std::string_view head = std::string_view(buffer_).substr(consumed_, kRecordHeadBytes);
  if (load_little_endian<uint32_t>(head.substr(8)) != masked_crc(crc32c(head.substr(0, 8)))) {
    return damaged("checksum of its length");
  }
  const uint64_t length = load_little_endian<uint64_t>(head);
  constexpr uint64_t kFrameBytes = kRecordHeadBytes + kRecordTailBytes;
  if (length > UINT64_MAX / 4) return damaged("its length");
  SHOAL_TRY(const bool complete, fill(kFrameBytes + length));
  if (!complete) return false;
  const std::string_view payload = std::string_view(buffer_).substr(consumed_ + kRecordHeadBytes, size_t(length));
  const uint32_t expected = load_little_endian<uint32_t>(
      std::string_view(buffer_).substr(consumed_ + kRecordHeadBytes + size_t(length), kRecordTailBytes));
  if (masked_crc(crc32c(payload)) != expected) return damaged("checksum of its contents");
  Result<std::vector<EventValue>> values = decode_event(payload);
  if (!values) return damaged(values.error().message());
  pending_ = std::move(values).value();
  if (pending_.empty()) {
    Result<std::optional<EventStart>> start = decode_start(payload);
    if (!start) return damaged(start.error().message());
    if (*start) starts_.push_back(**start);
  }
  std::reverse(pending_.begin(), pending_.end());
  consumed_ += size_t(kFrameBytes + length);
  offset_ += kFrameBytes + length;
  return true;
}

Result<bool> EventFileReader::next(EventValue& value) {
  while (pending_.empty()) {
    if (damage_) return *damage_;
    SHOAL_TRY(const bool found, read_record());
    if (!found) return false;
  }
  value = std::move(pending_.back());
  pending_.pop_back();
  return true;
}

bool EventFileReader::cut() const { return file_ && file_->size() > offset_; }

Result<std::vector<std::string>> list_event_files(Storage& storage, const std::string& folder) {
  std::vector<std::string> paths;
  Result<std::vector<FileInfo>> listing = storage.list(folder);
  if (!listing && listing.error().kind() == ErrorKind::kNotFound) return paths;
  if (!listing) return std::move(listing).error();
  for (const FileInfo& file : *listing) {
    if (!file.is_folder && file.name.find("tfevents") != std::string::npos) paths.push_back(join_path(folder, file.name));
  }
  return paths;
}

Result<std::vector<Error>> read_events(Storage& storage, const std::string& folder,
                                       const std::function<bool(const EventValue&)>& visit) {
  SHOAL_TRY(const std::vector<std::string> paths, list_event_files(storage, folder));
  std::vector<Error> damage;
  for (const std::string& path : paths) {
    EventFileReader reader(storage, path);
    for (EventValue value;;) {
      Result<bool> found = reader.next(value);
      if (!found && found.error().kind() == ErrorKind::kDataLoss) damage.push_back(found.error());
      // A file that vanished after the listing was deleted by its owner, so NotFound is no error here.
      else if (!found && found.error().kind() != ErrorKind::kNotFound)
        return std::move(found).error();
      if (!found || !*found) break;
      if (!visit(value)) return damage;
    }
  }
  return damage;
}

}  // namespace shoal::monitor
