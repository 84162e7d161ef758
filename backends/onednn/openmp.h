// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The threads that oneDNN may take from OpenMP.

namespace shoal::backends::onednn {

/// Sets how many threads OpenMP may use for the calling thread's loops, and returns how many it might use before. Where
/// there is no OpenMP, the function returns 0; 0 as an argument changes nothing. Programs compute with 1, so that oneDNN
/// makes no team of its own: the threads of an OpenMP team wait by spinning for milliseconds, and where another program
/// uses one of the team's cores, a call takes a hundred times as long. OpenMP keeps the number per thread, and a
/// new thread does not inherit it, so whoever gives oneDNN work on a thread of a team sets it there.
int set_openmp_threads(int count);

}  // namespace shoal::backends::onednn
