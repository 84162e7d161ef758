// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Cuts messages into TLS records.
#include <algorithm>
#include <cstring>
#include <span>

#include "net.h"

namespace shoal::transport::tcp {

inline constexpr size_t kRecordBytesMax = 16 * 1024;  // The most bytes of plain text in a TLS record (RFC 8446, 5.1).

/// Cuts the buffers `parts`, such as the heads and bodies of messages, into TLS records. next() returns bytes of the first
/// part itself if these fill a record. Otherwise it copies the bytes of several parts to `scratch`, so that short messages
/// share a record.
class RecordCutter {
 public:
  RecordCutter(std::span<const asio::const_buffer> parts, std::span<std::byte, kRecordBytesMax> scratch)
      : parts_(parts), scratch_(scratch) {
    skip_empty();
  }
  bool empty() const { return parts_.empty(); }
  asio::const_buffer next() {
    const asio::const_buffer first = rest();
    if (first.size() >= kRecordBytesMax || parts_.size() == 1) return take(std::min(first.size(), kRecordBytesMax));
    size_t gathered = 0;
    while (!empty() && gathered < kRecordBytesMax) {
      const asio::const_buffer part = take(std::min(rest().size(), kRecordBytesMax - gathered));
      std::memcpy(scratch_.data() + gathered, part.data(), part.size());
      gathered += part.size();
    }
    return asio::buffer(scratch_.data(), gathered);
  }

 private:
  asio::const_buffer rest() const { return parts_.front() + taken_; }
  asio::const_buffer take(size_t bytes) {
    const asio::const_buffer taken = asio::buffer(rest(), bytes);
    taken_ += bytes;
    skip_empty();
    return taken;
  }
  void skip_empty() {
    while (!parts_.empty() && taken_ == parts_.front().size()) {
      parts_ = parts_.subspan(1);
      taken_ = 0;
    }
  }
  std::span<const asio::const_buffer> parts_;
  std::span<std::byte, kRecordBytesMax> scratch_;
  size_t taken_ = 0;  // How many bytes of the first part are used.
};

}  // namespace shoal::transport::tcp
