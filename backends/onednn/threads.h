#pragma once
/// Compute threads: how many oneDNN's OpenMP team has, and loops of our own on that same team.
#include <cstdint>
#include <type_traits>

namespace shoal::backends::onednn {

/// First statement of every thread that computes: the size of its team (OpenMP keeps it per calling thread, and a new
/// thread does not inherit it), and denormals flushed to zero (a matmul with denormal input is 250 times slower).
void bind_compute_thread(int threads);

namespace detail {
using RangeFunction = void (*)(void* context, int64_t begin, int64_t end);
void parallel_ranges(int threads, int64_t count, RangeFunction run, void* context);
}  // namespace detail

/// body(begin, end) over disjoint ranges that cover [0, count), on up to `threads` threads. Ranges depend on the thread
/// count, so elements must not depend on each other. Runs in place where it is not worth a team: `work_bytes` is what the
/// whole loop reads and writes.
template <class Body>
void parallel_for(int threads, int64_t count, int64_t work_bytes, Body&& body) {
  constexpr int64_t kWorthATeamBytes = 256 << 10;  // about 20 us of memory traffic; waking a team costs 1 to 5 us
  if (threads <= 1 || count <= 1 || work_bytes < kWorthATeamBytes) return body(int64_t(0), count);
  using Held = std::remove_reference_t<Body>;
  detail::parallel_ranges(
      threads, count, [](void* held, int64_t begin, int64_t end) { (*static_cast<Held*>(held))(begin, end); }, &body);
}

}  // namespace shoal::backends::onednn
