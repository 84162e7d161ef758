#pragma once
/// Values that are not finite, and what is said of them (CONTRACT CK-17).
#include <cstdint>
#include <string_view>

#include "shoal/base/error.h"

namespace shoal::cluster {

/// NanLoss: the update that made `global_step` wrote such a value into `variable`, or into one of its slots.
Error poisoned(std::string_view variable, uint64_t global_step);

}  // namespace shoal::cluster
