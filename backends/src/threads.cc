// SPDX-License-Identifier: Apache-2.0
#include "threads.h"

#include <algorithm>
#include <array>
#include <atomic>

#include "shoal/base/check.h"
#include "team.h"

namespace shoal::backends {

/// A loop whose chunks are divided among threads. Each thread's share is a range of chunk numbers in one atomic word. The
/// owner takes chunks from the beginning of the range, and threads that have finished their own share take from its end.
class ChunkedLoop {
 public:
  static constexpr int kThreadsMax = 64;  // The most shares of chunks; any further threads have no own share.

  ChunkedLoop(int threads, int64_t count, int64_t chunk, detail::ChunkFunction body, void* context)
      : count_(count), chunk_(chunk), body_(body), context_(context), shares_(std::clamp(threads, 1, kThreadsMax)) {
    const int64_t chunks = (count + chunk - 1) / chunk;
    SHOAL_CHECK(chunks <= int64_t(UINT32_MAX));
    for (int64_t i = 0; i < shares_; ++i) {
      share_[size_t(i)].chunks = word(uint64_t(chunks * i / shares_), uint64_t(chunks * (i + 1) / shares_));
    }
  }

  void run(int thread) {
    Chunks chunks;
    chunks.loop_ = this;
    chunks.own_ = chunks.from_ = thread % shares_;
    body_(context_, thread, chunks);
  }

  bool take(int own, int& from, int64_t& begin, int64_t& end) {
    do {
      std::atomic<uint64_t>& share = share_[size_t(from)].chunks;
      uint64_t seen = share.load(std::memory_order_relaxed);
      while (first(seen) < last(seen)) {
        const bool mine = from == own;
        const uint64_t left = mine ? word(first(seen) + 1, last(seen)) : word(first(seen), last(seen) - 1);
        // Relaxed order suffices, since threads exchange only chunk numbers here. The team synchronises all other memory at
        // the beginning and at the end of a loop.
        if (!share.compare_exchange_weak(seen, left, std::memory_order_relaxed)) continue;
        begin = int64_t(mine ? first(seen) : last(seen) - 1) * chunk_;
        end = std::min(begin + chunk_, count_);
        return true;
      }
      from = (from + 1) % shares_;
    } while (from != own);
    return false;
  }

 private:
  static uint64_t word(uint64_t first, uint64_t last) { return first << 32 | last; }
  static uint64_t first(uint64_t word) { return word >> 32; }
  static uint64_t last(uint64_t word) { return word & UINT32_MAX; }

  struct alignas(64) Share {  // One cache line each.
    std::atomic<uint64_t> chunks;
  };
  int64_t count_, chunk_;
  detail::ChunkFunction body_;
  void* context_;
  int shares_;
  std::array<Share, kThreadsMax> share_;
};

bool Chunks::next(int64_t& begin, int64_t& end) { return loop_->take(own_, from_, begin, end); }

void detail::parallel_pieces(int pieces, PieceFunction run, void* context) {
  if (Team* const team = Team::of_this_thread()) return team->run(pieces, run, context);
  for (int piece = 0; piece < pieces; ++piece) run(context, piece);
}

void detail::parallel_ranges(int threads, int64_t count, RangeFunction run, void* context) {
  const auto ranges = std::min<int64_t>({threads, count, Team::kPiecesMax});
  backends::parallel_pieces(int(ranges),
                            [&](int piece) { run(context, count * piece / ranges, count * (piece + 1) / ranges); });
}

void detail::parallel_chunks(int threads, int64_t count, int64_t chunk, ChunkFunction run, void* context) {
  threads = int(std::min<int64_t>({threads, (count + chunk - 1) / chunk, Team::kPiecesMax}));
  ChunkedLoop loop(threads, count, chunk, run, context);
  backends::parallel_pieces(std::max(threads, 1), [&](int thread) { loop.run(thread); });
}

}  // namespace shoal::backends
