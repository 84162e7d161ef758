// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The contents of an event file: values by tag, each with wall time and global step.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace shoal::monitor {

/// Counts of values by bucket. Bucket i holds values in [limits[i-1], limits[i]); the first starts at -infinity.
struct Histogram {
  double min = 0, max = 0, sum = 0, sum_squares = 0;
  double count = 0;
  std::vector<double> limits;  ///< Ascending.
  std::vector<double> counts;  ///< One per limit.
  friend bool operator==(const Histogram&, const Histogram&) = default;
};

/// Makes a histogram of the finite elements of `values`, without the other elements. Buckets grow by 10% from 1e-12 to 1e20
/// on both sides of zero, as in the histograms of TensorBoard's other writers; runs of empty buckets are merged.
Histogram make_histogram(std::span<const float> values);

/// A single value of an event. An event with several values gives several EventValues.
struct EventValue {
  enum class Kind : uint8_t {
    kScalar,
    kText,
    kHistogram,
    kOther,  ///< A kind that the reader does not decode, such as hyper-parameters.
    kImage,
    kTensor,
  };
  double wall_time = 0;  ///< Seconds since 1970.
  int64_t global_step = 0;
  std::string tag;
  Kind kind = Kind::kOther;
  double scalar = 0;      ///< Set for kScalar.
  std::string text;       ///< For kText: the text. For kImage: the bytes of the image file, as a rule a PNG or JPEG.
  Histogram histogram{};  ///< Set for kHistogram.
  /// Set for kImage: the size in pixels as the event gives it, which the encoded bytes may contradict.
  int64_t width = 0, height = 0;
  /// Set for kTensor: the sizes of the axes, and the values in row-major order, as many as the product of the sizes.
  std::vector<int64_t> shape{};
  std::vector<float> values{};
  /// The plug-in of TensorBoard that shows the value: "text", "images", "pr_curves", "hparams", "shoal_confusion_matrix",
  /// or that of another program. Empty for values that need none.
  std::string plugin{};
  friend bool operator==(const EventValue&, const EventValue&) = default;
};

/// A start of training at the step `first_step`: the first start, or a restart. Values of training that were recorded
/// before this event, for `first_step` or later steps, are void: a restart repeats these steps (SessionLog START,
/// docs/formats.md).
struct EventStart {
  double wall_time = 0;  ///< Seconds since 1970.
  int64_t first_step = 0;
  friend bool operator==(const EventStart&, const EventStart&) = default;
};

}  // namespace shoal::monitor
