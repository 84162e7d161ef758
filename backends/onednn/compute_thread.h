// SPDX-License-Identifier: Apache-2.0
#pragma once
/// How a thread that computes is set up.

namespace shoal::backends::onednn {

inline constexpr int kTeamMax = 256;  ///< The most threads of a team.

/// Sets how many threads OpenMP may use for the calling thread's loops, and returns how many it might use before. Where
/// there is no OpenMP, the function returns 0; 0 as an argument changes nothing. Programs compute with 1, so that oneDNN
/// makes no team of its own: the threads of an OpenMP team wait by spinning for milliseconds, and where another program
/// uses one of the team's cores, a call takes a hundred times as long (TECH_NOTES 1.7).
int set_openmp_threads(int count);

/// First statement of a helper of a team: as begin_own_thread(), and set_openmp_threads(1).
void bind_helper_thread();

}  // namespace shoal::backends::onednn
