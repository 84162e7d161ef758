// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What two processes share besides the messages themselves: per direction, a ring of descriptors of messages, and one of
/// buffers given back. Each word has one writer; nothing in here is ever locked, so nothing stays locked when a process is
/// killed, and a descriptor that was not wholly written was never published.
///
/// The other side can write all of it at any time. So each side keeps its own positions to itself, only publishes them
/// here, copies what it reads before it looks at it, and checks every number.
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

/// Changes when anything that the two sides share changes its layout.
inline constexpr uint32_t kLayout = 2;

static_assert(std::atomic<uint32_t>::is_always_lock_free);  // It would not work between processes otherwise.
static_assert((kDescriptors & (kDescriptors - 1)) == 0 && (kSlots & (kSlots - 1)) == 0);

/// A message on its way: its head, and where in the sender's memory its body lies: [front][payload], the front being all of
/// the FlatBuffer before the bytes of its payload. A body without a payload is all front.
struct Descriptor {
  uint8_t kind = 0;
  uint8_t status = 0;
  uint8_t farewell = 0;  ///< True in the farewell message: an error that says why the sender closes; nothing follows.
  uint8_t has_body = 0;
  uint32_t slot = 0;  ///< What the receiver gives back when it needs the body no longer.
  uint64_t job = 0, epoch = 0, incarnation = 0, sequence = 0, reply_to = 0, global_step = 0;
  uint64_t segment = 0;
  uint64_t offset = 0;
  uint64_t front_bytes = 0;
  uint64_t payload_bytes = 0;
};
static_assert(sizeof(Descriptor) == 88 && std::is_trivially_copyable_v<Descriptor>);

/// What one side sends, in a segment of its own making or the peer's.
struct Lane {
  alignas(64) std::atomic<uint32_t> written;     // Descriptors ever written; set by the sender.
  alignas(64) std::atomic<uint32_t> read;        // Descriptors ever read; set by the receiver.
  alignas(64) std::atomic<uint32_t> given_back;  // Slots ever given back; set by the receiver.
  alignas(64) std::atomic<uint32_t> returns[kSlots];
  alignas(64) Descriptor descriptors[kDescriptors];
};

/// What a side that sleeps wants to be woken for, in bits. It sets them and then looks once more; whoever brings such a
/// thing about sees them, takes them away and rings. Both are sequentially consistent, so that one of the two sees the
/// other.
enum Wants : uint32_t {
  kMessages = 1,   ///< A descriptor was written.
  kRoom = 2,       ///< A descriptor was read.
  kSlotsBack = 4,  ///< A slot was given back.
  kMemory = 8,     ///< A slot with a large body was given back.
};

struct RingsLayout {
  struct alignas(64) Side {
    std::atomic<uint32_t> wants;
  } sides[2];     // The side that connected is 0, the one that accepted is 1.
  Lane lanes[2];  // Number i is what side i sends.
};
inline constexpr size_t kRingsBytes = (sizeof(RingsLayout) + 65535) / 65536 * 65536;  // Whole pages of any size.

/// The rings as side `side` sees them.
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

/// Wakes the other side. Any thread.
class Doorbell {
 public:
  Doorbell(std::shared_ptr<const Rings> rings, int socket) : rings_(std::move(rings)), socket_(socket) {}
  /// To be called after something of `what` (bits of Wants) was published: rings if the other side sleeps and wants to
  /// know.
  void notify(uint32_t what);
  /// Makes it mute; the socket may be closed.
  void close();

 private:
  const std::shared_ptr<const Rings> rings_;
  std::mutex mutex_;
  int socket_;  // Guarded by mutex_; -1 once closed.
};

}  // namespace shoal::transport::shm
