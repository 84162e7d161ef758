// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Runs loops in parallel on the calling thread and its helpers (team.h).
#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "shoal/graph/cost.h"

namespace shoal::backends {

inline constexpr int64_t kFloatBytes = int64_t(sizeof(float));
inline constexpr int kTeamMax = 256;  ///< The most threads of a team.

/// The chunks of a loop that one thread takes. It first takes the chunks of its own share, from the first to the last, so
/// each core finds in its cache what it worked on before. Then it takes chunks that are left in the shares of other
/// threads, from the last to the first. So if one core is slower than the others (shared with another program, or of a
/// slower kind), the others do a part of its work.
class Chunks {
 public:
  /// Takes the next chunk. False if all chunks are taken.
  bool next(int64_t& begin, int64_t& end);

 private:
  friend class ChunkedLoop;
  class ChunkedLoop* loop_ = nullptr;
  int own_ = 0, from_ = 0;
};

namespace detail {
using ChunkFunction = void (*)(void* context, int thread, Chunks& chunks);
void parallel_chunks(int threads, int64_t count, int64_t chunk, ChunkFunction run, void* context);
using RangeFunction = void (*)(void* context, int64_t begin, int64_t end);
void parallel_ranges(int threads, int64_t count, RangeFunction run, void* context);
using PieceFunction = void (*)(void* context, int piece);
void parallel_pieces(int pieces, PieceFunction run, void* context);
}  // namespace detail

/// Returns how many of `threads` threads should run a loop that reads and writes `work_bytes` in all: one if the loop takes
/// too little time to be worth waking a team.
inline int team_for(int threads, int64_t work_bytes) {
  constexpr int64_t kWorthATeamBytes = 256 << 10;  // About 20 us of memory traffic; waking a team costs 1 to 5 us.
  return work_bytes < kWorthATeamBytes ? 1 : std::min(threads, kTeamMax);
}

/// Returns how many of `threads` threads should compute a step of this total cost: one unless the step contains several
/// loops that are worth a team. With fewer loops, waking the team costs as much time as it saves.
inline int worth_threads(int threads, const NodeCost& step) {
  constexpr double kLoopsMin = 4, kFlopsPerByte = 8;
  return team_for(threads, int64_t((step.bytes + step.flops / kFlopsPerByte) / kLoopsMin));
}

/// Calls body(begin, end) over disjoint ranges that cover [0, count), on up to `threads` threads. Ranges depend on the
/// thread count, so elements must not depend on each other. Runs on the calling thread if team_for() gives one thread.
template <class Body>
void parallel_for(int threads, int64_t count, int64_t work_bytes, Body&& body) {
  if (count <= 1 || team_for(threads, work_bytes) <= 1) return body(int64_t(0), count);
  using Held = std::remove_reference_t<Body>;
  detail::parallel_ranges(
      threads, count, [](void* held, int64_t begin, int64_t end) { (*static_cast<Held*>(held))(begin, end); }, &body);
}

/// Divides [0, count) into chunks of `chunk` (the last one may be smaller). Calls body(thread, chunks) on up to `threads`
/// threads, numbered from 0; each call takes chunks from `chunks` until all are taken. Which thread takes which chunk
/// differs from run to run, so results must not depend on it. Runs on the calling thread if team_for() gives one thread.
template <class Body>
void parallel_chunks(int threads, int64_t count, int64_t chunk, int64_t work_bytes, Body&& body) {
  using Held = std::remove_reference_t<Body>;
  detail::parallel_chunks(
      team_for(threads, work_bytes), count, chunk,
      [](void* held, int thread, Chunks& chunks) { (*static_cast<Held*>(held))(thread, chunks); }, &body);
}

/// Calls body(piece) once for each piece in [0, pieces), in parallel.
template <class Body>
void parallel_pieces(int pieces, Body&& body) {
  if (pieces == 1) return body(0);
  using Held = std::remove_reference_t<Body>;
  detail::parallel_pieces(
      pieces, [](void* held, int piece) { (*static_cast<Held*>(held))(piece); }, &body);
}

}  // namespace shoal::backends
