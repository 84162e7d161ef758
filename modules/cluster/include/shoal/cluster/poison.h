// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The error sentences about infinite values and NaN.
#include <cstdint>
#include <string_view>

#include "shoal/base/error.h"

namespace shoal::cluster {

/// The error NanLoss: the update that led to `global_step` wrote an infinite value or NaN into `variable` or into one
/// of its slots.
Error poisoned(std::string_view variable, uint64_t global_step);

}  // namespace shoal::cluster
