// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Two ends of a TCP connection in one process, blocking, and what two threads do over them: as little as is possible.
#include <cstring>
#include <thread>
#include <vector>

#include "latencies.h"
#include "pair.h"
#include "touch.h"

namespace shoal::bench {

/// Two sockets on 127.0.0.1, without Nagle's delay. Each end is one thread's.
class SocketPair {
 public:
  SocketPair();
  ~SocketPair();
  SocketPair(const SocketPair&) = delete;

  void write(int end, const std::byte* data, size_t bytes);
  void read(int end, std::byte* data, size_t bytes);
  int descriptor(int end) const { return ends_[end]; }

 private:
  int ends_[2];
};

/// Runs `there` and, on a thread of its own, `back`; times both together.
template <class There, class Back>
Exchange together(const There& there, const Back& back) {
  Exchange exchange;
  const double start = now_seconds(), processor_start = processor_seconds();
  std::thread other(back);
  there(exchange);
  other.join();
  exchange.seconds = now_seconds() - start;
  exchange.processor_seconds = processor_seconds() - processor_start;
  return exchange;
}

/// `bytes` there and back. `Ends` reads and writes as a SocketPair does.
template <class Ends>
Exchange round_trips_over(Ends&& ends, size_t bytes, int64_t count) {
  std::vector<std::byte> here(bytes), there(bytes);
  return together(
      [&](Exchange& exchange) {
        for (int64_t i = 0; i < count; ++i) {
          const double start = now_seconds();
          ends.write(0, here.data(), bytes);
          ends.read(0, here.data(), bytes);
          exchange.round_trips.add(now_seconds() - start);
        }
      },
      [&] {
        for (int64_t i = 0; i < count; ++i) {
          ends.read(1, there.data(), bytes);
          ends.write(1, there.data(), bytes);
        }
      });
}

/// `bytes` one way; with `touch` filled before and added up after.
template <class Ends>
Exchange stream_over(Ends&& ends, size_t bytes, int64_t count, bool touch) {
  std::vector<std::byte> from(bytes), to(bytes);
  uint64_t sum = 0;
  return together(
      [&](Exchange&) {
        for (int64_t i = 0; i < count; ++i) {
          if (touch) std::memset(from.data(), int(i & 0xff), bytes);
          ends.write(0, from.data(), bytes);
        }
        std::byte done{};
        ends.read(0, &done, 1);
      },
      [&] {
        for (int64_t i = 0; i < count; ++i) {
          ends.read(1, to.data(), bytes);
          if (touch) sum += read_all(to);
        }
        const std::byte done{uint8_t(sum)};
        ends.write(1, &done, 1);
      });
}

}  // namespace shoal::bench
