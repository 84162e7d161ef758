// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Images that a training records in its event files, beside scalars and histograms.
#include <string>

#include "shoal/base/std_function.h"
#include "shoal/base/tensor.h"
#include "shoal/graph/graph.h"

namespace shoal {

/// Images of the graph, and the function that encodes them as PNG. Only image_summary() refers to the PNG library, so
/// programs that do not call it need not be linked with that library.
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
/// Float32 numbers are clamped to [0, 1], and NaN counts as 0. Raises InvalidArgument for another type or shape, and
/// FailedPrecondition, naming the package to install, if the build has no libpng.
ImageSummary image_summary(std::string name, Value images);

}  // namespace shoal
