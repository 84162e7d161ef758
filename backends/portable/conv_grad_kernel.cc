// SPDX-License-Identifier: Apache-2.0
// The gradient of a convolution's filters, computed as products of packed panels (panels.h). The images are divided into
// blocks, whose number depends on the sizes only. Each sum is taken in the order of the block's images, rows and columns,
// and the sums of the blocks are added in order.
#include <algorithm>
#include <utility>

#include "convolution.h"
#include "depthwise.h"
#include "panels.h"
#include "shoal/base/finite.h"
#include "shoal/base/vector_loop.h"
#include "sources.h"
#include "threads.h"
#include "transpose.h"

namespace shoal::backends::portable {
namespace {

SHOAL_VECTOR_LOOP void add_to(float* __restrict sums, const float* __restrict more, int64_t count) {
  for (int64_t i = 0; i < count; ++i) sums[i] += more[i];
}

class ConvGradKernel final : public Kernel {
 public:
  ConvGradKernel(int threads, const Convolution& convolution)
      : threads_(threads),
        c_(convolution),
        blocks_(std::clamp<int64_t>(kPartialFloatsMax / elements(), 1, std::min<int64_t>(c_.images, kBlocksMax))) {}

  Result<void> run(const KernelCall& call) override {
    const float* const dy = floats(call.inputs[0]);
    // Zeros to the left and right of the image are multiplied by values of dy, and must give 0. But 0 * infinity is NaN, so
    // they are only used if dy is finite.
    const bool by_taps = !in_runs() || (padded() && !all_finite({dy, size_t(call.inputs[0].elements())}));
    float* const sums = reinterpret_cast<float*>(call.scratch);
    // If there are fewer blocks than threads, the work is also divided by the filters' rows.
    const int64_t parts = blocks_ >= threads_ ? 1 : c_.down.taps;
    // parallel_chunks() takes the cost in bytes of memory traffic: four multiplications take as long as moving one byte.
    const int64_t bytes = c_.images * c_.down.out * c_.right.out * elements() / 4;
    parallel_chunks(threads_, blocks_ * parts, 1, bytes, [&](int thread, Chunks& chunks) {
      float* const own = reinterpret_cast<float*>(call.thread_scratch.of(thread));
      for (int64_t unit, end; chunks.next(unit, end);) {
        const int64_t block = unit / parts;
        const FilterRows filter{
            .first = unit % parts, .step = parts, .by_taps = by_taps, .sums = sums + block * elements()};
        add_block(call, block, filter, own);
      }
    });
    join(sums, floats(call.outputs[0]));
    return {};
  }
  size_t scratch_bytes() const override { return size_t(blocks_ * elements()) * sizeof(float); }
  size_t thread_scratch_bytes() const override { return size_t(packed_dy() + padded_rows()) * sizeof(float); }
  std::string implementation() const override { return "portable: panels"; }

 private:
  static constexpr int64_t kBlocksMax = 16, kPartialFloatsMax = int64_t(1) << 18;
  // So many pixels of the convolution's result are multiplied together: several of its rows, or a part of one. So the sums
  // are read and written only once for all of these pixels.
  static constexpr int64_t kPixelsTogether = kLeftBlockDepth;

  /// The rows of the filters whose sums are computed together: first, first + step, ...
  struct FilterRows {
    int64_t first, step;
    bool by_taps;  ///< True if each tap is a product of its own, which leaves out what lies beyond the image.
    float* sums;   ///< For all rows of all filters.
  };
  /// Rows [first, first + count) of a result, in the image number `image` and one group.
  struct ResultRows {
    int64_t image, group, first, count;
  };
  /// The gradients of the pixels [begin, begin + count) of several rows of a result, as panels (panels.h) of panel_rows rows.
  struct PackedPixels {
    const float* panels;
    int64_t panel_rows;
    int64_t begin, count;
  };

  int64_t elements() const { return c_.groups * c_.filters * c_.channels * c_.taps(); }
  int64_t pixel() const { return c_.groups * c_.channels; }
  /// True if a row of a window is contiguous in memory.
  bool in_runs() const { return c_.groups == 1 && c_.right.taps_are_neighbours(); }
  bool padded() const { return c_.right.reaches_beyond(); }
  /// True if dy has the layout of a packed matrix.
  bool is_panel() const { return c_.groups == 1 && c_.filters == kPanelColumns; }
  int64_t packed_dy() const { return is_panel() ? 0 : packed_floats(kPixelsTogether, c_.filters); }
  int64_t rows_together() const { return std::clamp<int64_t>(kPixelsTogether / c_.right.out, 1, c_.down.out); }
  int64_t padded_rows() const {
    if (!in_runs() || !padded()) return 0;
    const int64_t rows = (rows_together() - 1) * c_.down.stride + (c_.down.taps - 1) * c_.down.dilation + 1;
    return std::min(rows, c_.down.in) * c_.right.seen() * c_.channels;
  }
  /// The row of the image that tap `down` of the filters uses for row `row` of the result.
  int64_t image_row(int64_t row, int64_t down) const {
    return row * c_.down.stride + c_.down.begin + down * c_.down.dilation;
  }

  /// Computes the sums for some rows of all filters: adds the products of all images of one block.
  void add_block(const KernelCall& call, int64_t block, const FilterRows& filter, float* own) const {
    for (int64_t group = 0; group < c_.groups; ++group) {
      for (int64_t down = filter.first; down < c_.down.taps; down += filter.step) {
        std::fill_n(sums_of(filter, group, down), row_of_filters(), 0.0f);
      }
      for (int64_t n = c_.images * block / blocks_; n < c_.images * (block + 1) / blocks_; ++n) {
        for (int64_t row = 0; row < c_.down.out; row += rows_together()) {
          add_rows(call, {n, group, row, std::min(rows_together(), c_.down.out - row)}, filter, own);
        }
      }
    }
  }
  int64_t row_of_filters() const { return c_.right.taps * c_.channels * c_.filters; }
  float* sums_of(const FilterRows& filter, int64_t group, int64_t down) const {
    return filter.sums + (group * c_.down.taps + down) * row_of_filters();
  }

  /// Adds the products of some rows of a result and the parts of the image that they use.
  void add_rows(const KernelCall& call, const ResultRows& rows, const FilterRows& filter, float* own) const {
    const int64_t out_all = c_.groups * c_.filters, end = rows.first + rows.count;
    const float* const dy =
        floats(call.inputs[0]) + (rows.image * c_.down.out + rows.first) * c_.right.out * out_all + rows.group * c_.filters;
    const float* const image =
        floats(call.inputs[1]) + rows.image * c_.down.in * c_.right.in * pixel() + rows.group * c_.channels;
    ImageRows x{};
    if (!filter.by_taps) {
      const int64_t last_tap = c_.down.taps - 1 - (c_.down.taps - 1 - filter.first) % filter.step;
      x = image_rows(image, c_.right, c_.channels, std::max<int64_t>(image_row(rows.first, filter.first), 0),
                     std::min(image_row(end - 1, last_tap) + 1, c_.down.in), own + packed_dy());
    }
    for (int64_t begin = 0; begin < c_.right.out; begin += kPixelsTogether) {
      const int64_t count = std::min(c_.right.out - begin, kPixelsTogether);
      PackedPixels pixels{dy + begin * out_all, rows.count * count, begin, count};
      if (!is_panel()) {
        pack({pixels.panels, out_all}, pixels.panel_rows, c_.filters, 1.0f, own);
        pixels.panels = own;
      }
      for (int64_t down = filter.first; down < c_.down.taps; down += filter.step) {
        const Span on_image = inside(c_.down, down);
        const int64_t first = std::max(on_image.first, rows.first), last = std::min(on_image.last, end);
        if (first >= last) continue;
        float* const sums = sums_of(filter, rows.group, down);
        PackedPixels used = pixels;
        used.panels += (first - rows.first) * count * kPanelColumns;
        if (filter.by_taps) {
          for (int64_t row = first; row < last; ++row, used.panels += count * kPanelColumns) {
            add_taps(image + image_row(row, down) * c_.right.in * pixel(), used, sums);
          }
        } else {
          const int64_t step = c_.right.stride * c_.channels;
          multiply({.a = {x.row(image_row(first, down)) + begin * step, 1, step},
                    .packed = used.panels,
                    .packed_depth = used.panel_rows,
                    .c = sums,
                    .c_stride = c_.filters,
                    .rows = c_.right.taps * c_.channels,
                    .depth = count,
                    .columns = c_.filters,
                    .runs = last - first,
                    .run_stride = c_.down.stride * x.stride,
                    .accumulate = true});
        }
      }
    }
  }

  /// For some pixels of one row of the result: adds dy times the pixel of x that a tap of the filter reads, for one tap after
  /// another. Skips a tap where it lies beyond the image.
  void add_taps(const float* x, const PackedPixels& pixels, float* sums) const {
    for (int64_t right = 0; right < c_.right.taps; ++right) {
      const Span on_image = inside(c_.right, right);
      const int64_t first = std::max(on_image.first, pixels.begin);
      const int64_t last = std::min(on_image.last, pixels.begin + pixels.count);
      if (first >= last) continue;
      const int64_t w = first * c_.right.stride + c_.right.begin + right * c_.right.dilation;
      multiply({.a = {x + w * pixel(), 1, c_.right.stride * pixel()},
                .packed = pixels.panels + (first - pixels.begin) * kPanelColumns,
                .packed_depth = pixels.panel_rows,
                .c = sums + right * c_.channels * c_.filters,
                .c_stride = c_.filters,
                .rows = c_.channels,
                .depth = last - first,
                .columns = c_.filters,
                .accumulate = true});
    }
  }

  /// Adds up the blocks: dw[o][i][tap] is the sum of sums[tap][i][o] over all blocks.
  void join(float* sums, float* dw) const {
    const int64_t bytes = elements() * (blocks_ + 1) * int64_t(sizeof(float));
    parallel_for(threads_, elements(), bytes, [&](int64_t begin, int64_t end) {
      for (int64_t block = 1; block < blocks_; ++block)
        add_to(sums + begin, sums + block * elements() + begin, end - begin);
    });
    // The weights of a filter are contiguous in dw: `outer` runs of `run` weights, which are inputs or the taps of an input.
    const int64_t plane = c_.channels * c_.filters, together = 16;
    const bool one_tap = c_.taps() == 1;
    const int64_t outer = one_tap ? 1 : c_.channels, run = one_tap ? c_.channels : c_.taps();
    const int64_t run_stride = one_tap ? c_.filters : plane;
    const int64_t groups_of_filters = (c_.filters + together - 1) / together;
    parallel_for(threads_, c_.groups * groups_of_filters, bytes, [&](int64_t begin, int64_t end) {
      for (int64_t piece = begin; piece < end; ++piece) {
        const int64_t group = piece / groups_of_filters, first = piece % groups_of_filters * together;
        const float* const from = sums + group * c_.taps() * plane + first;
        float* const to = dw + (group * c_.filters + first) * outer * run;
        for (int64_t i = 0; i < outer; ++i) {
          transpose(from + i * c_.filters, run_stride, run, std::min(together, c_.filters - first), 1.0f,
                    [&](int64_t filter) { return to + (filter * outer + i) * run; });
        }
      }
    });
  }

  int threads_;
  Convolution c_;
  int64_t blocks_;
};

}  // namespace

std::unique_ptr<Kernel> make_conv2d_grad_kernel(const KernelRequest& request) {
  if (!all_float32(request) || !none_empty(request)) return nullptr;
  const Convolution c(request.node.attributes, request.inputs[1].shape, request.outputs[0].shape, request.inputs[0].shape);
  if (c.is_depthwise()) return make_depthwise_grad_kernel(request.threads, c);
  if (!c.takes_panels()) return nullptr;
  return std::make_unique<ConvGradKernel>(request.threads, c);
}

}  // namespace shoal::backends::portable
