// SPDX-License-Identifier: Apache-2.0
// Depthwise convolutions, with one filter for each channel, and their gradients. They read channels in place. Each element
// is one sum in the order of the filter's rows and columns, without the taps that lie beyond the image. For gradients of
// filters, the images are divided into blocks, whose number depends on the sizes only, and the sums of the blocks are added
// in order.
#include <algorithm>

#include "depthwise.h"
#include "passes.h"
#include "product_code.h"
#include "requests.h"
#include "threads.h"

namespace shoal::backends::portable {
namespace {

/// The image element that `result` uses through tap `tap`; -1 if it lies beyond the image.
int64_t seen(const Axis& axis, int64_t result, int64_t tap) {
  const int64_t at = result * axis.stride + axis.begin + tap * axis.dilation;
  return at >= 0 && at < axis.in ? at : -1;
}
/// The result that uses image element `element` through tap `tap`; -1 if there is none.
int64_t result_of(const Axis& axis, int64_t element, int64_t tap) {
  const int64_t at = element - axis.begin - tap * axis.dilation;
  return at >= 0 && at % axis.stride == 0 && at / axis.stride < axis.out ? at / axis.stride : -1;
}

/// Computes the forward op, or the gradient for the image. Each pixel that is written is a sum over the taps of the filter:
/// the tap's weight times a pixel that is read.
class Depthwise final : public Kernel {
 public:
  /// Returns the element of an axis that is read through a tap to compute the element `written`; -1 if there is none.
  using Place = int64_t (*)(const Axis& axis, int64_t written, int64_t tap);
  struct Size {
    int64_t height, width;
  };

  Depthwise(int threads, const Convolution& convolution, Place place, Size read, Size written, bool biased, bool relu)
      : threads_(threads),
        c_(convolution),
        channels_(convolution.groups),
        place_(place),
        read_(read),
        written_(written),
        biased_(biased),
        relu_(relu) {}

  Result<void> run(const KernelCall& call) override {
    const float* const filters = by_taps(floats(call.inputs[1]), reinterpret_cast<float*>(call.scratch));
    const int64_t rows = c_.images * written_.height;
    const int64_t bytes = rows * written_.width * channels_ * c_.taps() * kFloatBytes;
    parallel_for(threads_, rows, bytes, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) compute_row(call, filters, row / written_.height, row % written_.height);
    });
    return {};
  }
  size_t scratch_bytes() const override { return size_t(c_.taps() * channels_) * sizeof(float); }
  std::string implementation() const override { return "portable: depthwise"; }

 private:
  /// Rearranges the filters to [tap][channel].
  const float* by_taps(const float* filters, float* to) const {
    for (int64_t c = 0; c < channels_; ++c) {
      for (int64_t tap = 0; tap < c_.taps(); ++tap) to[tap * channels_ + c] = filters[c * c_.taps() + tap];
    }
    return to;
  }

  void compute_row(const KernelCall& call, const float* filters, int64_t image, int64_t row) const {
    const auto add = product_code().add_products;
    const float* const from = floats(call.inputs[0]) + image * read_.height * read_.width * channels_;
    float* const to = floats(call.outputs[0]) + (image * written_.height + row) * written_.width * channels_;
    std::fill_n(to, written_.width * channels_, 0.0f);
    for (int64_t j = 0; j < written_.width; ++j) {
      for (int64_t down = 0; down < c_.down.taps; ++down) {
        const int64_t h = place_(c_.down, row, down);
        for (int64_t right = 0; h >= 0 && right < c_.right.taps; ++right) {
          const int64_t w = place_(c_.right, j, right);
          if (w < 0) continue;
          add(from + (h * read_.width + w) * channels_, filters + (down * c_.right.taps + right) * channels_,
              to + j * channels_, channels_);
        }
      }
    }
    finish_rows(to, channels_, written_.width, channels_, biased_ ? floats(call.inputs[2]) : nullptr, relu_);
  }

  int threads_;
  Convolution c_;
  int64_t channels_;
  Place place_;
  Size read_, written_;
  bool biased_, relu_;
};

class GradKernel final : public Kernel {
 public:
  GradKernel(int threads, const Convolution& convolution)
      : threads_(threads),
        c_(convolution),
        channels_(convolution.groups),
        blocks_(std::min<int64_t>(c_.images, kBlocksMax)) {}

  Result<void> run(const KernelCall& call) override {
    const int64_t size = c_.taps() * channels_;
    float* const sums = reinterpret_cast<float*>(call.scratch);
    const int64_t bytes = c_.images * c_.down.out * c_.right.out * size * kFloatBytes;
    parallel_for(threads_, blocks_, bytes, [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) add_block(call, block, sums + block * size);
    });
    float* const dw = floats(call.outputs[0]);
    for (int64_t c = 0; c < channels_; ++c) {
      for (int64_t tap = 0; tap < c_.taps(); ++tap) {
        float sum = sums[tap * channels_ + c];
        for (int64_t block = 1; block < blocks_; ++block) sum += sums[block * size + tap * channels_ + c];
        dw[c * c_.taps() + tap] = sum;
      }
    }
    return {};
  }
  size_t scratch_bytes() const override { return size_t(blocks_ * c_.taps() * channels_) * sizeof(float); }
  std::string implementation() const override { return "portable: depthwise"; }

 private:
  static constexpr int64_t kBlocksMax = 16;

  void add_block(const KernelCall& call, int64_t block, float* sums) const {
    const auto add = product_code().add_products;
    std::fill_n(sums, c_.taps() * channels_, 0.0f);
    for (int64_t n = c_.images * block / blocks_; n < c_.images * (block + 1) / blocks_; ++n) {
      for (int64_t row = 0; row < c_.down.out; ++row) {
        const float* dy = floats(call.inputs[0]) + (n * c_.down.out + row) * c_.right.out * channels_;
        for (int64_t j = 0; j < c_.right.out; ++j, dy += channels_) {
          for (int64_t down = 0; down < c_.down.taps; ++down) {
            const int64_t h = seen(c_.down, row, down);
            for (int64_t right = 0; h >= 0 && right < c_.right.taps; ++right) {
              const int64_t w = seen(c_.right, j, right);
              if (w < 0) continue;
              add(floats(call.inputs[1]) + ((n * c_.down.in + h) * c_.right.in + w) * channels_, dy,
                  sums + (down * c_.right.taps + right) * channels_, channels_);
            }
          }
        }
      }
    }
  }

  int threads_;
  Convolution c_;
  int64_t channels_, blocks_;
};

}  // namespace

std::unique_ptr<Kernel> make_depthwise(int threads, const Convolution& c, bool biased, bool relu) {
  const Depthwise::Size image{c.down.in, c.right.in}, result{c.down.out, c.right.out};
  return std::make_unique<Depthwise>(threads, c, &seen, image, result, biased, relu);
}
std::unique_ptr<Kernel> make_depthwise_grad_input(int threads, const Convolution& c, bool biased) {
  const Depthwise::Size image{c.down.in, c.right.in}, result{c.down.out, c.right.out};
  return std::make_unique<Depthwise>(threads, c, &result_of, result, image, biased, false);
}
std::unique_ptr<Kernel> make_depthwise_grad_kernel(int threads, const Convolution& convolution) {
  return std::make_unique<GradKernel>(threads, convolution);
}

}  // namespace shoal::backends::portable
