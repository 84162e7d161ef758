// SPDX-License-Identifier: Apache-2.0
#pragma once
/// For the threads that Shoal starts: what each of them does first, and on which processors they may compute.
#include <vector>

namespace shoal {

/// The processors that this process may compute on, ascending: those of the calling thread's affinity mask. If OpenMP bound
/// that thread to one of its places when the program was loaded (OMP_PROC_BIND=true, GOMP_CPU_AFFINITY), the mask does not
/// describe the process, and the result is the processors of all places. Empty if the system does not say.
std::vector<int> processors_of_process();

/// Each thread that computes calls this first. It makes the thread treat denormals as zero (see flush_denormals()). If
/// OpenMP has bound the thread that started this one to a core, this thread has inherited the binding: the function removes
/// it, so that not all threads compute on one core.
void begin_own_thread();

}  // namespace shoal
