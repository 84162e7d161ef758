// SPDX-License-Identifier: Apache-2.0
#include "shoal/data/channel_statistics.h"

#include <cmath>
#include <utility>

#include "shoal/base/production.h"
#include "shoal/json/exact.h"
#include "shoal/json/fields.h"

namespace shoal::data {
namespace {

/// The mean of some numbers, and the sum of their squared deviations from it.
struct Moments {
  double count = 0, mean = 0, deviations = 0;

  void add(const Moments& other) {
    const double all = count + other.count, distance = other.mean - mean;
    deviations += other.deviations + distance * distance * (count * other.count / all);
    mean += distance * (other.count / all);
    count = all;
  }
};

/// Returns the moments of every `step`-th number. Sums of bytes and of their squares are exact whole numbers, since an
/// image has less than 2^45 bytes.
Moments moments_of(std::span<const uint8_t> values, size_t first, size_t step) {
  uint64_t count = 0, sum = 0, squares = 0;
  for (size_t i = first; i < values.size(); i += step) {
    ++count;
    sum += values[i];
    squares += uint64_t(values[i]) * values[i];
  }
  const double n = double(count), total = double(sum);
  return {n, total / n / 255, (double(squares) - total * total / n) / (255.0 * 255.0)};
}

Moments moments_of(std::span<const float> values, size_t first, size_t step) {
  Moments moments;
  for (size_t i = first; i < values.size(); i += step) ++moments.count, moments.mean += double(values[i]);
  moments.mean /= moments.count;
  for (size_t i = first; i < values.size(); i += step) {
    const double distance = double(values[i]) - moments.mean;
    moments.deviations += distance * distance;
  }
  return moments;
}

class ChannelsSoFar {
 public:
  Result<void> add(const Tensor& image) {
    const int rank = image.shape().rank();
    const bool has_pixels = image.dtype() == DType::kUInt8 || image.dtype() == DType::kFloat32;
    if (!has_pixels || (rank != 3 && rank != 4) || image.elements() == 0)
      return refused(image, "expected uint8 or float32 images");
    const auto channels = size_t(image.shape()[rank - 1]);
    if (channels_.empty()) {
      channels_.resize(channels);
      dtype_ = image.dtype();
    }
    if (channels != channels_.size() || image.dtype() != dtype_) {
      return refused(image, "those before are " + std::string(to_string(dtype_)) + " of " +
                                std::to_string(channels_.size()) + " channels");
    }
    for (size_t i = 0; i < channels; ++i) {
      channels_[i].add(dtype_ == DType::kUInt8 ? moments_of(image.as<uint8_t>(), i, channels)
                                               : moments_of(image.as<float>(), i, channels));
    }
    return {};
  }
  Result<ChannelStatistics> statistics() const {
    if (channels_.empty()) return invalid_argument("channel_statistics: the dataset has no image");
    ChannelStatistics result{.pixel_count = int64_t(channels_[0].count)};
    for (const Moments& channel : channels_) {
      result.mean.push_back(float(channel.mean));
      // Rounding may make the sum of squared deviations of equal numbers negative.
      result.stddev.push_back(float(std::sqrt(std::max(0.0, channel.deviations / channel.count))));
    }
    return result;
  }

 private:
  static Error refused(const Tensor& image, const std::string& why) {
    return invalid_argument("channel_statistics: an image is " + std::string(to_string(image.dtype())) + " " +
                            to_string(image.shape()) + "; " + why);
  }
  std::vector<Moments> channels_;
  DType dtype_ = DType::kUInt8;
};

Result<std::vector<float>> numbers_member(const json::Json& object, std::string_view name) {
  SHOAL_TRY(const json::Json* list, json::list_member(object, name));
  std::vector<float> numbers;
  for (const json::Json& element : *list) {
    SHOAL_TRY(const double number, json::exact_number_of(element, name));
    numbers.push_back(float(number));
  }
  return numbers;
}

json::Json numbers_json(const std::vector<float>& numbers) {
  json::Json list = json::Json::array();
  for (const float number : numbers) list.push_back(json::exact_number(double(number)));
  return list;
}

}  // namespace

Result<ChannelStatistics> measure_channels(const Dataset& dataset, const ChannelStatisticsOptions& options) {
  if (dataset.repeats_for_ever()) {
    return invalid_argument("channel_statistics: the dataset does not end; leave repeat() out");
  }
  const std::shared_ptr<Environment> env = options.env ? options.env : make_production_environment({});
  SHOAL_TRY(const auto iterator, dataset.iterate(*env, {.stop = env->interrupted()}));
  ChannelsSoFar so_far;
  for (Element element;;) {
    SHOAL_TRY(const bool more, iterator->next(element));
    if (!more) return so_far.statistics();
    const Tensor* const image = element.features.find(options.feature);
    if (!image) {
      return invalid_argument("channel_statistics: there is no feature \"" + options.feature +
                              "\"; there are: " + element.features.names());
    }
    SHOAL_TRY_VOID(so_far.add(*image));
  }
}

ChannelStatistics channel_statistics(const Dataset& dataset, const ChannelStatisticsOptions& options) {
  return value_or_raise(measure_channels(dataset, options));
}

}  // namespace shoal::data

namespace shoal {

std::string Learned<data::ChannelStatistics>::encode(const data::ChannelStatistics& value) {
  return json::text_of(json::Json{{"pixels", value.pixel_count},
                                  {"mean", data::numbers_json(value.mean)},
                                  {"stddev", data::numbers_json(value.stddev)}});
}

Result<data::ChannelStatistics> Learned<data::ChannelStatistics>::decode(std::string_view text) {
  data::ChannelStatistics value;
  SHOAL_TRY(const json::Json object, json::parse_object(text));
  SHOAL_TRY(value.pixel_count, json::whole_member<int64_t>(object, "pixels", 0));
  SHOAL_TRY(value.mean, data::numbers_member(object, "mean"));
  SHOAL_TRY(value.stddev, data::numbers_member(object, "stddev"));
  if (value.mean.size() != value.stddev.size()) return json::must_be("stddev", "as long as \"mean\"");
  return value;
}

std::string Learned<data::ChannelStatistics>::news(const data::ChannelStatistics& kept,
                                                   const data::ChannelStatistics& found) {
  if (kept.mean.size() == found.mean.size()) return {};
  return "images of " + std::to_string(found.mean.size()) + " channels, and not of " + std::to_string(kept.mean.size());
}

}  // namespace shoal
