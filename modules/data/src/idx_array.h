// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Reads the bytes of an IDX file.
#include "byte_source.h"
#include "shoal/base/tensor.h"
#include "shoal/data/idx.h"

namespace shoal::data {

/// Reads the array in `source` from its start to its end, as documented at read_idx(). Errors do not name the file.
Result<Tensor> read_idx_array(ByteSource& source, const IdxOptions& options);

}  // namespace shoal::data
