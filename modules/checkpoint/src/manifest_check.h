// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Does a manifest hang together? The same question before it is written and after it is read.
#include <optional>
#include <string>

#include "shoal/checkpoint/manifest.h"

namespace shoal::checkpoint {

/// What is wrong with `manifest`, as the end of a sentence; nothing if nothing is. Afterwards sizes may be computed
/// without overflow, every piece lies inside of its file, and the pieces of each tensor are exactly its rows.
std::optional<std::string> contradiction_in(const Manifest& manifest);

/// Bytes of rows [0, rows) of such a tensor; nothing on overflow or if its elements have no size.
std::optional<uint64_t> checked_bytes(DType dtype, const Shape& shape, uint64_t rows);

}  // namespace shoal::checkpoint
