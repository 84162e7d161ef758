// SPDX-License-Identifier: Apache-2.0
#include "onnx_model/windows.h"

#include <algorithm>

namespace shoal::convert::onnx_model {
namespace {

/// Sizes up to this one do not overflow when two of them are multiplied.
constexpr int64_t kSizeMax = int64_t(1) << 30;

Result<std::vector<int64_t>> sizes(const Call& call, std::string_view name, std::vector<int64_t> otherwise, int64_t least) {
  std::vector<int64_t> given = call.numbers(name, otherwise);
  const bool is_known = given.size() == otherwise.size() &&
                        std::ranges::all_of(given, [&](int64_t size) { return size >= least && size <= kSizeMax; });
  if (is_known) return given;
  return invalid_argument("attribute \"" + std::string(name) + "\" is not " + std::to_string(otherwise.size()) +
                          " numbers from " + std::to_string(least) + " to " + std::to_string(kSizeMax));
}

}  // namespace

Result<WindowAxes> window_axes(const Call& call, int64_t window_height, int64_t window_width) {
  SHOAL_TRY_VOID(call.want_rank(0, 4));
  SHOAL_TRY(const auto strides, sizes(call, "strides", {1, 1}, 1));
  SHOAL_TRY(const auto dilations, sizes(call, "dilations", {1, 1}, 1));
  SHOAL_TRY(const auto pads, sizes(call, "pads", {0, 0, 0, 0}, 0));
  const Shape& picture = call.shape();
  for (const int64_t size : {picture[2], picture[3], window_height, window_width}) {
    if (size < 1 || size > kSizeMax) {
      return invalid_argument("a window of " + std::to_string(window_height) + " x " + std::to_string(window_width) +
                              " does not go over pictures of " + to_string(picture));
    }
  }
  return WindowAxes{{picture[2], window_height, strides[0], dilations[0], pads[0], pads[2]},
                    {picture[3], window_width, strides[1], dilations[1], pads[1], pads[3]}};
}

Result<void> check_windows_fit(const WindowAxes& axes) {
  for (const WindowAxis* axis : {&axes.y, &axes.x}) {
    if (axis->span() > axis->padded()) {
      return invalid_argument("a window that reaches over " + std::to_string(axis->span()) +
                              " elements does not fit into " + std::to_string(axis->padded()));
    }
  }
  return {};
}

}  // namespace shoal::convert::onnx_model
