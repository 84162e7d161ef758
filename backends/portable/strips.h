// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Loops over the channels of [rows, channels], for normalization. Sums are taken in blocks whose sizes depend on the shape
/// only, so the bits of results do not depend on the number of threads. The sums of blocks are combined in double.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "shoal/base/buffer.h"
#include "threads.h"

namespace shoal::backends::portable {

/// The factor that normalizes a channel: 1 / sqrt(variance + epsilon).
inline float inverse_deviation(double variance, double epsilon) { return float(1.0 / std::sqrt(variance + epsilon)); }

/// A row with few channels is too short for a loop of its own, so loops take a strip of several rows at a time. A strip has
/// the fewest rows that have at least 256 elements together. Its element l ("lane" l) belongs to channel l % channels.
struct Strips {
  static constexpr int64_t kLanesMin = 256;
  static constexpr int64_t kBlockElements = 16384;  // 64 KiB: each block is read twice, the second time from a cache.

  int64_t channels, lanes;
  int64_t count;  ///< The number of whole strips.
  int64_t tail;   ///< The number of elements after the whole strips, fewer than lanes.
  int64_t strips_per_block, blocks;

  Strips(int64_t elements, int64_t channels_) : channels(channels_) {
    lanes = (kLanesMin + channels - 1) / channels * channels;
    count = elements / lanes, tail = elements % lanes;
    strips_per_block = std::max<int64_t>(8, kBlockElements / lanes);
    blocks = (count + strips_per_block - 1) / strips_per_block;
  }
  int64_t elements() const { return count * lanes + tail; }
  int64_t rows() const { return elements() / channels; }
  int64_t first_element(int64_t block) const { return block * strips_per_block * lanes; }
  int64_t strips_of(int64_t block) const { return std::min(strips_per_block, count - block * strips_per_block); }
  const float* tail_of(const float* x) const { return x + count * lanes; }

  /// Room for two float sums of each lane of each block.
  size_t partial_bytes() const { return align_up(size_t(2 * blocks * lanes) * sizeof(float)); }
  size_t doubles_bytes() const { return align_up(size_t(lanes) * sizeof(double)); }
  size_t floats_bytes() const { return align_up(size_t(lanes) * sizeof(float)); }
};

/// Divides a kernel's scratch memory into pieces.
class Scratch {
 public:
  explicit Scratch(std::byte* memory) : next_(memory) {}
  double* doubles(const Strips& strips) { return reinterpret_cast<double*>(take(strips.doubles_bytes())); }
  float* floats(const Strips& strips) { return reinterpret_cast<float*>(take(strips.floats_bytes())); }
  float* partial(const Strips& strips) { return reinterpret_cast<float*>(take(strips.partial_bytes())); }

 private:
  std::byte* take(size_t bytes) { return std::exchange(next_, next_ + bytes); }
  std::byte* next_;
};

/// For each lane l, sets to[l] to what the function `of` returns for the channel of the lane.
template <class T, class Of>
void fill_lanes(const Strips& strips, T* to, const Of& of) {
  for (int64_t c = 0; c < strips.channels; ++c) to[c] = of(c);
  for (int64_t l = strips.channels; l < strips.lanes; ++l) to[l] = to[l - strips.channels];
}

/// Calls run(begin, end) over the elements, on up to `threads` threads; begin is a multiple of lanes.
template <class Run>
void over_elements(int threads, const Strips& strips, int64_t bytes_per_element, const Run& run) {
  const int64_t pieces = strips.count + (strips.tail > 0);
  parallel_for(threads, pieces, strips.elements() * bytes_per_element, [&](int64_t begin, int64_t end) {
    run(begin * strips.lanes, std::min(end * strips.lanes, strips.elements()));
  });
}

/// The mean of each channel, and the sum of squared deviations from it. Both arrays have `lanes` elements; their first
/// `channels` elements are the result.
struct ChannelMoments {
  double* mean;
  double* squares;
};
void channel_moments(int threads, const Strips& strips, const float* x, float* partial, ChannelMoments moments);

struct Gradients {
  const float* dy;
  const float* x;
  const float* y;     ///< The output of a fused relu: dy is taken as 0 unless y > 0. Null: there is no relu.
  const float* mean;  ///< For each lane (element of a strip): the mean of its channel.
};
/// Computes the sum of dy and the sum of dy * (x - mean) for each channel. `sum` and `product` have `lanes` elements, of
/// which the first `channels` are the result.
void channel_gradients(int threads, const Strips& strips, const Gradients& from, float* partial, double* sum,
                       double* product);

// The functions below compute the elements [begin, end); `begin` is a multiple of `lanes`. Parameters such as Affine::mean
// are arrays with one number for each lane. The output may have the same memory as an input.

struct Affine {
  const float* mean;
  const float* factor;
  const float* shift;
};
/// y = (x - mean) * factor + shift, then + addend (unless that is null), then relu if `activate`.
void normalize_strips(const float* x, Affine by, const float* addend, bool activate, int64_t lanes, int64_t begin,
                      int64_t end, float* y);

struct GradientAffine {
  const float* mean;
  const float* factor;
  const float* offset;
  const float* slope;
};
/// dx = dy * factor - offset - (x - mean) * slope. y is the output of a fused relu, or null if there is none: dy is taken
/// as 0 unless y > 0.
void gradient_strips(const float* dy, const float* x, const float* y, GradientAffine by, int64_t lanes, int64_t begin,
                     int64_t end, float* dx);

/// dx = dy * factor.
void scale_strips(const float* dy, const float* factor, int64_t lanes, int64_t begin, int64_t end, float* dx);

}  // namespace shoal::backends::portable
