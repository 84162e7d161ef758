// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Dense layers with so few rows that reading the weights from memory takes most of the time. Each weight is read once, in
/// order. The products for y, dx and dW divide w among the threads by rows, so that a thread finds in its own cache the
/// rows of w that it has read or updated before. The order of sums is fixed in the code, so the bits of results do not
/// depend on the number of threads.
#include <algorithm>
#include <cstdint>

namespace shoal::backends::portable {

/// The loops below are for at most this many rows. With more rows each weight is used so often that oneDNN or packed panels
/// (panels.h) are faster.
inline constexpr int64_t kFewRows = 4;

/// The sizes of row-major x [rows, in], w [out, in] and y [rows, out], with at most kFewRows rows.
struct FewRows {
  int64_t rows, out, in;
};

/// For dx = dy w, each block of rows of w is summed separately, and then the blocks' sums are added up. Returns the number
/// of blocks, which does not depend on the number of threads. Block b ends before row out * (b + 1) / blocks.
inline int64_t few_rows_blocks(int64_t out) { return std::clamp<int64_t>(out / 64, 1, 16); }

}  // namespace shoal::backends::portable
