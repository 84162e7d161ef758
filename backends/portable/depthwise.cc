// SPDX-License-Identifier: Apache-2.0
// Depthwise convolutions, of one filter for each channel, and their gradients: products of channels as they lie. Each element is one
// sum in the order of the filter's rows and columns, of what lies on the image alone; gradients of filters are summed in blocks of
// images, whose number follows from the sizes, and those are added in their order.
#include <algorithm>

#include "depthwise.h"
#include "matrix.h"
#include "product_code.h"
#include "requests.h"
#include "threads.h"

namespace shoal::backends::portable {
namespace {

constexpr int64_t kFloatBytes = int64_t(sizeof(float));

/// The element of the image that tap `tap` shows to result `result`; -1 beyond the image.
int64_t seen(const Axis& axis, int64_t result, int64_t tap) {
  const int64_t at = result * axis.stride + axis.begin + tap * axis.dilation;
  return at >= 0 && at < axis.in ? at : -1;
}
/// The result to which tap `tap` shows element `element` of the image; -1 if there is none.
int64_t result_of(const Axis& axis, int64_t element, int64_t tap) {
  const int64_t at = element - axis.begin - tap * axis.dilation;
  return at >= 0 && at % axis.stride == 0 && at / axis.stride < axis.out ? at / axis.stride : -1;
}

/// What forward and the gradient for the image share: filters as [tap][channel], and rows of what is written.
class Depthwise : public Kernel {
 public:
  Depthwise(int threads, const Convolution& convolution)
      : threads_(threads), c_(convolution), channels_(convolution.groups) {}
  size_t scratch_bytes() const override { return size_t(c_.taps() * channels_) * sizeof(float); }
  std::string implementation() const override { return "portable: depthwise"; }

 protected:
  const float* by_taps(const float* filters, std::byte* scratch) const {
    float* const to = reinterpret_cast<float*>(scratch);
    for (int64_t c = 0; c < channels_; ++c) {
      for (int64_t tap = 0; tap < c_.taps(); ++tap) to[tap * channels_ + c] = filters[c * c_.taps() + tap];
    }
    return to;
  }
  /// Calls body(image, row) for all rows of so high images.
  template <class Body>
  void for_rows(int64_t height, int64_t width, const Body& body) const {
    const int64_t rows = c_.images * height;
    parallel_for(threads_, rows, rows * width * channels_ * c_.taps() * kFloatBytes, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) body(i / height, i % height);
    });
  }

  int threads_;
  Convolution c_;
  int64_t channels_;
};

class Forward final : public Depthwise {
 public:
  Forward(int threads, const Convolution& convolution, bool biased, bool relu)
      : Depthwise(threads, convolution), biased_(biased), relu_(relu) {}

  Result<void> run(const KernelCall& call) override {
    const float *x = floats(call.inputs[0]), *filters = by_taps(floats(call.inputs[1]), call.scratch);
    const float* const bias = biased_ ? floats(call.inputs[2]) : nullptr;
    const auto add = product_code().add_products;
    for_rows(c_.down.out, c_.right.out, [&](int64_t image, int64_t row) {
      float* y = floats(call.outputs[0]) + (image * c_.down.out + row) * c_.right.out * channels_;
      std::fill_n(y, c_.right.out * channels_, 0.0f);
      for (int64_t j = 0; j < c_.right.out; ++j, y += channels_) {
        for (int64_t down = 0; down < c_.down.taps; ++down) {
          const int64_t h = seen(c_.down, row, down);
          for (int64_t right = 0; h >= 0 && right < c_.right.taps; ++right) {
            const int64_t w = seen(c_.right, j, right);
            if (w < 0) continue;
            add(x + ((image * c_.down.in + h) * c_.right.in + w) * channels_,
                filters + (down * c_.right.taps + right) * channels_, y, channels_);
          }
        }
        finish_rows(y, channels_, 1, channels_, bias, relu_);
      }
    });
    return {};
  }

 private:
  bool biased_, relu_;
};

class GradInput final : public Depthwise {
 public:
  GradInput(int threads, const Convolution& convolution, bool biased) : Depthwise(threads, convolution), biased_(biased) {}

  Result<void> run(const KernelCall& call) override {
    const float *dy = floats(call.inputs[0]), *filters = by_taps(floats(call.inputs[1]), call.scratch);
    const float* const bias = biased_ ? floats(call.inputs[2]) : nullptr;
    const auto add = product_code().add_products;
    for_rows(c_.down.in, c_.right.in, [&](int64_t image, int64_t row) {
      float* dx = floats(call.outputs[0]) + (image * c_.down.in + row) * c_.right.in * channels_;
      std::fill_n(dx, c_.right.in * channels_, 0.0f);
      for (int64_t j = 0; j < c_.right.in; ++j, dx += channels_) {
        for (int64_t down = 0; down < c_.down.taps; ++down) {
          const int64_t h = result_of(c_.down, row, down);
          for (int64_t right = 0; h >= 0 && right < c_.right.taps; ++right) {
            const int64_t w = result_of(c_.right, j, right);
            if (w < 0) continue;
            add(dy + ((image * c_.down.out + h) * c_.right.out + w) * channels_,
                filters + (down * c_.right.taps + right) * channels_, dx, channels_);
          }
        }
        finish_rows(dx, channels_, 1, channels_, bias, false);
      }
    });
    return {};
  }

 private:
  bool biased_;
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

std::unique_ptr<Kernel> make_depthwise(int threads, const Convolution& convolution, bool biased, bool relu) {
  return std::make_unique<Forward>(threads, convolution, biased, relu);
}
std::unique_ptr<Kernel> make_depthwise_grad_input(int threads, const Convolution& convolution, bool biased) {
  return std::make_unique<GradInput>(threads, convolution, biased);
}
std::unique_ptr<Kernel> make_depthwise_grad_kernel(int threads, const Convolution& convolution) {
  return std::make_unique<GradKernel>(threads, convolution);
}

}  // namespace shoal::backends::portable
