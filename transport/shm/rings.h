// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The memory that two processes share besides the bodies of messages. It has two rings for each direction: one of
/// descriptors, which describe messages, and one of the buffers that the receiver gives back. Each word has one writer.
/// There are no locks, so no lock stays locked when a process is killed. A descriptor that was not completely written was
/// never published.
///
/// The other side can write all of this memory at any time. So each side keeps the numbers of what it wrote and read in its
/// own memory and only copies them to here, copies what it reads before it checks it, and checks every number.
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <type_traits>

#include "bounds.h"
#include "segment.h"
#include "shoal/transport/message.h"

namespace shoal::transport::shm {

/// Changes when the layout of anything that the two sides share changes.
inline constexpr uint32_t kLayout = 2;

static_assert(std::atomic<uint32_t>::is_always_lock_free);  // Atomics with locks do not work between processes.
static_assert((kDescriptors & (kDescriptors - 1)) == 0 && (kSlots & (kSlots - 1)) == 0);

/// Describes a message: its head, and the place of its body in the sender's memory, [front][payload]. The front is all of
/// the FlatBuffer before the bytes of its payload. A body without a payload consists of the front only.
struct Descriptor {
  uint8_t kind = 0;
  uint8_t status = 0;
  uint8_t farewell = 0;  ///< 1 for the farewell message: an error that says why the sender closes. Nothing follows it.
  uint8_t has_body = 0;
  uint32_t slot = 0;  ///< The number that the receiver gives back when it no longer needs the body.
  uint64_t job = 0, epoch = 0, incarnation = 0, sequence = 0, reply_to = 0, global_step = 0;
  uint64_t segment = 0;
  uint64_t offset = 0;
  uint64_t front_bytes = 0;
  uint64_t payload_bytes = 0;
};
static_assert(sizeof(Descriptor) == 88 && std::is_trivially_copyable_v<Descriptor>);

/// One direction of the connection: the messages that one side sends, and the buffers that the other side gives back.
struct Lane {
  alignas(64) std::atomic<uint32_t> written;     // How many messages' descriptors were written; set by the sender.
  alignas(64) std::atomic<uint32_t> read;        // How many messages' descriptors were read; set by the receiver.
  alignas(64) std::atomic<uint32_t> given_back;  // How many buffers (slots) were given back; set by the receiver.
  alignas(64) std::atomic<uint32_t> returns[kSlots];
  alignas(64) Descriptor descriptors[kDescriptors];
};

/// The events for which a sleeping side wants to be woken, as bits. The side sets the bits, and then checks once more
/// whether an event has happened. The other side, when it causes such an event, checks the bits, clears them, and wakes the
/// sleeping side. All these accesses are sequentially consistent, so at least one of the two sides notices the other.
enum Wants : uint32_t {
  kMessages = 1,   ///< Wake this side when the peer has written a message's descriptor.
  kRoom = 2,       ///< Wake this side when the peer has read a message's descriptor, and so made room for another one.
  kSlotsBack = 4,  ///< Wake this side when the peer has given a buffer (slot) back.
  kMemory = 8,     ///< Wake this side when the peer has given a large buffer back.
};

struct RingsLayout {
  struct alignas(64) Side {
    std::atomic<uint32_t> wants;
  } sides[2];     // Side 0 has connected, side 1 has accepted.
  Lane lanes[2];  // Lane i has the messages that side i sends.
};
inline constexpr size_t kRingsBytes = (sizeof(RingsLayout) + 65535) / 65536 * 65536;  // Whole pages on any system.

/// The shared memory as side `side` of the connection sees it: the messages that it sends, and those that it receives.
class Rings {
 public:
  Rings(Mapping memory, int side) : memory_(std::move(memory)), side_(side) {}
  Lane& sent() const { return layout().lanes[side_]; }
  Lane& received() const { return layout().lanes[1 - side_]; }
  std::atomic<uint32_t>& our_wants() const { return layout().sides[side_].wants; }
  std::atomic<uint32_t>& their_wants() const { return layout().sides[1 - side_].wants; }

 private:
  RingsLayout& layout() const { return *reinterpret_cast<RingsLayout*>(memory_.data()); }
  Mapping memory_;
  const int side_;
};

/// Wakes the other side. Thread-safe.
class Doorbell {
 public:
  Doorbell(std::shared_ptr<const Rings> rings, int socket) : rings_(std::move(rings)), socket_(socket) {}
  /// Call it after causing the events `what` (bits of Wants): wakes the other side if it sleeps and wants to be woken for
  /// one of them.
  void notify(uint32_t what);
  /// Makes further calls of notify() do nothing, so that the socket may be closed.
  void close();

 private:
  const std::shared_ptr<const Rings> rings_;
  std::mutex mutex_;
  int socket_;  // Guarded by mutex_; -1 once closed.
};

}  // namespace shoal::transport::shm
