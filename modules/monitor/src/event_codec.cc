// SPDX-License-Identifier: Apache-2.0
#include "event_codec.h"

#include "event_fields.h"
#include "event_pieces.h"

namespace shoal::monitor {

using protozero::pbf_writer;

std::string encode_version_event(double wall_time) {
  std::string bytes;
  pbf_writer event(bytes);
  event.add_double(event_field::kWallTime, wall_time);
  event.add_string(event_field::kFileVersion, "brain.Event:2");  // TensorBoard requires this version.
  return bytes;
}

std::string encode_start(double wall_time, int64_t first_step) {
  std::string bytes;
  pbf_writer event(bytes);
  event.add_double(event_field::kWallTime, wall_time);
  event.add_int64(event_field::kStep, first_step);
  pbf_writer session(event, event_field::kSessionLog);
  session.add_enum(session_field::kStatus, kSessionStart);
  session.commit();
  return bytes;
}

std::string encode_scalars(double wall_time, int64_t global_step, std::span<const Scalar> scalars) {
  return encode_summary(wall_time, global_step, [&](pbf_writer& summary) {
    for (const Scalar& scalar : scalars) {
      pbf_writer value(summary, summary_field::kValue);
      value.add_string(value_field::kTag, scalar.tag.data(), scalar.tag.size());
      value.add_float(value_field::kSimpleValue, float(scalar.value));
    }
  });
}

std::string encode_histogram(double wall_time, int64_t global_step, std::string_view tag, const Histogram& histogram) {
  return encode_summary(wall_time, global_step, [&](pbf_writer& summary) {
    pbf_writer value(summary, summary_field::kValue);
    value.add_string(value_field::kTag, tag.data(), tag.size());
    pbf_writer message(value, value_field::kHisto);
    message.add_double(histogram_field::kMin, histogram.min);
    message.add_double(histogram_field::kMax, histogram.max);
    message.add_double(histogram_field::kNum, histogram.count);
    message.add_double(histogram_field::kSum, histogram.sum);
    message.add_double(histogram_field::kSumSquares, histogram.sum_squares);
    message.add_packed_double(histogram_field::kBucketLimit, histogram.limits.begin(), histogram.limits.end());
    message.add_packed_double(histogram_field::kBucket, histogram.counts.begin(), histogram.counts.end());
  });
}

std::string encode_text(double wall_time, int64_t global_step, std::string_view tag, std::string_view text) {
  return encode_summary(wall_time, global_step, [&](pbf_writer& summary) {
    pbf_writer value(summary, summary_field::kValue);
    value.add_string(value_field::kTag, tag.data(), tag.size());
    add_plugin(value, "text", {});
    pbf_writer tensor(value, value_field::kTensor);
    tensor.add_enum(tensor_field::kDType, kDTypeString);
    tensor.add_message(tensor_field::kShape, "", 0);  // A scalar has no dimensions.
    tensor.add_bytes(tensor_field::kStringVal, text.data(), text.size());
  });
}

std::string encode_image(double wall_time, int64_t global_step, std::string_view tag, const EncodedImage& image) {
  return encode_summary(wall_time, global_step, [&](pbf_writer& summary) {
    pbf_writer value(summary, summary_field::kValue);
    value.add_string(value_field::kTag, tag.data(), tag.size());
    pbf_writer message(value, value_field::kImage);
    message.add_int32(image_field::kHeight, int32_t(image.height));
    message.add_int32(image_field::kWidth, int32_t(image.width));
    message.add_int32(image_field::kColorspace, image.channels);
    message.add_bytes(image_field::kEncoded, image.bytes.data(), image.bytes.size());
  });
}

std::string encode_tensor(double wall_time, int64_t global_step, std::string_view tag, const TensorSummary& tensor) {
  return encode_summary(wall_time, global_step, [&](pbf_writer& summary) {
    pbf_writer value(summary, summary_field::kValue);
    value.add_string(value_field::kTag, tag.data(), tag.size());
    add_plugin(value, tensor.plugin, tensor.content);
    pbf_writer message(value, value_field::kTensor);
    message.add_enum(tensor_field::kDType, kDTypeFloat);
    add_shape(message, tensor_field::kShape, tensor.shape);
    message.add_packed_float(tensor_field::kFloatVal, tensor.values.begin(), tensor.values.end());
  });
}

std::string pr_curve_content(size_t thresholds) {
  std::string content;
  pbf_writer(content).add_uint32(pr_curve_field::kNumThresholds, uint32_t(thresholds));
  return content;
}

}  // namespace shoal::monitor
