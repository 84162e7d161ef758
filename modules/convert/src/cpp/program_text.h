// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Header and source of a model, put together.
#include <vector>

#include "cpp/signature_functions.h"
#include "shoal/convert/cpp.h"

namespace shoal::convert::cpp {

/// Writes the program of a model without obstacles (cpp_obstacles).
Result<CppSource> write_program(const TrainedModel& model, const CppOptions& options,
                                const std::vector<SignatureFunction>& functions);

}  // namespace shoal::convert::cpp
