// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Limits the threads that oneDNN may take from OpenMP.

namespace shoal::backends::onednn {

/// Sets how many threads OpenMP may use for the calling thread's loops, and returns the former number. Without OpenMP the
/// function returns 0; an argument of 0 changes nothing. Programs set 1, so that oneDNN makes no OpenMP team of its own.
/// The threads of such a team wait by spinning for milliseconds. So if another program uses one of the team's cores, a call
/// takes a hundred times as long. OpenMP keeps the number for each thread, and new threads do not inherit it, so code that
/// calls oneDNN on another thread has to set it there.
int set_openmp_threads(int count);

}  // namespace shoal::backends::onednn
