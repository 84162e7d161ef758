// SPDX-License-Identifier: Apache-2.0
#include "raw.h"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "shoal/base/buffer.h"
#include "shoal/base/check.h"
#include "shoal/base/cpu.h"
#include "sockets.h"
#include "touch.h"

namespace shoal::bench {
namespace {

/// A word that one side changes and the other waits for, in memory that processes could share.
struct alignas(64) Signal {
  std::atomic<uint32_t> value{0};
  std::atomic<uint32_t> sleeping{0};

  void set(uint32_t to) {
    value.store(to);
    if (sleeping.load()) ::syscall(SYS_futex, &value, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  }
  void wait_for(uint32_t wanted, bool spin) {
    while (spin && value.load(std::memory_order_acquire) != wanted) relax_cpu();
    if (value.load() == wanted) return;
    sleeping.store(1);
    for (uint32_t seen; (seen = value.load()) != wanted;) {
      ::syscall(SYS_futex, &value, FUTEX_WAIT, seen, nullptr, nullptr, 0);
    }
    sleeping.store(0);
  }
};

/// Shared, as it would be between processes.
class SharedMemory {
 public:
  explicit SharedMemory(size_t bytes) : bytes_(bytes) {
    data_ = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    SHOAL_CHECK(data_ != MAP_FAILED);
  }
  ~SharedMemory() { ::munmap(data_, bytes_); }
  SharedMemory(const SharedMemory&) = delete;
  std::byte* data() { return static_cast<std::byte*>(data_); }

 private:
  void* data_;
  size_t bytes_;
};

}  // namespace

Exchange futex_round_trips(int64_t count, bool spin) {
  SharedMemory memory(2 * sizeof(Signal));
  auto *const there = new (memory.data()) Signal, *const back = new (memory.data() + sizeof(Signal)) Signal;
  return together(
      [&](Exchange& exchange) {
        for (uint32_t i = 1; i <= uint32_t(count); ++i) {
          const double start = now_seconds();
          there->set(i);
          back->wait_for(i, spin);
          exchange.round_trips.add(now_seconds() - start);
        }
      },
      [&] {
        for (uint32_t i = 1; i <= uint32_t(count); ++i) {
          there->wait_for(i, spin);
          back->set(i);
        }
      });
}

Exchange socket_round_trips(size_t bytes, int64_t count) { return round_trips_over(SocketPair(), bytes, count); }

Exchange socket_stream(size_t bytes, int64_t count, bool touch) { return stream_over(SocketPair(), bytes, count, touch); }

Exchange socket_push_pull(size_t bytes, int64_t count) {
  SocketPair sockets;
  std::vector<std::byte> here(bytes);
  const pid_t server = ::fork();
  SHOAL_CHECK(server >= 0);
  if (server == 0) {
    const size_t floats = bytes / sizeof(float);
    std::vector<float> own(floats), received(floats);
    for (int64_t i = 0; i < count; ++i) {
      sockets.read(1, reinterpret_cast<std::byte*>(received.data()), bytes);
      for (size_t j = 0; j < floats; ++j) own[j] += received[j];
      sockets.write(1, reinterpret_cast<const std::byte*>(own.data()), bytes);
    }
    ::_exit(0);
  }
  Exchange exchange;
  const double begin = now_seconds();
  for (int64_t i = 0; i < count; ++i) {
    const double start = now_seconds();
    sockets.write(0, here.data(), bytes);
    sockets.read(0, here.data(), bytes);
    exchange.round_trips.add(now_seconds() - start);
  }
  exchange.seconds = now_seconds() - begin;
  ::waitpid(server, nullptr, 0);
  return exchange;
}

Exchange hand_over(size_t bytes, int64_t count, size_t slots) {
  SharedMemory memory(2 * sizeof(Signal) + slots * align_up(bytes));
  auto *const filled = new (memory.data()) Signal, *const freed = new (memory.data() + sizeof(Signal)) Signal;
  std::byte* const data = memory.data() + 2 * sizeof(Signal);
  const auto slot = [&](int64_t i) { return data + size_t(i) % slots * align_up(bytes); };
  std::memset(data, 1, slots * align_up(bytes));  // A message's memory has been used before, too.
  uint64_t sum = 0;
  return together(
      [&](Exchange&) {
        for (int64_t i = 0; i < count; ++i) {
          while (i - int64_t(freed->value.load(std::memory_order_acquire)) >= int64_t(slots)) relax_cpu();
          std::memset(slot(i), int(i & 0xff), bytes);
          filled->set(uint32_t(i + 1));
        }
        freed->wait_for(uint32_t(count), true);
      },
      [&] {
        for (int64_t i = 0; i < count; ++i) {
          while (int64_t(filled->value.load(std::memory_order_acquire)) <= i) relax_cpu();
          sum += read_all({slot(i), bytes});
          freed->set(uint32_t(i + 1));
        }
        keep(sum);
      });
}

double copy_seconds(size_t bytes) {
  std::vector<std::byte> from(bytes, std::byte{1}), to(bytes);
  const auto time = [&](int64_t count) {
    const double start = now_seconds();
    for (int64_t i = 0; i < count; ++i) {
      std::memcpy(to.data(), from.data(), bytes);
      keep(to[size_t(i) % bytes]);
    }
    return (now_seconds() - start) / double(count);
  };
  return time(repetitions(time(2), 0.05, 2, 1 << 22));
}

}  // namespace shoal::bench
