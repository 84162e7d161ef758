// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Images that a training records in its event files, beside scalars and histograms.
#include <string>

#include "shoal/base/std_function.h"
#include "shoal/base/tensor.h"
#include "shoal/graph/graph.h"

namespace shoal {

/// Made by image_summary(), which also says how images are encoded, so that programs without images need no library for them.
struct ImageSummary {
  std::string name;
  Value images = {};
  std::function<Result<std::string>(const Tensor& image)> encode = {};
};

/// Records the first images of a batch, at most three, as PNG files: tags "<name>/image/0", "<name>/image/1", ...
///
///   spec.image_summaries = {image_summary("input", features["image"])};
///
///   images   [batch, height, width, channels]  uint8, or float32 from 0 (black) to 1; 1 channel is grey, 2 are grey and opacity,
///            3 are red, green and blue, 4 are these and opacity
///
/// Numbers of float32 outside of [0, 1] count as the nearer end, and NaN as 0. Raises InvalidArgument for another type or shape, and
/// FailedPrecondition where the build is without libpng, with the package that has it.
ImageSummary image_summary(std::string name, Value images);

}  // namespace shoal
