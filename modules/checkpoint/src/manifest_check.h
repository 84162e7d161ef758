// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Checks that a manifest is consistent. This is done before writing one and after reading one.
#include <optional>
#include <string>

#include "shoal/checkpoint/manifest.h"

namespace shoal::checkpoint {

/// Describes the first contradiction in `manifest` as the end of a sentence; nothing if there is none. Afterwards sizes can
/// be computed without overflow, every piece lies inside of its file, and the pieces of each tensor are exactly its rows.
std::optional<std::string> contradiction_in(const Manifest& manifest);

/// The bytes of rows [0, rows) of such a tensor; nothing if they overflow, or for kString.
std::optional<uint64_t> checked_bytes(DType dtype, const Shape& shape, uint64_t rows);

}  // namespace shoal::checkpoint
