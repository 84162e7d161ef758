#pragma once
/// The guard that looks at the loss, as whoever sets training up sees it.
#include "shoal/estimator/hook.h"

namespace shoal {

/// True if `hook` is a nan_guard() that asks for a stop where others fail.
bool is_quiet_nan_guard(const Hook& hook);

}  // namespace shoal
