#pragma once
/// How a thread that computes is set up.

namespace shoal::backends::onednn {

inline constexpr int kTeamMax = 256;  ///< The most threads of a team.

/// Sets how many threads OpenMP may take for the calling thread's loops, and returns the number before; 0 (which changes
/// nothing, and is also a valid argument) where there is no OpenMP. Programs compute with 1, so oneDNN makes no team of its own:
/// one of OpenMP waits by spinning, for milliseconds, and with another program on one of its cores a call takes a hundred
/// times as long (TECH_NOTES 1.7).
int set_openmp_threads(int count);

/// First statement of a helper of a team: as begin_own_thread(), and set_openmp_threads(1).
void bind_helper_thread();

}  // namespace shoal::backends::onednn
