// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The orientation of an image in its Exif data: how a camera was held.
#include <string_view>

#include "shoal/base/tensor.h"

namespace shoal::data {

/// The tag Orientation, 1 to 8, of Exif data, which have the form of a TIFF file. 1, upright, where they have no such tag
/// or are damaged. Source: Exif 2.3, section 4.6.4.
int orientation_of(std::string_view exif);
/// Whether height and width change places.
inline bool is_turned(int orientation) { return orientation >= 5; }
/// `image`, uint8 [height, width, channels], upright. An image of orientation 1 is not copied.
Tensor upright(const Tensor& image, int orientation);

}  // namespace shoal::data
