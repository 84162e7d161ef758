// SPDX-License-Identifier: Apache-2.0
#include "strips.h"

#include "vector.h"

namespace shoal::backends::portable {
namespace {

/// Computes mean[l] and squares[l] (the sum of squared deviations from the mean) of each lane of a block.
SHOAL_VECTOR_LOOP void block_moments(const float* __restrict x, int64_t strips, int64_t lanes, float* __restrict mean,
                                     float* __restrict squares) {
  for (int64_t l = 0; l < lanes; ++l) mean[l] = 0.0f, squares[l] = 0.0f;
  int64_t s = 0;
  for (; s + 4 <= strips; s += 4) {
    const float* r = x + s * lanes;
    for (int64_t l = 0; l < lanes; ++l) mean[l] += (r[l] + r[l + lanes]) + (r[l + 2 * lanes] + r[l + 3 * lanes]);
  }
  for (; s < strips; ++s) {
    for (int64_t l = 0; l < lanes; ++l) mean[l] += x[s * lanes + l];
  }
  const float part = 1.0f / float(strips);
  for (int64_t l = 0; l < lanes; ++l) mean[l] *= part;
  for (s = 0; s + 4 <= strips; s += 4) {
    const float* r = x + s * lanes;
    for (int64_t l = 0; l < lanes; ++l) {
      const float m = mean[l];
      const float a = r[l] - m, b = r[l + lanes] - m, c = r[l + 2 * lanes] - m, d = r[l + 3 * lanes] - m;
      squares[l] += (a * a + b * b) + (c * c + d * d);
    }
  }
  for (; s < strips; ++s) {
    for (int64_t l = 0; l < lanes; ++l) {
      const float a = x[s * lanes + l] - mean[l];
      squares[l] += a * a;
    }
  }
}

/// Sets sum[l] and product[l] to the sums of dy and of dy * (x - mean), over elements with y > 0 (or all, if y is null).
SHOAL_VECTOR_LOOP void block_gradients(const float* __restrict dy, const float* __restrict x, const float* __restrict y,
                                       const float* __restrict mean, int64_t strips, int64_t lanes, float* __restrict sum,
                                       float* __restrict product) {
  for (int64_t l = 0; l < lanes; ++l) sum[l] = 0.0f, product[l] = 0.0f;
  int64_t s = 0;
  for (; s + 2 <= strips; s += 2) {
    const float *d = dy + s * lanes, *r = x + s * lanes;
    if (y) {
      const float* out = y + s * lanes;
      for (int64_t l = 0; l < lanes; ++l) {
        const float d0 = out[l] > 0.0f ? d[l] : 0.0f, d1 = out[l + lanes] > 0.0f ? d[l + lanes] : 0.0f;
        sum[l] += d0 + d1;
        product[l] += d0 * (r[l] - mean[l]) + d1 * (r[l + lanes] - mean[l]);
      }
    } else {
      for (int64_t l = 0; l < lanes; ++l) {
        sum[l] += d[l] + d[l + lanes];
        product[l] += d[l] * (r[l] - mean[l]) + d[l + lanes] * (r[l + lanes] - mean[l]);
      }
    }
  }
  for (; s < strips; ++s) {
    for (int64_t l = 0; l < lanes; ++l) {
      const int64_t i = s * lanes + l;
      const float d = !y || y[i] > 0.0f ? dy[i] : 0.0f;
      sum[l] += d;
      product[l] += d * (x[i] - mean[l]);
    }
  }
}

/// sum[l] += weight * x[l].
SHOAL_VECTOR_LOOP void add_weighted(double weight, const float* __restrict x, int64_t count, double* __restrict sum) {
  for (int64_t l = 0; l < count; ++l) sum[l] += weight * double(x[l]);
}

/// sum[l] += weight * (x[l] - centre[l])^2.
SHOAL_VECTOR_LOOP void add_squares(double weight, const float* __restrict x, const double* __restrict centre, int64_t count,
                                   double* __restrict sum) {
  for (int64_t l = 0; l < count; ++l) {
    const double deviation = double(x[l]) - centre[l];
    sum[l] += weight * (deviation * deviation);
  }
}

template <bool kAdd, bool kRelu>
SHOAL_ALWAYS_INLINE void normalize_strip(const float* x, const Affine& by, const float* addend, int64_t count, float* y) {
  SHOAL_INDEPENDENT
  for (int64_t l = 0; l < count; ++l) {
    float value = (x[l] - by.mean[l]) * by.factor[l] + by.shift[l];
    if (kAdd) value = value + addend[l];
    y[l] = kRelu ? (value < 0.0f ? 0.0f : value) : value;  // NaN stays NaN.
  }
}

template <bool kRelu>
SHOAL_ALWAYS_INLINE void gradient_strip(const float* dy, const float* x, const float* y, const GradientAffine& by,
                                        int64_t count, float* dx) {
  SHOAL_INDEPENDENT
  for (int64_t l = 0; l < count; ++l) {
    const float d = !kRelu || y[l] > 0.0f ? dy[l] : 0.0f;
    dx[l] = (d * by.factor[l] - by.offset[l]) - (x[l] - by.mean[l]) * by.slope[l];
  }
}

/// The sum of the lanes of one channel.
double channel_sum(const Strips& strips, const double* lanes, int64_t channel) {
  double sum = 0;
  for (int64_t l = channel; l < strips.lanes; l += strips.channels) sum += lanes[l];
  return sum;
}

}  // namespace

void channel_moments(int threads, const Strips& strips, const float* x, float* partial, ChannelMoments moments) {
  parallel_for(threads, strips.blocks, strips.elements() * kFloatBytes, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      float* mean = partial + 2 * block * strips.lanes;
      block_moments(x + strips.first_element(block), strips.strips_of(block), strips.lanes, mean, mean + strips.lanes);
    }
  });
  // Combines means and sums of squares as in Chan, Golub, LeVeque, "Algorithms for computing the sample variance" (1983).
  // Each block contributes its mean and its sum of squares; the elements after the last whole strip (the tail) are added
  // singly.
  auto clear = [&](double* sums) { std::fill_n(sums, strips.lanes, 0.0); };
  clear(moments.squares);
  for (int64_t block = 0; block < strips.blocks; ++block) {
    add_weighted(double(strips.strips_of(block)), partial + 2 * block * strips.lanes, strips.lanes, moments.squares);
  }
  add_weighted(1, strips.tail_of(x), strips.tail, moments.squares);
  fill_lanes(strips, moments.mean,
             [&](int64_t c) { return channel_sum(strips, moments.squares, c) / double(strips.rows()); });
  clear(moments.squares);
  for (int64_t block = 0; block < strips.blocks; ++block) {
    const float* mean = partial + 2 * block * strips.lanes;
    add_squares(double(strips.strips_of(block)), mean, moments.mean, strips.lanes, moments.squares);
    add_weighted(1, mean + strips.lanes, strips.lanes, moments.squares);
  }
  add_squares(1, strips.tail_of(x), moments.mean, strips.tail, moments.squares);
  for (int64_t c = 0; c < strips.channels; ++c) moments.squares[c] = channel_sum(strips, moments.squares, c);
}

void channel_gradients(int threads, const Strips& strips, const Gradients& from, float* partial, double* sum,
                       double* product) {
  parallel_for(threads, strips.blocks, 2 * strips.elements() * kFloatBytes, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      const int64_t first = strips.first_element(block);
      float* to = partial + 2 * block * strips.lanes;
      block_gradients(from.dy + first, from.x + first, from.y ? from.y + first : nullptr, from.mean,
                      strips.strips_of(block), strips.lanes, to, to + strips.lanes);
    }
  });
  std::fill_n(sum, strips.lanes, 0.0);
  std::fill_n(product, strips.lanes, 0.0);
  for (int64_t block = 0; block < strips.blocks; ++block) {
    add_weighted(1, partial + 2 * block * strips.lanes, strips.lanes, sum);
    add_weighted(1, partial + (2 * block + 1) * strips.lanes, strips.lanes, product);
  }
  for (int64_t l = 0; l < strips.tail; ++l) {
    const int64_t i = strips.count * strips.lanes + l;
    const double d = !from.y || from.y[i] > 0.0f ? double(from.dy[i]) : 0.0;
    sum[l] += d;
    product[l] += d * (double(from.x[i]) - double(from.mean[l]));
  }
  for (int64_t c = 0; c < strips.channels; ++c) {
    sum[c] = channel_sum(strips, sum, c);
    product[c] = channel_sum(strips, product, c);
  }
}

SHOAL_VECTOR_LOOP void normalize_strips(const float* x, Affine by, const float* addend, bool activate, int64_t lanes,
                                        int64_t begin, int64_t end, float* y) {
  for (int64_t i = begin; i < end; i += lanes) {
    const int64_t count = end - i < lanes ? end - i : lanes;
    if (addend) {
      if (activate) {
        normalize_strip<true, true>(x + i, by, addend + i, count, y + i);
      } else {
        normalize_strip<true, false>(x + i, by, addend + i, count, y + i);
      }
    } else if (activate) {
      normalize_strip<false, true>(x + i, by, addend, count, y + i);
    } else {
      normalize_strip<false, false>(x + i, by, addend, count, y + i);
    }
  }
}

SHOAL_VECTOR_LOOP void gradient_strips(const float* dy, const float* x, const float* y, GradientAffine by, int64_t lanes,
                                       int64_t begin, int64_t end, float* dx) {
  for (int64_t i = begin; i < end; i += lanes) {
    const int64_t count = end - i < lanes ? end - i : lanes;
    if (y) {
      gradient_strip<true>(dy + i, x + i, y + i, by, count, dx + i);
    } else {
      gradient_strip<false>(dy + i, x + i, y, by, count, dx + i);
    }
  }
}

SHOAL_VECTOR_LOOP void scale_strips(const float* dy, const float* factor, int64_t lanes, int64_t begin, int64_t end,
                                    float* dx) {
  for (int64_t i = begin; i < end; i += lanes) {
    const int64_t count = end - i < lanes ? end - i : lanes;
    SHOAL_INDEPENDENT
    for (int64_t l = 0; l < count; ++l) dx[i + l] = dy[i + l] * factor[l];
  }
}

}  // namespace shoal::backends::portable
