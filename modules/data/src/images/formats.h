// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Functions for the two image formats, JPEG and PNG. For each format, one source file reads images and one writes them.
/// Their functions return FailedPrecondition if the build has no library for the format.
#include <string>
#include <string_view>

#include "shoal/data/images.h"

namespace shoal::data {

/// Decode `bytes`, which begin as a file of the format does. The caller has checked the options' ranges.
Result<Tensor> decode_jpeg(std::string_view bytes, const ImageOptions& options);
Result<Tensor> decode_png(std::string_view bytes, const ImageOptions& options);

/// Returns DataLoss if an image has more pixels than `pixels_max`.
Result<void> check_pixels(ImageSize size, int64_t pixels_max);

/// Makes a FailedPrecondition: the build is without `library`, which is in Debian's `package`.
Error without_image_library(std::string_view format, std::string_view library, std::string_view package);

}  // namespace shoal::data
