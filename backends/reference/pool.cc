// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "loops.h"
#include "windows.h"

namespace shoal::backends::reference {
namespace {

Windows windows_of(const KernelRequest& request, const Shape& image, const Shape& out) {
  const auto& window = request.node.attributes.get_ints("window");
  return Windows(image, out, window[0], window[1], request.node.attributes);
}

std::unique_ptr<Kernel> make_max_pool(const KernelRequest& request) {
  const Windows pool = windows_of(request, request.inputs[0].shape, request.outputs[0].shape);
  return make_loop([pool](const KernelCall& call) -> Result<void> {
    const float* x = call.inputs[0].as<float>().data();
    float* y = call.outputs[0].as<float>().data();
    uint8_t* index = call.outputs[1].as<uint8_t>().data();
    auto one_channel = [&](int64_t n, int64_t oh, int64_t ow, int64_t c) {
      bool found = false;
      pool.visit_rows(n, oh, ow, [&](const Windows::Row& row) {
        for (int64_t p = 0; p < row.pixels; ++p) {
          const float value = x[(row.pixel + p) * pool.channels + c];
          // NaN counts as the largest value, so that it reaches the loss.
          if (found && !(value > *y) && !(std::isnan(value) && !std::isnan(*y))) continue;
          found = true;
          *y = value;
          *index = uint8_t(row.element + p);
        }
      });
      ++y;
      ++index;
    };
    for (int64_t n = 0; n < pool.images; ++n) {
      pool.visit_windows([&](int64_t oh, int64_t ow) {
        for (int64_t c = 0; c < pool.channels; ++c) one_channel(n, oh, ow, c);
      });
    }
    return {};
  });
}

/// Windows may overlap, so one pixel may get several gradients. They are summed in float32, in the order of the windows.
std::unique_ptr<Kernel> make_max_pool_grad(const KernelRequest& request) {
  const Windows pool = windows_of(request, request.outputs[0].shape, request.inputs[0].shape);
  return make_loop([pool](const KernelCall& call) -> Result<void> {
    const float* dy = call.inputs[0].as<float>().data();
    const uint8_t* index = call.inputs[1].as<uint8_t>().data();
    const auto dx = call.outputs[0].as<float>();
    std::fill(dx.begin(), dx.end(), 0.0f);
    for (int64_t n = 0; n < pool.images; ++n) {
      pool.visit_windows([&](int64_t oh, int64_t ow) {
        for (int64_t c = 0; c < pool.channels; ++c, ++dy, ++index) {
          const int64_t h = oh * pool.stride_down - pool.top + *index / pool.window_width;
          const int64_t w = ow * pool.stride_right - pool.left + *index % pool.window_width;
          dx[size_t(((n * pool.height + h) * pool.width + w) * pool.channels + c)] += *dy;
        }
      });
    }
    return {};
  });
}

int64_t pixels_inside(const Windows& pool, int64_t n, int64_t oh, int64_t ow) {
  int64_t pixels = 0;
  pool.visit_rows(n, oh, ow, [&](const Windows::Row& row) { pixels += row.pixels; });
  return pixels;
}

std::unique_ptr<Kernel> make_avg_pool(const KernelRequest& request) {
  const Windows pool = windows_of(request, request.inputs[0].shape, request.outputs[0].shape);
  return make_loop([pool](const KernelCall& call) -> Result<void> {
    const float* x = call.inputs[0].as<float>().data();
    float* y = call.outputs[0].as<float>().data();
    for (int64_t n = 0; n < pool.images; ++n) {
      pool.visit_windows([&](int64_t oh, int64_t ow) {
        const auto pixels = double(pixels_inside(pool, n, oh, ow));
        for (int64_t c = 0; c < pool.channels; ++c) {
          double sum = 0;
          pool.visit_rows(n, oh, ow, [&](const Windows::Row& row) {
            for (int64_t p = 0; p < row.pixels; ++p) sum += double(x[(row.pixel + p) * pool.channels + c]);
          });
          *y++ = float(sum / pixels);
        }
      });
    }
    return {};
  });
}

std::unique_ptr<Kernel> make_avg_pool_grad(const KernelRequest& request) {
  const Windows pool = windows_of(request, request.outputs[0].shape, request.inputs[0].shape);
  return make_loop([pool](const KernelCall& call) -> Result<void> {
    const float* dy = call.inputs[0].as<float>().data();
    const auto dx = call.outputs[0].as<float>();
    std::fill(dx.begin(), dx.end(), 0.0f);
    for (int64_t n = 0; n < pool.images; ++n) {
      pool.visit_windows([&](int64_t oh, int64_t ow) {
        const auto pixels = float(pixels_inside(pool, n, oh, ow));
        pool.visit_rows(n, oh, ow, [&](const Windows::Row& row) {
          for (int64_t k = 0; k < row.pixels * pool.channels; ++k) {
            dx[size_t(row.pixel * pool.channels + k)] += dy[k % pool.channels] / pixels;
          }
        });
        dy += pool.channels;
      });
    }
    return {};
  });
}

}  // namespace

void add_pool(const AddMaker& add) {
  add("max_pool", make_max_pool);
  add("max_pool_grad", make_max_pool_grad);
  add("avg_pool", make_avg_pool);
  add("avg_pool_grad", make_avg_pool_grad);
}

}  // namespace shoal::backends::reference
