#pragma once
/// Dense layers on so few rows that the weights' way from memory is all that counts: each weight is read once, in order.
/// The sums' order is the code's, so bits do not depend on threads; as in panels.h, they depend on whether the instruction
/// set fuses multiplications and additions.
#include <cstdint>

namespace shoal::backends::onednn {

/// Beyond, weights are used often enough for oneDNN's and our panels to be faster.
inline constexpr int64_t kFewRows = 4;

/// Row-major: x [rows, in], w [out, in], y [rows, out], with at most kFewRows rows.
struct FewRows {
  int64_t rows, out, in;
};

/// y = x w^T + bias (null: none), the columns [first, last) of it.
void few_rows_dense(const FewRows& sizes, const float* x, const float* w, const float* bias, float* y, int64_t first,
                    int64_t last);
/// dx = dy w, the columns [first, last) of it.
void few_rows_grad_input(const FewRows& sizes, const float* dy, const float* w, float* dx, int64_t first, int64_t last);
/// dw = dy^T x, the rows [first, last) of it, the first of them at dw.
void few_rows_grad_kernel(const FewRows& sizes, const float* dy, const float* x, float* dw, int64_t first, int64_t last);

}  // namespace shoal::backends::onednn
