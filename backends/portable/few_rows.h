// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Dense layers on so few rows that the weights' way from memory is all that counts: each weight is read once, in order,
/// and all three products divide w by its rows, so that a thread finds in its own cache what it read or updated before.
/// The sums' order is the code's, so bits do not depend on threads.
#include <algorithm>
#include <cstdint>

namespace shoal::backends::portable {

/// Beyond, weights are used often enough for oneDNN's and our panels to be faster.
inline constexpr int64_t kFewRows = 4;

/// Row-major: x [rows, in], w [out, in], y [rows, out], with at most kFewRows rows.
struct FewRows {
  int64_t rows, out, in;
};

/// How many blocks of rows of w the sums of dx = dy w are made of, on any number of threads: block b ends before row
/// out * (b + 1) / blocks.
inline int64_t few_rows_blocks(int64_t out) { return std::clamp<int64_t>(out / 64, 1, 16); }

}  // namespace shoal::backends::portable
