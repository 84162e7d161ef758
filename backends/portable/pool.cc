// SPDX-License-Identifier: Apache-2.0
// Pooling over [N,H,W,C] images, vectorised over channels. oneDNN's pooling runs at a third of the speed (2.6.3, AVX-512,
// 2x2 windows), loses NaN, and stores the position of a maximum in a form that may change with each version.
#include <algorithm>
#include <limits>

#include "sources.h"
#include "threads.h"
#include "vector.h"

namespace shoal::backends::portable {
namespace {

struct Pooling {
  int64_t batch, height, width, channels;  // The sizes of the image before pooling.
  int64_t out_height, out_width;
  int64_t window_height, window_width, stride_height, stride_width, top, left;

  Pooling(const Attributes& attributes, const Shape& x, const Shape& y)
      : batch(x[0]), height(x[1]), width(x[2]), channels(x[3]), out_height(y[1]), out_width(y[2]) {
    const auto &window = attributes.get_ints("window"), &strides = attributes.get_ints("strides"),
               &padding = attributes.get_ints("padding");
    window_height = window[0], window_width = window[1];
    stride_height = strides[0], stride_width = strides[1];
    top = padding[0], left = padding[2];
  }
  int64_t image_elements() const { return height * width * channels; }
  int64_t out_elements() const { return out_height * out_width * channels; }
  bool windows_overlap() const { return stride_height < window_height || stride_width < window_width; }
  /// True if every element of the image belongs to exactly one window.
  bool windows_tile() const {
    return stride_height == window_height && stride_width == window_width && top == 0 && left == 0 &&
           out_height * stride_height == height && out_width * stride_width == width;
  }
  int64_t work_bytes(int64_t bytes_per_element) const { return batch * image_elements() * bytes_per_element; }
};

/// The part of one window that lies inside of the image. It is not empty: the shape rule of the op ensures this.
struct Window {
  int64_t row_begin, row_end, column_begin, column_end;  // The part of the window inside of the image.
  int64_t row, column;                                   // The window's first element; may lie outside of the image.
  Window(const Pooling& p, int64_t out_row, int64_t out_column)
      : row(out_row * p.stride_height - p.top), column(out_column * p.stride_width - p.left) {
    row_begin = std::max<int64_t>(row, 0), row_end = std::min(row + p.window_height, p.height);
    column_begin = std::max<int64_t>(column, 0), column_end = std::min(column + p.window_width, p.width);
  }
  int64_t elements() const { return (row_end - row_begin) * (column_end - column_begin); }
};

constexpr int64_t kBlock = 64;  // The number of channels whose running maxima stay in the first-level cache.

// The maximum and its position, found from the last element to the first: an earlier element replaces a later one that is
// equal, and a NaN replaces anything (nothing is >= a NaN). Written as single selects, which compilers vectorise.

SHOAL_VECTOR_LOOP void max_2x2(const float* __restrict x0, const float* __restrict x1, const float* __restrict x2,
                               const float* __restrict x3, int64_t channels, float* __restrict y,
                               uint8_t* __restrict index) {
  for (int64_t c = 0; c < channels; ++c) {
    const float first = x0[c], second = x1[c], third = x2[c];
    float best = x3[c];
    int32_t position = 3;
    position = third >= best ? 2 : position, best = third >= best ? third : best;
    position = third != third ? 2 : position, best = third != third ? third : best;
    position = second >= best ? 1 : position, best = second >= best ? second : best;
    position = second != second ? 1 : position, best = second != second ? second : best;
    position = first >= best ? 0 : position, best = first >= best ? first : best;
    position = first != first ? 0 : position, best = first != first ? first : best;
    y[c] = best;
    index[c] = uint8_t(position);
  }
}

SHOAL_VECTOR_LOOP void max_step(const float* __restrict x, int32_t here, int64_t count, float* __restrict best,
                                int32_t* __restrict position) {
  for (int64_t c = 0; c < count; ++c) {
    position[c] = x[c] >= best[c] ? here : position[c];
    best[c] = x[c] >= best[c] ? x[c] : best[c];
    position[c] = x[c] != x[c] ? here : position[c];
    best[c] = x[c] != x[c] ? x[c] : best[c];
  }
}

void max_window(const Pooling& p, const Window& w, const float* image, float* y, uint8_t* index) {
  for (int64_t first = 0; first < p.channels; first += kBlock) {
    const int64_t count = std::min(kBlock, p.channels - first);
    float best[kBlock];
    int32_t position[kBlock];
    std::fill_n(best, count, -std::numeric_limits<float>::infinity());
    for (int64_t row = w.row_end - 1; row >= w.row_begin; --row) {
      for (int64_t column = w.column_end - 1; column >= w.column_begin; --column) {
        const int32_t here = int32_t((row - w.row) * p.window_width + (column - w.column));
        max_step(image + (row * p.width + column) * p.channels + first, here, count, best, position);
      }
    }
    std::copy_n(best, count, y + first);
    std::transform(position, position + count, index + first, [](int32_t value) { return uint8_t(value); });
  }
}

void max_pool_image(const Pooling& p, const float* image, float* y, uint8_t* index) {
  const bool two_by_two = p.window_height == 2 && p.window_width == 2;
  for (int64_t row = 0; row < p.out_height; ++row) {
    for (int64_t column = 0; column < p.out_width; ++column, y += p.channels, index += p.channels) {
      const Window w(p, row, column);
      if (two_by_two && w.elements() == 4) {
        const float* x = image + (w.row * p.width + w.column) * p.channels;
        const float* below = x + p.width * p.channels;
        max_2x2(x, x + p.channels, below, below + p.channels, p.channels, y, index);
      } else {
        max_window(p, w, image, y, index);
      }
    }
  }
}

/// dx = dy where the window's maximum was at `position`, else 0. With `accumulate`, adds to dx, because windows overlap.
SHOAL_VECTOR_LOOP void max_grad_step(const float* __restrict dy, const uint8_t* __restrict index, int32_t position,
                                     int64_t channels, bool accumulate, float* __restrict dx) {
  if (accumulate) {
    for (int64_t c = 0; c < channels; ++c) dx[c] += int32_t(index[c]) == position ? dy[c] : 0.0f;
  } else {
    for (int64_t c = 0; c < channels; ++c) dx[c] = int32_t(index[c]) == position ? dy[c] : 0.0f;
  }
}

SHOAL_VECTOR_LOOP void max_grad_2x2(const float* __restrict dy, const uint8_t* __restrict index, int64_t channels,
                                    float* __restrict dx00, float* __restrict dx01, float* __restrict dx10,
                                    float* __restrict dx11) {
  for (int64_t c = 0; c < channels; ++c) {
    const int32_t position = index[c];
    const float value = dy[c];
    dx00[c] = position == 0 ? value : 0.0f;
    dx01[c] = position == 1 ? value : 0.0f;
    dx10[c] = position == 2 ? value : 0.0f;
    dx11[c] = position == 3 ? value : 0.0f;
  }
}

void max_pool_grad_image(const Pooling& p, const float* dy, const uint8_t* index, float* dx) {
  if (!p.windows_tile()) std::fill_n(dx, p.image_elements(), 0.0f);
  const bool accumulate = p.windows_overlap();
  const bool two_by_two = p.window_height == 2 && p.window_width == 2 && !accumulate;
  for (int64_t row = 0; row < p.out_height; ++row) {
    for (int64_t column = 0; column < p.out_width; ++column, dy += p.channels, index += p.channels) {
      const Window w(p, row, column);
      if (two_by_two && w.elements() == 4) {
        float* place = dx + (w.row * p.width + w.column) * p.channels;
        float* below = place + p.width * p.channels;
        max_grad_2x2(dy, index, p.channels, place, place + p.channels, below, below + p.channels);
        continue;
      }
      for (int64_t r = w.row_begin; r < w.row_end; ++r) {
        for (int64_t c = w.column_begin; c < w.column_end; ++c) {
          const int32_t here = int32_t((r - w.row) * p.window_width + (c - w.column));
          max_grad_step(dy, index, here, p.channels, accumulate, dx + (r * p.width + c) * p.channels);
        }
      }
    }
  }
}

SHOAL_VECTOR_LOOP void add_to(const float* __restrict x, int64_t count, float* __restrict y) {
  for (int64_t c = 0; c < count; ++c) y[c] += x[c];
}

SHOAL_VECTOR_LOOP void add_divided(const float* __restrict x, float divisor, int64_t count, float* __restrict y) {
  for (int64_t c = 0; c < count; ++c) y[c] += x[c] / divisor;
}

SHOAL_VECTOR_LOOP void divide_channels(float divisor, int64_t count, float* __restrict y) {
  for (int64_t c = 0; c < count; ++c) y[c] /= divisor;
}

void avg_pool_image(const Pooling& p, const float* image, float* y) {
  for (int64_t row = 0; row < p.out_height; ++row) {
    for (int64_t column = 0; column < p.out_width; ++column, y += p.channels) {
      const Window w(p, row, column);
      std::fill_n(y, p.channels, 0.0f);
      for (int64_t r = w.row_begin; r < w.row_end; ++r) {
        for (int64_t c = w.column_begin; c < w.column_end; ++c) {
          add_to(image + (r * p.width + c) * p.channels, p.channels, y);
        }
      }
      divide_channels(float(w.elements()), p.channels, y);
    }
  }
}

void avg_pool_grad_image(const Pooling& p, const float* dy, float* dx) {
  std::fill_n(dx, p.image_elements(), 0.0f);
  for (int64_t row = 0; row < p.out_height; ++row) {
    for (int64_t column = 0; column < p.out_width; ++column, dy += p.channels) {
      const Window w(p, row, column);
      for (int64_t r = w.row_begin; r < w.row_end; ++r) {
        for (int64_t c = w.column_begin; c < w.column_end; ++c) {
          add_divided(dy, float(w.elements()), p.channels, dx + (r * p.width + c) * p.channels);
        }
      }
    }
  }
}

/// A kernel that calls body(call, n) for every image of a batch.
template <class Body>
std::unique_ptr<Kernel> make_image_loop(int threads, const Pooling& pooling, const Body& body) {
  return make_loop([=](const KernelCall& call) -> Result<void> {
    parallel_for(threads, pooling.batch, pooling.work_bytes(5), [&](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n) body(call, n);
    });
    return {};
  });
}

}  // namespace

std::unique_ptr<Kernel> make_max_pool(const KernelRequest& request) {
  const Pooling p(request.node.attributes, request.inputs[0].shape, request.outputs[0].shape);
  if (!none_empty(request)) return nullptr;
  return make_image_loop(request.threads, p, [p](const KernelCall& call, int64_t n) {
    auto* index = reinterpret_cast<uint8_t*>(call.outputs[1].data);
    max_pool_image(p, floats(call.inputs[0]) + n * p.image_elements(), floats(call.outputs[0]) + n * p.out_elements(),
                   index + n * p.out_elements());
  });
}

std::unique_ptr<Kernel> make_max_pool_grad(const KernelRequest& request) {
  const Pooling p(request.node.attributes, request.outputs[0].shape, request.inputs[0].shape);
  if (!none_empty(request)) return nullptr;
  return make_image_loop(request.threads, p, [p](const KernelCall& call, int64_t n) {
    const auto* index = reinterpret_cast<const uint8_t*>(call.inputs[1].data);
    max_pool_grad_image(p, floats(call.inputs[0]) + n * p.out_elements(), index + n * p.out_elements(),
                        floats(call.outputs[0]) + n * p.image_elements());
  });
}

std::unique_ptr<Kernel> make_avg_pool(const KernelRequest& request) {
  const Pooling p(request.node.attributes, request.inputs[0].shape, request.outputs[0].shape);
  if (!none_empty(request)) return nullptr;
  return make_image_loop(request.threads, p, [p](const KernelCall& call, int64_t n) {
    avg_pool_image(p, floats(call.inputs[0]) + n * p.image_elements(), floats(call.outputs[0]) + n * p.out_elements());
  });
}

std::unique_ptr<Kernel> make_avg_pool_grad(const KernelRequest& request) {
  const Pooling p(request.node.attributes, request.outputs[0].shape, request.inputs[0].shape);
  if (!none_empty(request)) return nullptr;
  return make_image_loop(request.threads, p, [p](const KernelCall& call, int64_t n) {
    avg_pool_grad_image(p, floats(call.inputs[0]) + n * p.out_elements(), floats(call.outputs[0]) + n * p.image_elements());
  });
}

}  // namespace shoal::backends::portable
