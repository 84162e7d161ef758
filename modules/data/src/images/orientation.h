// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The orientation in the Exif data of an image, which tells how the camera was turned.
#include <string_view>

#include "shoal/base/tensor.h"

namespace shoal::data {

/// Returns the tag Orientation, 1 to 8, of Exif data, which have the form of a TIFF file; 1, upright, if the data lack this
/// tag or are damaged. Source: Exif 2.3, section 4.6.4.
int orientation_of(std::string_view exif);
/// Whether this orientation swaps height and width.
inline bool is_turned(int orientation) { return orientation >= 5; }
/// Returns `image`, uint8 [height, width, channels], turned upright. An image of orientation 1 is not copied.
Tensor upright(const Tensor& image, int orientation);

}  // namespace shoal::data
