// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What threads that Shoal starts do first, and on which processors they may compute.
#include <vector>

namespace shoal {

/// The processors that this process may compute on, ascending: those of the calling thread's affinity mask. If OpenMP bound
/// that thread to one of its places when the program was loaded (OMP_PROC_BIND=true, GOMP_CPU_AFFINITY), the mask does not
/// describe the process, and the result is the processors of all places. Empty if the system does not say.
std::vector<int> processors_of_process();

/// Each thread that computes calls this first. Sets denormals to zero (see flush_denormals()), and lifts a binding by
/// OpenMP that the thread inherited from the thread that started it: otherwise all such threads would share one core.
void begin_own_thread();

}  // namespace shoal
