// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Dense layers with so few rows that reading the weights from memory takes most of the time. Each weight is read once, in
/// order. All three products divide w by its rows, so that a thread finds in its own cache the rows that it has read or
/// updated before. The order of sums is fixed in the code, so bits do not depend on threads.
#include <algorithm>
#include <cstdint>

namespace shoal::backends::portable {

/// With more rows, weights are used often enough for oneDNN's loops and the panels to be faster.
inline constexpr int64_t kFewRows = 4;

/// The sizes of row-major x [rows, in], w [out, in] and y [rows, out], with at most kFewRows rows.
struct FewRows {
  int64_t rows, out, in;
};

/// Returns the number of blocks of rows of w into which the sums of dx = dy w are divided; it does not depend on the number
/// of threads. Block b ends before row out * (b + 1) / blocks.
inline int64_t few_rows_blocks(int64_t out) { return std::clamp<int64_t>(out / 64, 1, 16); }

}  // namespace shoal::backends::portable
