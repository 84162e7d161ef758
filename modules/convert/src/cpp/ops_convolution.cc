// SPDX-License-Identifier: Apache-2.0
// Convolutions, transposed convolutions and pools. Filters are stored in the order in which the generated code reads them.
#include <cmath>
#include <numeric>
#include <string>

#include "cpp/op_table.h"
#include "cpp/text.h"
#include "shoal/base/finite.h"

namespace shoal::convert::cpp {
namespace {

/// One axis of a correlation. Result i is stored at target_begin + i * target_step. Tap t multiplies the image's
/// element i * stride + begin + t * dilation with tap number tap_begin + t * tap_step of the filters.
struct Axis {
  int64_t in, out, taps;
  int64_t stride = 1, begin = 0, dilation = 1;
  int64_t target_begin = 0, target_step = 1;
  int64_t tap_begin = 0, tap_step = 1;

  int64_t seen() const { return (out - 1) * stride + (taps - 1) * dilation + 1; }
  bool reaches_beyond() const { return begin < 0 || begin + seen() > in; }
  bool taps_are_neighbours() const { return dilation == 1 || taps == 1; }
};

/// Holds the sizes of a convolution: conv2d computes the result from the image, conv2d_transpose the image from the result.
struct Convolution {
  int64_t groups, channels, filters;  // The number of groups; input channels and filters of one group.
  Axis down, right;

  Convolution(const Attributes& attributes, const Shape& image, const Shape& kernel, const Shape& result)
      : groups(attributes.get_int("groups", 1)), channels(kernel[1]), filters(kernel[0] / groups) {
    const auto axis = [&](size_t number, int64_t in, int64_t out, int64_t taps) {
      return Axis{.in = in,
                  .out = out,
                  .taps = taps,
                  .stride = attributes.get_ints("strides")[number],
                  .begin = -attributes.get_ints("padding")[2 * number],  // Padding is top, bottom, left, right.
                  .dilation = attributes.get_ints("dilations", {1, 1})[number]};
    };
    down = axis(0, image[1], result[1], kernel[2]);
    right = axis(1, image[2], result[2], kernel[3]);
  }
  int64_t taps() const { return down.taps * right.taps; }
  bool is_depthwise() const { return groups > 1 && channels == 1 && filters == 1; }
  /// False for groups of a few channels, which are summed by other code (write_grouped).
  bool has_wide_groups() const { return groups == 1 || (channels >= 8 && filters >= 8); }
};

/// The elements of a result that one loop nest of the generated code computes. For a convolution these are all elements.
/// For a transposed convolution with strides they are every stride-th element, and there is one Part for each phase of the
/// stride.
struct Part {
  Axis down, right;
  int64_t in_channels, out_channels;
  // The distances in memory between weights of neighbouring output channels, input channels and groups.
  int64_t out_step, in_step, group_step;
  int64_t target_width;
};

std::string axis_text(const Axis& a) {
  std::vector<std::string> numbers;
  for (const int64_t number : {a.in, a.out, a.taps, a.stride, a.begin, a.dilation, a.target_begin, a.target_step}) {
    numbers.push_back(int_text(number));
  }
  return "{" + joined(numbers) + "}";
}
std::string short_axis_text(const Axis& a, int64_t in, int64_t out) {
  std::vector<std::string> numbers;
  for (const int64_t number : {in, out, a.taps, a.stride, a.begin, a.dilation}) numbers.push_back(int_text(number));
  return "{" + joined(numbers) + "}";
}

/// Returns the weights that a part of a result needs, in the order [groups][taps down][taps right][in][out].
std::vector<float> arranged(std::span<const float> filters, const Part& part, int64_t groups, int64_t filter_width) {
  std::vector<float> result;
  for (int64_t group = 0; group < groups; ++group) {
    for (int64_t t = 0; t < part.down.taps; ++t) {
      for (int64_t s = 0; s < part.right.taps; ++s) {
        const int64_t tap =
            (part.down.tap_begin + t * part.down.tap_step) * filter_width + part.right.tap_begin + s * part.right.tap_step;
        for (int64_t i = 0; i < part.in_channels; ++i) {
          for (int64_t o = 0; o < part.out_channels; ++o) {
            result.push_back(filters[size_t(group * part.group_step + o * part.out_step + i * part.in_step + tap)]);
          }
        }
      }
    }
  }
  return result;
}

/// Tells whether the sums of a convolution include products with the zeros beyond the image, as they do in the backend
/// `portable`. `columns`: with the zeros to the left and right, if a row of a window is contiguous in memory. `rows`: also
/// with the zeros above and below, if such a row is short, too. Filters with infinity or NaN are never multiplied by zeros,
/// since the products would be NaN.
struct ZerosBeyond {
  bool rows, columns;
  ZerosBeyond(const Part& part, int64_t groups, bool finite) {
    constexpr int64_t kShortRow = 32;
    const bool runs = groups == 1 && part.right.taps_are_neighbours();
    const bool padded = part.down.taps > 0 && part.right.reaches_beyond();
    columns = runs && (!padded || finite);
    rows = columns && finite && part.down.taps > 1 && part.right.taps * part.in_channels < kShortRow;
  }
};

/// The texts of the pointers to an image and its result in the generated code. If there are several images, call() writes a
/// loop over them, and each call computes one image.
struct Images {
  std::string x, y;
  int64_t count;

  explicit Images(OpWriter& w) : x(w.in(0)), y(w.out()), count(w.input(0).shape[0]) {
    if (count == 1) return;
    x += " + n * " + int_text(w.input(0).elements() / count);
    y += " + n * " + int_text(w.output().elements() / count);
  }
  void call(OpWriter& w, const std::string& part, const std::vector<std::string>& arguments) const {
    if (count > 1) w.line_before("for (Size n = 0; n < " + int_text(count) + "; ++n)");
    w.call(part, arguments);
  }
};

void write_part(OpWriter& w, const Convolution& c, const Part& part, const std::string& layout) {
  const Shape shape{c.groups, part.down.taps, part.right.taps, part.in_channels, part.out_channels};
  const std::span<const float> filters = w.floats(1);
  const bool finite = all_finite({filters.data(), filters.size()});
  const std::string weights =
      shape.elements() == 0 ? "nullptr" : w.array(1, layout, shape, arranged(filters, part, c.groups, c.right.taps));
  const ZerosBeyond zeros(part, c.groups, finite);
  const auto flag = [](bool value) { return value ? "true" : "false"; };
  const Images images(w);
  const std::string sizes =
      joined({axis_text(part.down), axis_text(part.right), int_text(c.groups), int_text(part.in_channels),
              int_text(part.out_channels), int_text(part.target_width), flag(zeros.rows), flag(zeros.columns)});
  const std::string bias = w.input_count() > 2 ? w.in(2) : "nullptr";
  w.need("correlate");
  w.line("{");
  w.line("  static const Correlation sizes = {" + sizes + "};  // Not on the stack.");
  const std::string loop = images.count > 1 ? "for (Size n = 0; n < " + int_text(images.count) + "; ++n) " : "";
  w.line("  " + loop + "correlate(" + joined({images.x, weights, bias, images.y, "sizes"}) + ");");
  w.line("}");
}

/// Returns the filters of a depthwise convolution in the order [taps][channels].
std::vector<float> by_taps(std::span<const float> filters, int64_t channels, int64_t taps) {
  std::vector<float> result;
  for (int64_t tap = 0; tap < taps; ++tap) {
    for (int64_t c = 0; c < channels; ++c) result.push_back(filters[size_t(c * taps + tap)]);
  }
  return result;
}

/// Returns the filters [O,I,taps] in the order [O,taps,I].
std::vector<float> channels_last(std::span<const float> filters, int64_t channels, int64_t taps) {
  std::vector<float> result;
  for (int64_t o = 0; o < int64_t(filters.size()) / (channels * taps); ++o) {
    for (int64_t tap = 0; tap < taps; ++tap) {
      for (int64_t i = 0; i < channels; ++i) result.push_back(filters[size_t((o * channels + i) * taps + tap)]);
    }
  }
  return result;
}

/// Writes a convolution with groups of few channels, depthwise or not.
void write_grouped(OpWriter& w, const Convolution& c, bool transposed) {
  const auto axis = [&](const Axis& a) {
    return transposed ? short_axis_text(a, a.out, a.in) : short_axis_text(a, a.in, a.out);
  };
  const std::string bias = w.input_count() > 2 ? w.in(2) : "nullptr";
  const Images images(w);
  if (c.is_depthwise()) {
    const std::string weights =
        w.array(1, "by taps", {c.down.taps, c.right.taps, c.groups}, by_taps(w.floats(1), c.groups, c.taps()));
    images.call(w, "depthwise",
                {images.x, weights, bias, images.y, axis(c.down), axis(c.right), int_text(c.groups),
                 transposed ? "true" : "false"});
    return;
  }
  const Shape shape{c.groups * c.filters, c.down.taps, c.right.taps, c.channels};
  const std::string weights = w.array(1, "channels last", shape, channels_last(w.floats(1), c.channels, c.taps()));
  images.call(w, transposed ? "grouped_transposed" : "grouped",
              {images.x, weights, bias, images.y, axis(c.down), axis(c.right), int_text(c.groups), int_text(c.channels),
               int_text(c.filters)});
}

void write_conv2d(OpWriter& w) {
  const Convolution c(w.attributes(), w.input(0).shape, w.input(1).shape, w.output().shape);
  if (c.is_depthwise() || !c.has_wide_groups()) {
    write_grouped(w, c, false);
  } else {
    write_part(w, c,
               {.down = c.down,
                .right = c.right,
                .in_channels = c.channels,
                .out_channels = c.filters,
                .out_step = c.channels * c.taps(),
                .in_step = c.taps(),
                .group_step = c.filters * c.channels * c.taps(),
                .target_width = c.right.out},
               "correlation");
  }
  write_fused_relu(w);
}

/// Returns one axis of a transposed convolution, which computes an image from a result. The axis covers only the image's
/// elements h with (h + before) % stride == phase, where `before` is the padding. All of these are sums over the same taps
/// of the filter, added from the last tap to the first. `forward` is the same axis of the ordinary convolution, which
/// computes the result from the image.
Axis phase_of(const Axis& forward, int64_t phase) {
  const int64_t stride = forward.stride, dilation = forward.dilation, before = -forward.begin;
  const int64_t together = std::gcd(stride, dilation), tap_step = stride / together;
  int64_t first = 0;
  while (first < forward.taps && first * dilation % stride != phase) ++first;
  const int64_t target = ((phase - before) % stride + stride) % stride;
  Axis axis{.in = forward.out,
            .out = target < forward.in ? (forward.in - 1 - target) / stride + 1 : 0,
            .taps = first < forward.taps ? (forward.taps - 1 - first) / tap_step + 1 : 0,
            .dilation = dilation / together,
            .target_begin = target,
            .target_step = stride,
            .tap_step = -tap_step};
  axis.tap_begin = first + (axis.taps - 1) * tap_step;
  axis.begin = axis.taps == 0 ? 0 : (target + before - first * dilation) / stride - (axis.taps - 1) * axis.dilation;
  return axis;
}

void write_conv2d_transpose(OpWriter& w) {
  const Convolution c(w.attributes(), w.output().shape, w.input(1).shape, w.input(0).shape);
  if (c.is_depthwise() || !c.has_wide_groups()) return write_grouped(w, c, true);
  for (int64_t i = 0; i < c.down.stride; ++i) {
    for (int64_t j = 0; j < c.right.stride; ++j) {
      Axis down = phase_of(c.down, i), right = phase_of(c.right, j);
      if (down.out == 0 || right.out == 0) continue;
      if (down.taps == 0 || right.taps == 0) down.taps = right.taps = 0;
      write_part(w, c,
                 {.down = down,
                  .right = right,
                  .in_channels = c.filters,
                  .out_channels = c.channels,
                  .out_step = c.taps(),
                  .in_step = c.channels * c.taps(),
                  .group_step = c.filters * c.channels * c.taps(),
                  .target_width = c.right.in},
                 "phase " + std::to_string(i) + ", " + std::to_string(j));
    }
  }
}

std::string conv_obstacle(const OpWriter& w) { return w.is_known(1) ? "" : "its filters are computed, and not a variable"; }

void write_pool(OpWriter& w) {
  const Attributes& attributes = w.attributes();
  const auto &window = attributes.get_ints("window"), &strides = attributes.get_ints("strides"),
             &padding = attributes.get_ints("padding");
  const Shape &x = w.input(0).shape, &y = w.output().shape;
  std::vector<std::string> sizes;
  for (const int64_t size :
       {x[1], x[2], x[3], y[1], y[2], window[0], window[1], strides[0], strides[1], padding[0], padding[2]}) {
    sizes.push_back(int_text(size));
  }
  const Images images(w);
  images.call(w, w.node().op, {images.x, images.y, "{" + joined(sizes) + "}"});
}

std::string pool_obstacle(const OpWriter& w) {
  return w.output_count() > 1 && w.is_used(1) ? "the positions of its maxima are used" : "";
}

}  // namespace

void add_convolution_rows(OpRows& rows) {
  rows.add("conv2d", {write_conv2d, conv_obstacle});
  rows.add("conv2d_transpose", {write_conv2d_transpose, conv_obstacle});
  rows.add("max_pool", {write_pool, pool_obstacle});
  rows.add("avg_pool", {write_pool, pool_obstacle});
}

}  // namespace shoal::convert::cpp
