// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Checks that a manifest is consistent. This is done before writing one and after reading one.
#include <optional>
#include <string>

#include "shoal/checkpoint/manifest.h"

namespace shoal::checkpoint {

/// Returns a description of the first contradiction in `manifest`; nothing if there is none. Sizes in a manifest without a
/// contradiction do not overflow, each piece lies inside of its file, and the pieces of a tensor cover exactly its rows.
std::optional<std::string> contradiction_in(const Manifest& manifest);

/// The size in bytes of rows [0, rows) of a tensor of this type and shape; nothing if it overflows, or for kString.
std::optional<uint64_t> checked_bytes(DType dtype, const Shape& shape, uint64_t rows);

}  // namespace shoal::checkpoint
