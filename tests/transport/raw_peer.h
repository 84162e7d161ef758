// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A peer of tcp made of bare sockets, which can say what no Shoal task would. Lays bytes out by hand, from the tables in
/// transport/tcp/frame.h.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "shoal/transport/transport.h"

namespace shoal::transport {

using Bytes = std::vector<std::byte>;

Bytes raw_preamble(uint32_t protocol, uint32_t status = 0, uint16_t heartbeat_ms = 0);
inline constexpr uint16_t kUsualHeartbeatMs = 5000;  // What a listener says that was not told otherwise.
struct RawFrame {
  uint32_t magic = 0x52464853;
  uint8_t version = uint8_t(kProtocolVersion);
  uint8_t kind = uint8_t(MessageKind::kPull);
  uint16_t flags = 0;
  uint64_t length = 0;
  uint64_t sequence = 0;
  uint64_t checksum = 0;
  bool sealed = true;  ///< True if the checksum of the head is right.
};
Bytes raw_frame(const RawFrame& frame);
uint64_t raw_checksum(const Bytes& bytes);
void append(Bytes& to, const Bytes& more);

class RawPeer {
 public:
  explicit RawPeer(const Endpoint& endpoint);  ///< Connects; the port is taken from "127.0.0.1:port".
  ~RawPeer();
  RawPeer(const RawPeer&) = delete;
  RawPeer& operator=(const RawPeer&) = delete;

  /// False once the other side no longer takes anything.
  bool send(const Bytes& bytes);
  /// Up to `bytes`, fewer if the other side ends or says nothing for `timeout_ms`.
  Bytes receive(size_t bytes, int timeout_ms = 10000);
  /// True if the other side ends the connection (also by reset) within the time; what arrives before is dropped.
  bool ended_within(int timeout_ms);
  void reset();  ///< Closes the connection by a reset.

 private:
  int socket_ = -1;
};

/// Listens on a free port of 127.0.0.1 and answers one connection with `answer`, then waits for its end.
class RawListener {
 public:
  RawListener();
  ~RawListener();
  Endpoint endpoint() const;
  void answer_one(const Bytes& answer);

 private:
  int socket_ = -1;
};

}  // namespace shoal::transport
