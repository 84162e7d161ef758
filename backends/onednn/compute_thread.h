#pragma once
/// How a thread that computes is set up.

namespace shoal::backends::onednn {

inline constexpr int kTeamMax = 256;  ///< The most threads of a team.

/// First statement of every thread that computes, for `threads` threads or alone: denormals are flushed to zero (a
/// matmul with denormal input is 250 times slower), and oneDNN makes no team of its own, since one of OpenMP waits by
/// spinning, for milliseconds: with another program on one of its cores, a call takes a hundred times as long
/// (TECH_NOTES 1.7).
void bind_compute_thread(int threads);

}  // namespace shoal::backends::onednn
