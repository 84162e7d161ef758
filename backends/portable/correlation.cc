// SPDX-License-Identifier: Apache-2.0
#include "correlation.h"

#include <algorithm>

#include "passes.h"
#include "requests.h"
#include "shoal/base/finite.h"
#include "threads.h"
#include "transpose.h"

namespace shoal::backends::portable {
namespace {

/// True if a row of a window is contiguous in memory.
bool rows_are_runs(const Correlation& c) { return c.groups == 1 && c.right.taps_are_neighbours(); }

/// How many rows of the image `count` rows of results use, those between them and beyond the image included.
int64_t rows_seen(const Correlation& c, int64_t count) {
  return (count - 1) * c.down.stride + (c.down.taps - 1) * c.down.dilation + 1;
}
/// The floats of a row of the image that is padded with zeros.
int64_t floats_of_row(const Correlation& c) { return c.right.seen() * c.in_channels; }
/// So many rows of results share the copies of the image's rows. More would save little, and the copies would leave the
/// first caches.
int64_t rows_together(const Correlation& c) {
  constexpr int64_t kRows = 8, kFloats = int64_t(1) << 14;
  int64_t count = kRows;
  while (count > 1 && rows_seen(c, count) * floats_of_row(c) > kFloats) --count;
  return count;
}

/// Where the weights of tap number `tap` begin in memory.
int64_t place_of_tap(const Correlation& c, int64_t tap) {
  const int64_t down = tap / c.right.taps, right = tap % c.right.taps;
  return (c.down.tap_begin + down * c.down.tap_step) * c.filter_width + c.right.tap_begin + right * c.right.tap_step;
}

/// The tap of each weight of a filter; empty if the correlation does not use all weights of a filter, or if it has only one.
std::vector<int64_t> taps_in_memory(const Correlation& c) {
  const int64_t taps = c.down.taps * c.right.taps;
  if (taps == 1 || taps != std::min(c.in_step, c.out_step)) return {};
  std::vector<int64_t> result(static_cast<size_t>(taps));
  for (int64_t tap = 0; tap < taps; ++tap) result[size_t(place_of_tap(c, tap))] = tap;
  return result;
}

}  // namespace

Span inside(const Axis& axis, int64_t tap) {
  const int64_t offset = axis.begin + tap * axis.dilation;
  const int64_t first = offset >= 0 ? 0 : (-offset + axis.stride - 1) / axis.stride;
  const int64_t last = axis.in - 1 < offset ? 0 : (axis.in - 1 - offset) / axis.stride + 1;
  return {std::min(first, axis.out), std::clamp(last, std::min(first, axis.out), axis.out)};
}

ImageRows image_rows(const float* image, const Axis& right, int64_t channels, int64_t first, int64_t last, float* copies) {
  const int64_t stride = right.in * channels;
  if (!right.reaches_beyond()) return {.data = image + right.begin * channels, .first = 0, .stride = stride};
  const int64_t pixels = right.seen(), begin = std::clamp<int64_t>(-right.begin, 0, pixels);
  const int64_t end = std::clamp(right.in - right.begin, begin, pixels);
  float* to = copies;
  for (int64_t h = first; h < last; ++h, to += pixels * channels) {
    std::fill_n(to, begin * channels, 0.0f);
    std::copy_n(image + h * stride + (right.begin + begin) * channels, (end - begin) * channels, to + begin * channels);
    std::fill_n(to + end * channels, (pixels - end) * channels, 0.0f);
  }
  return {.data = copies, .first = first, .stride = pixels * channels};
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
    parts_.push_back({part, packed_, padded, taps_in_memory(part)});
    packed_ += part.groups * part.packed_floats_of_group();
    if (!padded || !rows_are_runs(part)) continue;
    const int64_t rows = std::min(rows_seen(part, rows_together(part)), part.down.in), floats = rows * floats_of_row(part);
    own_bytes_ = std::max(own_bytes_, size_t(floats) * sizeof(float));
  }
  if (keeps_) kept_ = Buffer::allocate(packed_bytes());
}

/// Packs the weights of one panel of output channels: for each tap of the filters a matrix [in, out], one below the other.
void CorrelationKernel::pack_part(const Part& part, const float* filters, int64_t group, int64_t panel) const {
  const Correlation& c = part.shape;
  const int64_t column = panel * kPanelColumns, columns = std::min(kPanelColumns, c.out_channels - column);
  const int64_t matrix = c.in_channels * kPanelColumns;
  float* const to = filters_ + part.packed + group * c.packed_floats_of_group() + column * c.depth();
  const float* const from = filters + group * c.group_step + column * c.out_step;
  if (part.taps.empty()) {
    for (int64_t tap = 0; tap < c.down.taps * c.right.taps; ++tap) {
      pack({from + place_of_tap(c, tap), c.in_step, c.out_step}, c.in_channels, columns, 1.0f, to + tap * matrix);
    }
    return;
  }
  if (columns < kPanelColumns) std::fill_n(to, int64_t(part.taps.size()) * matrix, 0.0f);
  for (int64_t in = 0; in < c.in_channels; ++in) {
    transpose(from + in * c.in_step, c.out_step, columns, int64_t(part.taps.size()), 1.0f,
              [&](int64_t i) { return to + part.taps[size_t(i)] * matrix + in * kPanelColumns; });
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
        for (int64_t row = first, count; row < last; row += count) {
          count = std::min({rows_together(c), last - row, c.down.out - row % c.down.out});
          compute_rows(part, call, row, count, own);
        }
      }
    });
  }
  return {};
}

/// True if each tap of the filters is a product of its own.
bool CorrelationKernel::goes_by_taps(const Part& part) const {
  return !rows_are_runs(part.shape) || (part.padded && !finite_);
}

/// Computes `count` rows of results, which belong to one image.
void CorrelationKernel::compute_rows(const Part& part, const KernelCall& call, int64_t first, int64_t count,
                                     float* own) const {
  const Correlation& c = part.shape;
  ImageRows rows{};
  if (!goes_by_taps(part)) {
    const float* const image = floats(call.inputs[0]) + first / c.down.out * c.down.in * c.right.in * c.in_channels;
    const int64_t top = first % c.down.out * c.down.stride + c.down.begin;
    rows = image_rows(image, c.right, c.in_channels, std::max<int64_t>(top, 0),
                      std::min(top + rows_seen(c, count), c.down.in), own);
  }
  for (int64_t row = first; row < first + count; ++row) compute_row(part, call, row, rows);
}

void CorrelationKernel::compute_row(const Part& part, const KernelCall& call, int64_t row, const ImageRows& rows) const {
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
    if (goes_by_taps(part)) {
      by_taps(part, whole);
    } else {
      by_rows(part, whole, rows);
    }
  }
  finish_rows(target, target_stride, c.right.out, out_all, biased_ ? floats(call.inputs[2]) : nullptr, relu_);
}

namespace {

/// The range of taps that lie on the image, of which tap 0 has the position `top`.
Span taps_inside(const Axis& axis, int64_t top) {
  const int64_t first = top >= 0 ? 0 : (-top + axis.dilation - 1) / axis.dilation;
  const int64_t last = axis.in <= top ? 0 : (axis.in - 1 - top) / axis.dilation + 1;
  return {std::min(first, axis.taps), std::clamp(last, std::min(first, axis.taps), axis.taps)};
}

void zero_rows(float* target, int64_t stride, int64_t rows, int64_t columns) {
  for (int64_t row = 0; row < rows; ++row) std::fill_n(target + row * stride, columns, 0.0f);
}

}  // namespace

/// Computes a row of results by one product. Each of its runs reads one row of the image.
void CorrelationKernel::by_rows(const Part& part, const Row& row, const ImageRows& rows) const {
  const Correlation& c = part.shape;
  const auto [first, last] = taps_inside(c.down, row.top);
  if (first == last) return zero_rows(row.target, row.target_stride, c.right.out, c.out_channels);
  const int64_t depth = c.right.taps * c.in_channels, top = row.top + first * c.down.dilation;
  multiply({.a = {rows.row(top), c.right.stride * c.in_channels},
            .packed = row.packed + first * depth * kPanelColumns,
            .packed_depth = c.depth(),
            .c = row.target,
            .c_stride = row.target_stride,
            .rows = c.right.out,
            .depth = depth,
            .columns = c.out_channels,
            .runs = last - first,
            .run_stride = c.down.dilation * rows.stride});
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
