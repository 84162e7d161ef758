// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Draws pictures as characters, for terminals.
#include <string>

#include "shoal/base/tensor.h"

namespace shoal::cli {

/// Whether a tensor looks like a picture: uint8 or float32, of the shape [height, width] or [height, width, 1 or 3], at
/// least 8 pixels high and wide.
bool is_picture(const Tensor& tensor);

/// Draws `picture`, for which is_picture() holds, in lines of at most `columns` characters. Dark pixels become blanks,
/// bright ones @. The picture keeps its proportions, since a character counts as twice as high as it is wide. Values of
/// float32 are scaled from the least to the largest.
std::string picture_text(const Tensor& picture, int columns);

}  // namespace shoal::cli
