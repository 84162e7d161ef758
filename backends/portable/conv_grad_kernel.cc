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
    // Packed windows have zeros where they reach beyond the image. Zeros are multiplied by values of dy, and must give 0.
    // But 0 * infinity is NaN, so windows that reach beyond the image are packed only if dy is finite.
    const bool by_taps = c_.groups > 1 || !c_.right.taps_are_neighbours() ||
                         (c_.right.reaches_beyond() && !all_finite({dy, size_t(call.inputs[0].elements())}));
    float* const sums = reinterpret_cast<float*>(call.scratch);
    // If there are fewer blocks than threads, the work is also divided by the filters' rows.
    const int64_t parts = blocks_ >= threads_ ? 1 : c_.down.taps;
    // parallel_chunks() takes the cost in bytes of memory traffic: four multiplications take as long as moving one byte.
    const int64_t bytes = c_.images * c_.down.out * c_.right.out * elements() / 4;
    parallel_chunks(threads_, blocks_ * parts, 1, bytes, [&](int thread, Chunks& chunks) {
      float* const own = reinterpret_cast<float*>(call.thread_scratch.of(thread));
      for (int64_t unit, end; chunks.next(unit, end);) {
        const int64_t block = unit / parts, part = unit % parts;
        float* const to = sums + block * elements();
        for (int64_t down = part; down < c_.down.taps; down += parts) add_row(call, block, down, by_taps, to, own);
      }
    });
    join(sums, floats(call.outputs[0]));
    return {};
  }
  size_t scratch_bytes() const override { return size_t(blocks_ * elements()) * sizeof(float); }
  size_t thread_scratch_bytes() const override {
    return size_t(packed_dy() + kPixelsTogether * row_of_window()) * sizeof(float);
  }
  std::string implementation() const override { return "portable: panels"; }

 private:
  static constexpr int64_t kBlocksMax = 16, kPartialFloatsMax = int64_t(1) << 18;
  // The windows of so many pixels of the convolution's result are collected, and then multiplied by dy together. So the
  // sums are read and written only once for all of these pixels. Rows with more pixels are divided.
  static constexpr int64_t kPixelsTogether = kLeftBlockDepth;

  int64_t elements() const { return c_.groups * c_.filters * c_.channels * c_.taps(); }
  int64_t pixel() const { return c_.groups * c_.channels; }
  int64_t row_of_window() const { return c_.right.taps * c_.channels; }
  int64_t packed_dy() const { return packed_floats(kPixelsTogether, c_.filters); }

  /// Computes the sums for row `down` of all filters: adds the products of all images of one block.
  void add_row(const KernelCall& call, int64_t block, int64_t down, bool by_taps, float* sums, float* own) const {
    const int64_t size = c_.right.taps * c_.channels * c_.filters, out_all = c_.groups * c_.filters;
    const auto [first, last] = inside(c_.down, down);
    for (int64_t group = 0; group < c_.groups; ++group) {
      float* const to = sums + (group * c_.down.taps + down) * size;
      std::fill_n(to, size, 0.0f);
      int64_t held = 0;  // The number of pixels of the result that are packed but not multiplied yet.
      for (int64_t n = c_.images * block / blocks_; n < c_.images * (block + 1) / blocks_; ++n) {
        for (int64_t row = first; row < last; ++row) {
          const int64_t h = row * c_.down.stride + c_.down.begin + down * c_.down.dilation;
          const float* dy = floats(call.inputs[0]) + (n * c_.down.out + row) * c_.right.out * out_all + group * c_.filters;
          const float* const x =
              floats(call.inputs[1]) + (n * c_.down.in + h) * c_.right.in * pixel() + group * c_.channels;
          for (int64_t j = 0; j < c_.right.out;) {
            const int64_t count = std::min(c_.right.out - j, kPixelsTogether - held);
            pack_results(dy + j * out_all, out_all, count, own + held * kPanelColumns);
            if (by_taps) {
              add_taps(x, own, j, count, to);
            } else {
              put_windows(x, j, count, own + packed_dy() + held * row_of_window());
              held += count;
            }
            if (held == kPixelsTogether) add_windows(std::exchange(held, 0), own, to);
            j += count;
          }
        }
      }
      if (held > 0) add_windows(held, own, to);
    }
  }

  /// Packs `count` rows of dy, one for each pixel of the result, into panels (panels.h). `to` is the place of the first
  /// of these rows in the first panel.
  void pack_results(const float* dy, int64_t stride, int64_t count, float* to) const {
    for (int64_t column = 0; column < c_.filters; column += kPanelColumns) {
      pack({dy + column, stride}, count, std::min(kPanelColumns, c_.filters - column), 1.0f, to + column * kPixelsTogether);
    }
  }

  void put_windows(const float* row, int64_t first, int64_t count, float* to) const {
    for (int64_t j = first; j < first + count; ++j, to += row_of_window()) {
      copy_pixels(row, c_.right.in, c_.channels, j * c_.right.stride + c_.right.begin, c_.right.taps, to);
    }
  }

  void add_windows(int64_t held, float* own, float* sums) const {
    multiply({.a = {own + packed_dy(), 1, row_of_window()},
              .packed = own,
              .packed_depth = kPixelsTogether,
              .c = sums,
              .c_stride = c_.filters,
              .rows = row_of_window(),
              .depth = held,
              .columns = c_.filters,
              .accumulate = true});
  }

  /// For the result's pixels [begin, begin + count) of a row: adds dy times the pixel of x that a tap of the filter reads,
  /// for one tap after another. Skips a tap where it lies beyond the image.
  void add_taps(const float* x, const float* packed, int64_t begin, int64_t count, float* sums) const {
    for (int64_t right = 0; right < c_.right.taps; ++right) {
      const Span on_image = inside(c_.right, right);
      const int64_t first = std::max(on_image.first, begin), last = std::min(on_image.last, begin + count);
      if (first >= last) continue;
      const int64_t w = first * c_.right.stride + c_.right.begin + right * c_.right.dilation;
      multiply({.a = {x + w * pixel(), 1, c_.right.stride * pixel()},
                .packed = packed + (first - begin) * kPanelColumns,
                .packed_depth = kPixelsTogether,
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
    const int64_t plane = c_.channels * c_.filters, together = 16;
    const int64_t groups_of_filters = (c_.filters + together - 1) / together;
    parallel_for(threads_, c_.groups * groups_of_filters, bytes, [&](int64_t begin, int64_t end) {
      for (int64_t piece = begin; piece < end; ++piece) {
        const int64_t group = piece / groups_of_filters, first = piece % groups_of_filters * together;
        const int64_t count = std::min(together, c_.filters - first);
        const float* const from = sums + group * c_.taps() * plane + first;
        float* const to = dw + (group * c_.filters + first) * c_.channels * c_.taps();
        for (int64_t i = 0; i < c_.channels; ++i) {
          for (int64_t tap = 0; tap < c_.taps(); ++tap) {
            const float* const row = from + tap * plane + i * c_.filters;
            for (int64_t o = 0; o < count; ++o) to[(o * c_.channels + i) * c_.taps() + tap] = row[o];
          }
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
