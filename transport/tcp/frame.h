// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What tcp puts on the wire around a body. All numbers little-endian.
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

#include "shoal/transport/message.h"

namespace shoal::transport::tcp {

/// Opens a connection, in both directions; the listener answers. The first 8 bytes never change, whatever the version.
///   0 u32 magic "SHOA"   4 u32 protocol version   8 u16 flags: 1 = wants payload checksums
///  10 u16 milliseconds after which the sender, having nothing to say, sends a heartbeat; 0: sends none and wants none
///  12 u32 status (answer only)
struct Preamble {
  uint32_t protocol = kProtocolVersion;
  bool checksum = false;
  std::chrono::milliseconds heartbeat{};  ///< At most 65,535.
  uint32_t status = 0;                    ///< One of kWelcome..kWantsCertificate.
};
inline constexpr uint32_t kWelcome = 0;
inline constexpr uint32_t kOtherProtocol = 1;
inline constexpr uint32_t kFull = 2;
inline constexpr uint32_t kWantsToken = 3;        ///< Answers a peer that came without TLS.
inline constexpr uint32_t kWantsCertificate = 4;  ///< Answers a peer that came without TLS.
inline constexpr size_t kPreambleBytes = 16;
using PreambleBytes = std::array<std::byte, kPreambleBytes>;
PreambleBytes encode(const Preamble& preamble);
/// DataLoss if it does not start as ours do.
Result<Preamble> decode(const PreambleBytes& bytes);

/// Precedes every body.
///    0 u32 magic "SHFR"    4 u8 version   5 u8 kind     6 u16 flags    8 u64 body bytes
///   16 u64 job            24 u64 epoch   32 u64 incarnation   40 u64 sequence   48 u64 reply_to   56 u64 global_step
///   64 u8 status          65 u8[7] 0     72 u64 XXH3 of the body, if flagged, else 0
///   80 u64 XXH3 of bytes 0..79
struct Frame {
  MessageHead head;
  bool checksummed = false;  ///< Flag 1: `checksum` is that of the body.
  bool farewell = false;     ///< Flag 2: a farewell message, an error that says why the sender closes; nothing follows.
  bool heartbeat = false;    ///< Flag 4: no message, and no body; only says that the sender lives.
  uint64_t body_bytes = 0;
  uint64_t checksum = 0;
};
inline constexpr size_t kFrameBytes = 88;
using FrameBytes = std::array<std::byte, kFrameBytes>;
void encode(const Frame& frame, FrameBytes& bytes);
/// DataLoss saying what is wrong. The kind is a known one; the length is not checked.
Result<Frame> decode(const FrameBytes& bytes);

uint64_t checksum_of(std::span<const std::byte> bytes);

}  // namespace shoal::transport::tcp
