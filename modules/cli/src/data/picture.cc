// SPDX-License-Identifier: Apache-2.0
#include "data/picture.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "data/cell.h"

namespace shoal::cli {

bool is_picture(const Tensor& tensor) {
  constexpr int64_t kSideLeast = 8;
  const Shape& shape = tensor.shape();
  if (tensor.dtype() != DType::kUInt8 && tensor.dtype() != DType::kFloat32) return false;
  if (shape.rank() != 2 && (shape.rank() != 3 || (shape[2] != 1 && shape[2] != 3))) return false;
  return shape[0] >= kSideLeast && shape[1] >= kSideLeast;
}

std::string picture_text(const Tensor& picture, int columns) {
  constexpr std::string_view kShades = " .:-=+*#%@";
  Cell pixels;
  fill_cell(pixels, "", picture, "", true);
  const int64_t height = picture.shape()[0], width = picture.shape()[1], channels = picture.elements() / (height * width);
  double low = 0, high = 255;
  if (picture.dtype() == DType::kFloat32) {
    for (double& value : pixels.numbers) value = std::isfinite(value) ? value : 0;
    const auto [least, most] = std::minmax_element(pixels.numbers.begin(), pixels.numbers.end());
    low = *least;
    high = *most > *least ? *most : *least + 1;
  }
  const int64_t across = std::min<int64_t>(width, std::max(columns, 1));
  const int64_t down = std::max<int64_t>(1, height * across / width / 2);
  std::string text;
  for (int64_t row = 0; row < down; ++row) {
    for (int64_t column = 0; column < across; ++column) {
      // The character shows the mean of the pixels in its rectangle.
      const int64_t top = row * height / down, bottom = std::max(top + 1, (row + 1) * height / down);
      const int64_t left = column * width / across, right = std::max(left + 1, (column + 1) * width / across);
      double sum = 0;
      for (int64_t y = top; y < bottom; ++y) {
        for (int64_t at = (y * width + left) * channels; at < (y * width + right) * channels; ++at)
          sum += pixels.numbers[size_t(at)];
      }
      const double mean = sum / double((bottom - top) * (right - left) * channels);
      const double shade = (mean - low) / (high - low) * double(kShades.size() - 1);
      text += kShades[size_t(std::clamp(shade + 0.5, 0.0, double(kShades.size() - 1)))];
    }
    text.resize(text.find_last_not_of(' ') == std::string::npos ? 0 : text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text;
}

}  // namespace shoal::cli
