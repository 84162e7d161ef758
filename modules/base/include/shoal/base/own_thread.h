// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Threads of our own, beside those of the user's program.
#include <vector>

namespace shoal {

/// The processors that this process may compute on, ascending: those of the calling thread's affinity mask. Where OpenMP has
/// bound that thread to one of its places as the program was loaded (OMP_PROC_BIND=true, GOMP_CPU_AFFINITY), the mask says
/// nothing of the process, and it is the processors of all places. Empty if the system does not say.
std::vector<int> processors_of_process();

/// The first statement of each thread that computes. It sets denormals to zero (see flush_denormals()). It also lifts a binding
/// by OpenMP that the thread inherited from the thread that started it; otherwise all such threads would share one core.
void begin_own_thread();

}  // namespace shoal
