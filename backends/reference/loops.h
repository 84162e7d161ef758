// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Loops that the reference kernels share. Tests compare other backends with these kernels, so the code is plain, and sums
/// are taken in double and rounded once.
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "shoal/backends/kernel.h"
#include "shoal/graph/op.h"

namespace shoal::backends::reference {

using Loop = std::function<Result<void>(const KernelCall& call)>;
std::unique_ptr<Kernel> make_loop(Loop loop, size_t scratch_bytes = 0);

/// Makes the kernel of one op; attributes were checked by the op's shape rule.
using Maker = std::unique_ptr<Kernel> (*)(const KernelRequest& request);
/// Adds the maker of one op to the table of all kernels.
using AddMaker = std::function<void(std::string_view op, Maker maker)>;
void add_dense(const AddMaker& add);
void add_conv2d(const AddMaker& add);
void add_pool(const AddMaker& add);
void add_elementwise(const AddMaker& add);
void add_binary(const AddMaker& add);
void add_unary(const AddMaker& add);
void add_softmax(const AddMaker& add);
void add_reduce(const AddMaker& add);
void add_integer(const AddMaker& add);
void add_recurrent(const AddMaker& add);
void add_attention(const AddMaker& add);
void add_arrange(const AddMaker& add);
void add_lookup(const AddMaker& add);
void add_inputs(const AddMaker& add);
void add_matmul(const AddMaker& add);
void add_norm(const AddMaker& add);
void add_clipping(const AddMaker& add);

// The inner loops of dense and conv2d. Other ops use some of them too.

/// sum over i of a[i] * b[i], in eight interleaved sums, so that it runs in vectors with the same bits everywhere.
inline double dot(const float* a, const float* b, int64_t count) {
  double sums[8] = {};
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    for (int64_t lane = 0; lane < 8; ++lane) sums[lane] += double(a[i + lane]) * double(b[i + lane]);
  }
  for (; i < count; ++i) sums[i % 8] += double(a[i]) * double(b[i]);
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

/// to[i] += factor * x[i].
inline void add_scaled(double* to, float factor, const float* x, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] += double(factor) * double(x[i]);
}

/// Rounds complete sums to float32.
inline void round_to(float* to, const double* sums, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = float(sums[i]);
}

inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
/// max(x, 0); NaN stays NaN.
inline float relu(float x) { return x < 0 ? 0.0f : x; }

}  // namespace shoal::backends::reference
