// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Starts a thread, or says why the system refuses one.
#include <thread>

#include "shoal/base/function.h"
#include "shoal/base/result.h"

namespace shoal {

/// Starts a thread that runs `work`. Unavailable, with the limits that apply, if the system refuses.
Result<std::thread> start_thread(Work work);

}  // namespace shoal
