// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A peer of shm made of bare sockets and memory, which can say what no Shoal task would.
#include <optional>

#include "address.h"
#include "control.h"
#include "rings.h"
#include "segment.h"

namespace shoal::transport::shm {

class RawPeer {
 public:
  explicit RawPeer(const Endpoint& endpoint);  ///< Connects to the listener.
  explicit RawPeer(const SocketName& name);
  /// Sends a datagram; false once the other side no longer takes anything.
  bool send(std::span<const std::byte> bytes, int descriptor = -1);
  template <class T>
  bool send(const T& what, int descriptor = -1) {
    return send(std::as_bytes(std::span(&what, 1)), descriptor);
  }
  /// Introduces itself as Shoal does; none: the other side hung up.
  std::optional<Preamble> introduce(Preamble ours = {.layout = kLayout});
  /// True if the other side hangs up within the time; what arrives before is dropped.
  bool ended_within(int timeout_ms);

  /// How many wake-ups, or signs of life, have come until now and were not asked for before.
  int rings_heard();

  /// Both are to be called after introduce().
  Lane& sent() { return rings_->sent(); }
  Rings& rings() { return *rings_; }
  /// Makes memory and announces it.
  Mapping& share(uint64_t id, size_t bytes);
  /// Writes a descriptor and publishes it.
  void publish(const Descriptor& descriptor);
  void ring() { send(uint32_t(Notice::kRing)); }

 private:
  bool readable_within(int timeout_ms);
  File socket_;
  std::optional<Rings> rings_;
  uint32_t written_ = 0;
  std::optional<Segment> shared_;
};

/// This thread as another user, where it may do that.
class AnotherUser {
 public:
  static bool possible();
  AnotherUser();
  ~AnotherUser();
  AnotherUser(const AnotherUser&) = delete;
  AnotherUser& operator=(const AnotherUser&) = delete;
};

}  // namespace shoal::transport::shm
