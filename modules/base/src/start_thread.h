// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A thread of the system, of which there may be none left.
#include <thread>

#include "shoal/base/function.h"
#include "shoal/base/result.h"

namespace shoal {

/// A thread that runs `work`; Unavailable, with the limits that there are, if the system gives none.
Result<std::thread> start_thread(Work work);

}  // namespace shoal
