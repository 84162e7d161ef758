// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Puts the header and the source of a model together.
#include <vector>

#include "cpp/signature_functions.h"
#include "shoal/convert/cpp.h"

namespace shoal::convert::cpp {

/// Writes the program of a model that can be written as C++: cpp_obstacles() has found no reason against it.
Result<CppSource> write_program(const TrainedModel& model, const CppOptions& options,
                                const std::vector<SignatureFunction>& functions);

}  // namespace shoal::convert::cpp
