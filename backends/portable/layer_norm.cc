// SPDX-License-Identifier: Apache-2.0
// Layer normalization. Each row is computed separately, and is in the cache from the first sum to the result.
#include <algorithm>

#include "sources.h"
#include "strips.h"
#include "threads.h"
#include "vector.h"

namespace shoal::backends::portable {
namespace {

constexpr int kRowLanes = 32;  // Each row is added up in this many partial sums.

struct RowMoments {
  float mean;
  float squares;  ///< The sum of squared deviations from the mean.
};

SHOAL_VECTOR_LOOP RowMoments row_moments(const float* x, int64_t channels) {
  const float sum = sum_in_lanes<kRowLanes>(
      channels, [x](int64_t c) __attribute__((always_inline)) { return x[c]; });
  const float mean = sum / float(channels);
  return {mean,
          sum_in_lanes<kRowLanes>(
              channels, [ x, mean ](int64_t c) __attribute__((always_inline)) { return (x[c] - mean) * (x[c] - mean); })};
}

SHOAL_VECTOR_LOOP void normalize_row(const float* x, float mean, float inverse, const float* scale, const float* shift,
                                     int64_t channels, float* y) {
  SHOAL_INDEPENDENT
  for (int64_t c = 0; c < channels; ++c) y[c] = ((x[c] - mean) * inverse) * scale[c] + shift[c];
}

struct RowSums {
  float sum;      ///< The sum of dy * scale.
  float product;  ///< The sum of dy * scale * normalized x.
};

SHOAL_VECTOR_LOOP RowSums row_gradients(const float* dy, const float* x, const float* scale, float mean, float inverse,
                                        int64_t channels) {
  return {sum_in_lanes<kRowLanes>(
              channels, [ dy, scale ](int64_t c) __attribute__((always_inline)) { return dy[c] * scale[c]; }),
          sum_in_lanes<kRowLanes>(
              channels, [=](int64_t c)
                            __attribute__((always_inline)) { return (dy[c] * scale[c]) * ((x[c] - mean) * inverse); })};
}

/// Computes dx of one row, and adds the row's contributions to dscale and dshift. dx may have the address of dy or x.
SHOAL_VECTOR_LOOP void gradient_row(const float* dy, const float* x, const float* __restrict scale, float mean,
                                    float inverse, RowSums means, int64_t channels, float* dx, float* __restrict dscale,
                                    float* __restrict dshift) {
  SHOAL_INDEPENDENT
  for (int64_t c = 0; c < channels; ++c) {
    const float d = dy[c], normalized = (x[c] - mean) * inverse;
    dscale[c] += d * normalized;
    dshift[c] += d;
    dx[c] = ((d * scale[c] - means.sum) - normalized * means.product) * inverse;
  }
}

/// Rows are summed in at most kBlocksMax blocks, whose number depends on the shape only.
struct RowBlocks {
  static constexpr int64_t kRowsMin = 32, kBlocksMax = 256;
  int64_t rows, channels, rows_per_block, blocks;

  explicit RowBlocks(const Shape& x) : channels(x[x.rank() - 1]) {
    rows = x.elements() / channels;
    rows_per_block = std::max(kRowsMin, (rows + kBlocksMax - 1) / kBlocksMax);
    blocks = (rows + rows_per_block - 1) / rows_per_block;
  }
  int64_t first(int64_t block) const { return block * rows_per_block; }
  int64_t end(int64_t block) const { return std::min(rows, first(block) + rows_per_block); }
};

}  // namespace

std::unique_ptr<Kernel> make_layer_norm(const KernelRequest& request) {
  if (!all_float32(request) || !none_empty(request)) return nullptr;
  const Shape& shape = request.inputs[0].shape;
  const int64_t channels = shape[shape.rank() - 1], rows = shape.elements() / channels;
  const double epsilon = request.node.attributes.get_real("epsilon");
  return make_loop([=, threads = request.threads](const KernelCall& call) -> Result<void> {
    const float *x = floats(call.inputs[0]), *scale = floats(call.inputs[1]), *shift = floats(call.inputs[2]);
    float *y = floats(call.outputs[0]), *means = floats(call.outputs[1]), *inverses = floats(call.outputs[2]);
    parallel_for(threads, rows, 2 * rows * channels * kFloatBytes, [=](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const RowMoments moments = row_moments(x + row * channels, channels);
        means[row] = moments.mean;
        inverses[row] = inverse_deviation(double(moments.squares) / double(channels), epsilon);
        normalize_row(x + row * channels, means[row], inverses[row], scale, shift, channels, y + row * channels);
      }
    });
    return {};
  });
}

std::unique_ptr<Kernel> make_layer_norm_grad(const KernelRequest& request) {
  if (!all_float32(request) || !none_empty(request)) return nullptr;
  const RowBlocks size(request.inputs[1].shape);
  const int64_t channels = size.channels;
  auto run = [=, threads = request.threads](const KernelCall& call) -> Result<void> {
    const float *dy = floats(call.inputs[0]), *x = floats(call.inputs[1]), *scale = floats(call.inputs[2]),
                *means = floats(call.inputs[3]), *inverses = floats(call.inputs[4]);
    float* dx = floats(call.outputs[0]);
    auto* partial = reinterpret_cast<float*>(call.scratch);  // Each block's contribution to dscale and dshift.
    parallel_for(threads, size.blocks, 3 * size.rows * channels * kFloatBytes, [=](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) {
        float *dscale = partial + 2 * block * channels, *dshift = dscale + channels;
        std::fill_n(dscale, 2 * channels, 0.0f);
        for (int64_t row = size.first(block); row < size.end(block); ++row) {
          const int64_t i = row * channels;
          RowSums sums = row_gradients(dy + i, x + i, scale, means[row], inverses[row], channels);
          sums = {sums.sum / float(channels), sums.product / float(channels)};
          gradient_row(dy + i, x + i, scale, means[row], inverses[row], sums, channels, dx + i, dscale, dshift);
        }
      }
    });
    float* total = partial + 2 * size.blocks * channels;
    sum_rows(1, partial, size.blocks, 2 * channels, total, nullptr);
    std::copy_n(total, channels, floats(call.outputs[1]));
    std::copy_n(total + channels, channels, floats(call.outputs[2]));
    return {};
  };
  return make_loop(run, size_t(2 * (size.blocks + 1) * channels) * sizeof(float));
}

}  // namespace shoal::backends::portable
