// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What tcp sends besides the bodies of messages: a preamble for each connection, and a head for each message. All numbers
/// are little-endian.
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

#include "shoal/transport/message.h"

namespace shoal::transport::tcp {

/// The preamble opens a connection, in both directions; the listener's is the answer. The first 8 bytes never change,
/// whatever the version.
///   0 u32 magic "SHOA"   4 u32 protocol version   8 u16 flags: 1 = wants payload checksums
///  10 u16 milliseconds after which a sender without other traffic sends a heartbeat; 0: sends none and wants none
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
inline constexpr uint32_t kWantsToken = 3;        ///< The answer to a peer without TLS: a token is required.
inline constexpr uint32_t kWantsCertificate = 4;  ///< The answer to a peer without TLS: certificates are required.
inline constexpr size_t kPreambleBytes = 16;
using PreambleBytes = std::array<std::byte, kPreambleBytes>;
PreambleBytes encode(const Preamble& preamble);
/// DataLoss unless the bytes begin with the magic number.
Result<Preamble> decode(const PreambleBytes& bytes);

/// The frame head, which precedes every body.
///    0 u32 magic "SHFR"    4 u8 version   5 u8 kind     6 u16 flags    8 u64 body bytes
///   16 u64 job            24 u64 epoch   32 u64 incarnation   40 u64 sequence   48 u64 reply_to   56 u64 global_step
///   64 u8 status          65 u8[7] 0     72 u64 XXH3 of the body, if flagged, else 0
///   80 u64 XXH3 of bytes 0..79
struct Frame {
  MessageHead head;
  bool checksummed = false;  ///< Flag 1: `checksum` is the checksum of the body.
  /// Flag 2: the farewell message, an error that says why the sender closes. Nothing follows it.
  bool farewell = false;
  bool heartbeat = false;  ///< Flag 4: a heartbeat, which has no body and is not a message.
  uint64_t body_bytes = 0;
  uint64_t checksum = 0;
};
inline constexpr size_t kFrameBytes = 88;
using FrameBytes = std::array<std::byte, kFrameBytes>;
void encode(const Frame& frame, FrameBytes& bytes);
/// DataLoss says what is wrong with the bytes. Checks that the kind of the message is a known one, but not the body's
/// length.
Result<Frame> decode(const FrameBytes& bytes);

uint64_t checksum_of(std::span<const std::byte> bytes);

}  // namespace shoal::transport::tcp
