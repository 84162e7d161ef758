// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Pictures as characters, for terminals.
#include <string>

#include "shoal/base/tensor.h"

namespace shoal::cli {

/// Whether a tensor looks like a picture: uint8 or float32, [height, width] or [height, width, 1 or 3], of at least 8 pixels each way.
bool is_picture(const Tensor& tensor);

/// `picture`, for which is_picture() holds, as lines of at most `columns` characters: dark pixels are blanks, bright ones are @. A
/// character is about twice as high as it is wide, so that the picture keeps its shape. The values of float32 are taken from the
/// least to the largest.
std::string picture_text(const Tensor& picture, int columns);

}  // namespace shoal::cli
