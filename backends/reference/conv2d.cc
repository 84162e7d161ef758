// SPDX-License-Identifier: Apache-2.0
/// Direct convolution. Kernels are repacked from [O,I,KH,KW] to [O,KH,KW,I], so that a row of a window is contiguous in
/// both the image and the kernel. (With several groups only the values of one pixel are contiguous, since a filter uses
/// only the channels of its group.)
#include <vector>

#include "loops.h"
#include "windows.h"

namespace shoal::backends::reference {
namespace {

struct Conv : Windows {
  int64_t filters;
  int64_t groups, group_channels, group_filters;
  bool activate;

  Conv(const KernelRequest& request, const Shape& x, const Shape& kernel, const Shape& y)
      : Windows(x, y, kernel[2], kernel[3], request.node.attributes),
        filters(kernel[0]),
        groups(request.node.attributes.get_int("groups", 1)),
        group_channels(kernel[1]),
        group_filters(filters / groups),
        activate(request.node.attributes.has("activation") && request.node.attributes.get_string("activation") == "relu") {}

  int64_t per_filter() const { return window_height * window_width * group_channels; }
  int64_t kernel_elements() const { return filters * per_filter(); }
  /// Calls visit(packed, plain) for each weight, with its index in the repacked kernel and its index in [O,I,KH,KW].
  template <class Visit>
  void visit_kernel(Visit visit) const {
    const int64_t elements = window_height * window_width;
    int64_t packed = 0;
    for (int64_t o = 0; o < filters; ++o) {
      for (int64_t element = 0; element < elements; ++element) {
        for (int64_t i = 0; i < group_channels; ++i) visit(packed++, (o * group_channels + i) * elements + element);
      }
    }
  }
  const float* pack(const float* kernel, float* to) const {
    visit_kernel([&](int64_t packed, int64_t plain) { to[packed] = kernel[plain]; });
    return to;
  }

  /// Elements that follow one another both in the image and in a repacked filter.
  struct Run {
    int64_t out;     ///< Index of the window among all [N, OH, OW].
    int64_t image;   ///< Index of the run's first element in the image batch.
    int64_t filter;  ///< Index of the run's first element in the repacked filter.
    int64_t count;
  };
  /// Calls visit(run) for all elements of window (n, oh, ow) that the filters of one group use.
  template <class Visit>
  void visit_runs(int64_t n, int64_t oh, int64_t ow, int64_t group, Visit visit) const {
    visit_rows(n, oh, ow, [&](const Row& row) {
      if (groups == 1) {
        return visit(Run{row.out, row.pixel * channels, row.element * channels, row.pixels * channels});
      }
      for (int64_t p = 0; p < row.pixels; ++p) {
        visit(Run{row.out, (row.pixel + p) * channels + group * group_channels, (row.element + p) * group_channels,
                  group_channels});
      }
    });
  }
};

std::unique_ptr<Kernel> make_conv2d(const KernelRequest& request) {
  const Conv conv(request, request.inputs[0].shape, request.inputs[1].shape, request.outputs[0].shape);
  auto loop = [conv](const KernelCall& call) -> Result<void> {
    const float* x = call.inputs[0].as<float>().data();
    const float* kernel = conv.pack(call.inputs[1].as<float>().data(), reinterpret_cast<float*>(call.scratch));
    const float* bias = call.inputs.size() > 2 ? call.inputs[2].as<float>().data() : nullptr;
    float* y = call.outputs[0].as<float>().data();
    for (int64_t n = 0; n < conv.images; ++n) {
      conv.visit_windows([&](int64_t oh, int64_t ow) {
        for (int64_t o = 0; o < conv.filters; ++o) {
          double sum = bias ? double(bias[o]) : 0.0;
          conv.visit_runs(n, oh, ow, o / conv.group_filters, [&](const Conv::Run& run) {
            sum += dot(x + run.image, kernel + o * conv.per_filter() + run.filter, run.count);
          });
          *y++ = conv.activate ? relu(float(sum)) : float(sum);
        }
      });
    }
    return {};
  };
  return make_loop(loop, size_t(conv.kernel_elements()) * sizeof(float));
}

/// Makes the kernel that computes the gradient of a convolution for its image. The op conv2d_transpose uses this kernel,
/// too: its result is such a gradient, of a convolution in the opposite direction, plus a bias.
std::unique_ptr<Kernel> make_conv2d_grad_input(const KernelRequest& request) {
  const Conv conv(request, request.outputs[0].shape, request.inputs[1].shape, request.inputs[0].shape);
  const int64_t image_elements = conv.height * conv.width * conv.channels;
  const bool with_bias = request.node.op == "conv2d_transpose" && request.inputs.size() > 2;
  auto loop = [conv, image_elements, with_bias](const KernelCall& call) -> Result<void> {
    auto* sums = reinterpret_cast<double*>(call.scratch);  // Sums of one image.
    const float* dy = call.inputs[0].as<float>().data();
    const float* kernel = conv.pack(call.inputs[1].as<float>().data(), reinterpret_cast<float*>(sums + image_elements));
    float* dx = call.outputs[0].as<float>().data();
    for (int64_t n = 0; n < conv.images; ++n) {
      std::fill_n(sums, image_elements, 0.0);
      if (with_bias) {
        const auto bias = call.inputs[2].as<float>();
        for (int64_t i = 0; i < image_elements; ++i) sums[i] = double(bias[size_t(i % conv.channels)]);
      }
      conv.visit_windows([&](int64_t oh, int64_t ow) {
        for (int64_t group = 0; group < conv.groups; ++group) {
          conv.visit_runs(n, oh, ow, group, [&](const Conv::Run& run) {
            double* to = sums + run.image - n * image_elements;
            for (int64_t o = group * conv.group_filters; o < (group + 1) * conv.group_filters; ++o) {
              add_scaled(to, dy[run.out * conv.filters + o], kernel + o * conv.per_filter() + run.filter, run.count);
            }
          });
        }
      });
      round_to(dx + n * image_elements, sums, image_elements);
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
    std::fill_n(sums, conv.kernel_elements(), 0.0);
    for (int64_t n = 0; n < conv.images; ++n) {
      conv.visit_windows([&](int64_t oh, int64_t ow) {
        for (int64_t group = 0; group < conv.groups; ++group) {
          conv.visit_runs(n, oh, ow, group, [&](const Conv::Run& run) {
            for (int64_t o = group * conv.group_filters; o < (group + 1) * conv.group_filters; ++o) {
              add_scaled(sums + o * conv.per_filter() + run.filter, dy[run.out * conv.filters + o], x + run.image,
                         run.count);
            }
          });
        }
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
  add("conv2d_transpose", make_conv2d_grad_input);
  add("conv2d_grad_kernel", make_conv2d_grad_kernel);
}

}  // namespace shoal::backends::reference
