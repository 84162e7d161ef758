// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A token that is no secret.
#include <string_view>

namespace shoal::fuzz {

inline constexpr std::string_view kKnownToken = "shoal1-Dms2C6tDjBlDIjqBEc4i4xd6hn0rl93YxB1hbJ1hbH6EjJIY";

}  // namespace shoal::fuzz
