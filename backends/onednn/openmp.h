// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Limits the threads that oneDNN may take from OpenMP.

namespace shoal::backends::onednn {

/// Sets how many threads OpenMP may use for loops of the calling thread. Returns the former number, or 0 without OpenMP.
/// If `count` is 0, changes nothing and returns 0. Shoal's programs set 1, so that oneDNN starts no OpenMP threads: these
/// spin for milliseconds while they wait, and a call takes a hundred times as long if another program uses one of their
/// cores. OpenMP stores the number for each thread, and new threads do not inherit it. So code that calls oneDNN on
/// another thread has to set it there.
int set_openmp_threads(int count);

}  // namespace shoal::backends::onednn
