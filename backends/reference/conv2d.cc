/// Direct convolution. Kernels are repacked from [O,I,KH,KW] to [O,KH,KW,I], so that a row of a window is one contiguous
/// run in both the image and the kernel.
#include <vector>

#include "loops.h"
#include "windows.h"

namespace shoal::backends::reference {
namespace {

struct Conv : Windows {
  int64_t filters;
  bool activate;

  Conv(const KernelRequest& request, const Shape& x, const Shape& kernel, const Shape& y)
      : Windows(x, y, kernel[2], kernel[3], request.node.attributes),
        filters(kernel[0]),
        activate(request.node.attributes.get_string("activation") == "relu") {}

  int64_t kernel_elements() const { return filters * window_height * window_width * channels; }
  /// Where element (o, kh * KW + kw, i) of the repacked kernel is in [O,I,KH,KW].
  template <class Visit>
  void visit_kernel(Visit visit) const {
    const int64_t elements = window_height * window_width;
    int64_t packed = 0;
    for (int64_t o = 0; o < filters; ++o) {
      for (int64_t element = 0; element < elements; ++element) {
        for (int64_t i = 0; i < channels; ++i) visit(packed++, (o * channels + i) * elements + element);
      }
    }
  }
  const float* pack(const float* kernel, float* to) const {
    visit_kernel([&](int64_t packed, int64_t plain) { to[packed] = kernel[plain]; });
    return to;
  }
};

std::unique_ptr<Kernel> make_conv2d(const KernelRequest& request) {
  const Conv conv(request, request.inputs[0].shape, request.inputs[1].shape, request.outputs[0].shape);
  auto loop = [conv](const KernelCall& call) -> Result<void> {
    const float* x = call.inputs[0].as<float>().data();
    const float* kernel = conv.pack(call.inputs[1].as<float>().data(), reinterpret_cast<float*>(call.scratch));
    const float* bias = call.inputs.size() > 2 ? call.inputs[2].as<float>().data() : nullptr;
    float* y = call.outputs[0].as<float>().data();
    const int64_t per_filter = conv.window_height * conv.window_width * conv.channels;
    for (int64_t n = 0; n < conv.images; ++n) {
      conv.visit_windows([&](int64_t oh, int64_t ow) {
        for (int64_t o = 0; o < conv.filters; ++o) {
          double sum = bias ? double(bias[o]) : 0.0;
          conv.visit_rows(n, oh, ow, [&](const Windows::Row& row) {
            sum += dot(x + row.pixel * conv.channels, kernel + o * per_filter + row.element * conv.channels,
                       row.pixels * conv.channels);
          });
          *y++ = conv.activate ? relu(float(sum)) : float(sum);
        }
      });
    }
    return {};
  };
  return make_loop(loop, size_t(conv.kernel_elements()) * sizeof(float));
}

std::unique_ptr<Kernel> make_conv2d_grad_input(const KernelRequest& request) {
  const Conv conv(request, request.outputs[0].shape, request.inputs[1].shape, request.inputs[0].shape);
  const int64_t image_elements = conv.height * conv.width * conv.channels;
  auto loop = [conv, image_elements](const KernelCall& call) -> Result<void> {
    auto* sums = reinterpret_cast<double*>(call.scratch);  // of one image
    const float* dy = call.inputs[0].as<float>().data();
    const float* kernel = conv.pack(call.inputs[1].as<float>().data(), reinterpret_cast<float*>(sums + image_elements));
    float* dx = call.outputs[0].as<float>().data();
    const int64_t per_filter = conv.window_height * conv.window_width * conv.channels;
    for (int64_t n = 0; n < conv.images; ++n) {
      std::fill_n(sums, image_elements, 0.0);
      conv.visit_windows([&](int64_t oh, int64_t ow) {
        conv.visit_rows(n, oh, ow, [&](const Windows::Row& row) {
          double* to = sums + row.pixel * conv.channels - n * image_elements;
          for (int64_t o = 0; o < conv.filters; ++o) {
            add_scaled(to, dy[row.out * conv.filters + o], kernel + o * per_filter + row.element * conv.channels,
                       row.pixels * conv.channels);
          }
        });
      });
      std::transform(sums, sums + image_elements, dx + n * image_elements, [](double sum) { return float(sum); });
    }
    return {};
  };
  return make_loop(loop, size_t(image_elements) * sizeof(double) + size_t(conv.kernel_elements()) * sizeof(float));
}

std::unique_ptr<Kernel> make_conv2d_grad_kernel(const KernelRequest& request) {
  const Conv conv(request, request.inputs[1].shape, request.outputs[0].shape, request.inputs[0].shape);
  auto loop = [conv](const KernelCall& call) -> Result<void> {
    auto* sums = reinterpret_cast<double*>(call.scratch);
    const float* dy = call.inputs[0].as<float>().data();
    const float* x = call.inputs[1].as<float>().data();
    float* dkernel = call.outputs[0].as<float>().data();
    const int64_t per_filter = conv.window_height * conv.window_width * conv.channels;
    std::fill_n(sums, conv.kernel_elements(), 0.0);
    for (int64_t n = 0; n < conv.images; ++n) {
      conv.visit_windows([&](int64_t oh, int64_t ow) {
        conv.visit_rows(n, oh, ow, [&](const Windows::Row& row) {
          for (int64_t o = 0; o < conv.filters; ++o) {
            add_scaled(sums + o * per_filter + row.element * conv.channels, dy[row.out * conv.filters + o],
                       x + row.pixel * conv.channels, row.pixels * conv.channels);
          }
        });
      });
    }
    conv.visit_kernel([&](int64_t packed, int64_t plain) { dkernel[plain] = float(sums[packed]); });
    return {};
  };
  return make_loop(loop, size_t(conv.kernel_elements()) * sizeof(double));
}

}  // namespace

void add_conv2d(const AddMaker& add) {
  add("conv2d", make_conv2d);
  add("conv2d_grad_input", make_conv2d_grad_input);
  add("conv2d_grad_kernel", make_conv2d_grad_kernel);
}

}  // namespace shoal::backends::reference
