// SPDX-License-Identifier: Apache-2.0
#include "correlation.h"

#include <algorithm>

#include "passes.h"
#include "requests.h"
#include "shoal/base/finite.h"
#include "threads.h"

namespace shoal::backends::portable {
namespace {

/// If a row of a window has fewer elements than this, all rows of the window are joined to one long row before they are
/// multiplied. Products of short rows would spend too much of their time on reading and writing the sums.
constexpr int64_t kShortRow = 32;

/// True if a row of a window is contiguous in memory.
bool rows_are_runs(const Correlation& c) { return c.groups == 1 && c.right.taps_are_neighbours(); }
int64_t row_depth(const Correlation& c) { return c.right.taps * c.in_channels; }
bool takes_windows(const Correlation& c) { return rows_are_runs(c) && c.down.taps > 1 && row_depth(c) < kShortRow; }

}  // namespace

Span inside(const Axis& axis, int64_t tap) {
  const int64_t offset = axis.begin + tap * axis.dilation;
  const int64_t first = offset >= 0 ? 0 : (-offset + axis.stride - 1) / axis.stride;
  const int64_t last = axis.in - 1 < offset ? 0 : (axis.in - 1 - offset) / axis.stride + 1;
  return {std::min(first, axis.out), std::clamp(last, std::min(first, axis.out), axis.out)};
}

void copy_pixels(const float* row, int64_t width, int64_t channels, int64_t begin, int64_t count, float* to) {
  const int64_t first = std::clamp<int64_t>(-begin, 0, count), last = std::clamp(width - begin, first, count);
  std::fill_n(to, first * channels, 0.0f);
  std::copy_n(row + (begin + first) * channels, (last - first) * channels, to + first * channels);
  std::fill_n(to + last * channels, (count - last) * channels, 0.0f);
}

/// A row of results, and the image from which it is computed.
struct CorrelationKernel::Row {
  const float* image;
  int64_t top;  ///< The row of the image that the first tap of a filter uses.
  const float* packed;
  float* target;
  int64_t target_stride;
};

CorrelationKernel::CorrelationKernel(const KernelRequest& request, std::vector<Correlation> parts, bool biased, bool relu)
    : threads_(request.threads), keeps_(request.input_is_variable[1]), biased_(biased), relu_(relu) {
  for (const Correlation& part : parts) {
    const bool padded = part.depth() > 0 && part.right.reaches_beyond();
    parts_.push_back({part, packed_, padded});
    packed_ += part.groups * part.packed_floats_of_group();
    int64_t floats = 0;
    if (rows_are_runs(part) && padded) floats += part.right.seen() * part.in_channels;
    if (takes_windows(part)) floats += part.right.out * part.depth();
    own_bytes_ = std::max(own_bytes_, size_t(floats) * sizeof(float));
  }
  if (keeps_) kept_ = Buffer::allocate(packed_bytes());
}

/// Packs the weights of one panel of output channels: for each tap of the filters a matrix [in, out], one below the other.
void CorrelationKernel::pack_part(const Part& part, const float* filters, int64_t group, int64_t panel) const {
  const Correlation& c = part.shape;
  const int64_t column = panel * kPanelColumns, columns = std::min(kPanelColumns, c.out_channels - column);
  float* to = filters_ + part.packed + group * c.packed_floats_of_group() + column * c.depth();
  const float* const from = filters + group * c.group_step + column * c.out_step;
  for (int64_t down = 0; down < c.down.taps; ++down) {
    for (int64_t right = 0; right < c.right.taps; ++right, to += c.in_channels * kPanelColumns) {
      const int64_t tap =
          (c.down.tap_begin + down * c.down.tap_step) * c.filter_width + c.right.tap_begin + right * c.right.tap_step;
      pack({from + tap, c.in_step, c.out_step}, c.in_channels, columns, 1.0f, to);
    }
  }
}

Result<void> CorrelationKernel::pack_filters(const KernelCall& call) {
  const bool known = call.weights != VersionId{};
  if (keeps_ && known && call.weights == kept_version_) return {};
  filters_ = reinterpret_cast<float*>(keeps_ ? kept_->data() : call.scratch);
  const float* const filters = floats(call.inputs[1]);
  finite_ = all_finite({filters, size_t(call.inputs[1].elements())});
  for (const Part& part : parts_) {
    const int64_t panels = panel_count(part.shape.out_channels), pieces = part.shape.groups * panels;
    parallel_for(threads_, pieces, 2 * call.inputs[1].elements() * int64_t(sizeof(float)), [&](int64_t begin, int64_t end) {
      for (int64_t piece = begin; piece < end; ++piece) pack_part(part, filters, piece / panels, piece % panels);
    });
  }
  kept_version_ = call.weights;
  return {};
}

Result<void> CorrelationKernel::run(const KernelCall& call) {
  SHOAL_TRY_VOID(pack_filters(call));
  for (const Part& part : parts_) {
    const Correlation& c = part.shape;
    const int64_t rows = c.images * c.down.out;
    if (rows == 0 || c.right.out == 0) continue;
    const int64_t multiplications = rows * c.right.out * c.groups * c.out_channels * c.depth();
    const int64_t together = threads_ == 1 ? rows : std::max<int64_t>(1, rows / (int64_t(4) * threads_));
    // parallel_chunks() takes the cost in bytes of memory traffic: four multiplications take as long as moving one byte.
    parallel_chunks(threads_, rows, together, multiplications / 4, [&](int thread, Chunks& chunks) {
      float* const own = reinterpret_cast<float*>(call.thread_scratch.of(thread));
      for (int64_t first, last; chunks.next(first, last);) {
        for (int64_t row = first; row < last; ++row) compute_row(part, call, row, own);
      }
    });
  }
  return {};
}

void CorrelationKernel::compute_row(const Part& part, const KernelCall& call, int64_t row, float* own) const {
  const Correlation& c = part.shape;
  const int64_t image = row / c.down.out, i = row % c.down.out;
  const int64_t in_all = c.groups * c.in_channels, out_all = c.groups * c.out_channels;
  float* const target =
      floats(call.outputs[0]) +
      ((image * c.target_height + c.down.target_begin + i * c.down.target_step) * c.target_width + c.right.target_begin) *
          out_all;
  const int64_t target_stride = c.right.target_step * out_all;
  for (int64_t group = 0; group < c.groups; ++group) {
    const Row whole{.image = floats(call.inputs[0]) + image * c.down.in * c.right.in * in_all + group * c.in_channels,
                    .top = i * c.down.stride + c.down.begin,
                    .packed = filters_ + part.packed + group * c.packed_floats_of_group(),
                    .target = target + group * c.out_channels,
                    .target_stride = target_stride};
    if (!rows_are_runs(c) || (part.padded && !finite_)) {
      by_taps(part, whole);
    } else if (takes_windows(c) && finite_) {
      by_windows(part, whole, own);
    } else {
      by_rows(part, whole, own);
    }
  }
  finish_rows(target, target_stride, c.right.out, out_all, biased_ ? floats(call.inputs[2]) : nullptr, relu_);
}

namespace {

void zero_rows(float* target, int64_t stride, int64_t rows, int64_t columns) {
  for (int64_t row = 0; row < rows; ++row) std::fill_n(target + row * stride, columns, 0.0f);
}

}  // namespace

/// Computes a row of results as a sum of products, one for each row of the filters. Each product reads a single row of the
/// image.
void CorrelationKernel::by_rows(const Part& part, const Row& row, float* own) const {
  const Correlation& c = part.shape;
  const int64_t depth = row_depth(c);
  bool begun = false;
  for (int64_t t = 0; t < c.down.taps; ++t) {
    const int64_t h = row.top + t * c.down.dilation;
    if (h < 0 || h >= c.down.in) continue;
    const float* from = row.image + h * c.right.in * c.in_channels;
    if (part.padded) {
      copy_pixels(from, c.right.in, c.in_channels, c.right.begin, c.right.seen(), own);
      from = own;
    } else {
      from += c.right.begin * c.in_channels;
    }
    multiply({.a = {from, c.right.stride * c.in_channels},
              .packed = row.packed + t * depth * kPanelColumns,
              .packed_depth = c.depth(),
              .c = row.target,
              .c_stride = row.target_stride,
              .rows = c.right.out,
              .depth = depth,
              .columns = c.out_channels,
              .accumulate = begun});
    begun = true;
  }
  if (!begun) zero_rows(row.target, row.target_stride, c.right.out, c.out_channels);
}

/// For filters with short rows: copies all rows of a window into one long row. The long rows of all windows form a matrix,
/// so a single product computes the row of results.
void CorrelationKernel::by_windows(const Part& part, const Row& row, float* own) const {
  const Correlation& c = part.shape;
  const int64_t depth = row_depth(c), step = c.right.stride * c.in_channels;
  float* const padded = own;
  float* const windows = own + (part.padded ? c.right.seen() * c.in_channels : 0);
  for (int64_t t = 0; t < c.down.taps; ++t) {
    const int64_t h = row.top + t * c.down.dilation;
    float* to = windows + t * depth;
    if (h < 0 || h >= c.down.in) {
      for (int64_t j = 0; j < c.right.out; ++j, to += c.depth()) std::fill_n(to, depth, 0.0f);
      continue;
    }
    const float* from = row.image + h * c.right.in * c.in_channels;
    if (part.padded) {
      copy_pixels(from, c.right.in, c.in_channels, c.right.begin, c.right.seen(), padded);
      from = padded;
    } else {
      from += c.right.begin * c.in_channels;
    }
    for (int64_t j = 0; j < c.right.out; ++j, to += c.depth(), from += step) {
      for (int64_t k = 0; k < depth; ++k) to[k] = from[k];
    }
  }
  multiply({.a = {windows, c.depth()},
            .packed = row.packed,
            .c = row.target,
            .c_stride = row.target_stride,
            .rows = c.right.out,
            .depth = c.depth(),
            .columns = c.out_channels});
}

/// Computes a row of results as a sum of products, one for each tap of the filters. Each product computes only the results
/// whose window has this tap on the image.
void CorrelationKernel::by_taps(const Part& part, const Row& row) const {
  const Correlation& c = part.shape;
  const int64_t pixel = c.groups * c.in_channels;
  zero_rows(row.target, row.target_stride, c.right.out, c.out_channels);
  for (int64_t down = 0; down < c.down.taps; ++down) {
    const int64_t h = row.top + down * c.down.dilation;
    if (h < 0 || h >= c.down.in) continue;
    for (int64_t right = 0; right < c.right.taps; ++right) {
      const auto [first, last] = inside(c.right, right);
      if (first == last) continue;
      const int64_t w = first * c.right.stride + c.right.begin + right * c.right.dilation;
      multiply({.a = {row.image + (h * c.right.in + w) * pixel, c.right.stride * pixel},
                .packed = row.packed + (down * c.right.taps + right) * c.in_channels * kPanelColumns,
                .packed_depth = c.depth(),
                .c = row.target + first * row.target_stride,
                .c_stride = row.target_stride,
                .rows = last - first,
                .depth = c.in_channels,
                .columns = c.out_channels,
                .accumulate = true});
    }
  }
}

}  // namespace shoal::backends::portable
