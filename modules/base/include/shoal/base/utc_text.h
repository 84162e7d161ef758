// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Writes moments in time for people.
#include <string>

#include "shoal/base/time.h"

namespace shoal {

/// Returns "2026-11-23 12:34:56 UTC".
std::string utc_text(WallTime time);

}  // namespace shoal
