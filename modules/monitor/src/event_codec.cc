// SPDX-License-Identifier: Apache-2.0
#include "event_codec.h"

#include <bit>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>
#include <type_traits>

#include "event_fields.h"
#include "shoal/base/record_framing.h"

namespace shoal::monitor {
namespace {

using protozero::pbf_reader;
using protozero::pbf_writer;
using Form = protozero::pbf_wire_type;

/// An event with one summary, which `write` fills.
template <class Write>
std::string encode_summary(double wall_time, int64_t global_step, Write write) {
  std::string bytes;
  pbf_writer event(bytes);
  event.add_double(event_field::kWallTime, wall_time);
  event.add_int64(event_field::kStep, global_step);
  {
    pbf_writer summary(event, event_field::kSummary);
    write(summary);
  }
  return bytes;
}

// A field is known by its number and the form of its value together: of another form it is another field, and is passed
// over as those are. (protozero's getters take the form for granted.)
constexpr uint32_t as(uint32_t field, Form form) { return protozero::tag_and_type(field, form); }

Histogram decode_histogram(pbf_reader message) {
  using namespace histogram_field;
  Histogram histogram;
  const auto append_packed = [&](std::vector<double>& out) {
    for (double number : message.get_packed_double()) out.push_back(number);
  };
  while (message.next()) {
    switch (message.tag_and_type()) {
      case as(kMin, Form::fixed64): histogram.min = message.get_double(); break;
      case as(kMax, Form::fixed64): histogram.max = message.get_double(); break;
      case as(kNum, Form::fixed64): histogram.count = message.get_double(); break;
      case as(kSum, Form::fixed64): histogram.sum = message.get_double(); break;
      case as(kSumSquares, Form::fixed64): histogram.sum_squares = message.get_double(); break;
      case as(kBucketLimit, Form::length_delimited): append_packed(histogram.limits); break;
      case as(kBucket, Form::length_delimited): append_packed(histogram.counts); break;
      // Older writers do not pack.
      case as(kBucketLimit, Form::fixed64): histogram.limits.push_back(message.get_double()); break;
      case as(kBucket, Form::fixed64): histogram.counts.push_back(message.get_double()); break;
      default: message.skip();
    }
  }
  return histogram;
}

/// Texts, and the scalars of writers that store them as tensors.
void decode_tensor(pbf_reader message, EventValue& value) {
  using namespace tensor_field;
  int32_t dtype = 0;
  std::string content;
  const auto append = [&content](auto number) {
    using Bits = std::conditional_t<sizeof number == 4, uint32_t, uint64_t>;
    append_little_endian(content, std::bit_cast<Bits>(number));
  };
  while (message.next()) {
    switch (message.tag_and_type()) {
      case as(kDType, Form::varint): dtype = message.get_enum(); break;
      case as(kContent, Form::length_delimited): content = message.get_string(); break;
      case as(kFloatVal, Form::fixed32): append(message.get_float()); break;
      case as(kFloatVal, Form::length_delimited):
        for (float number : message.get_packed_float()) append(number);
        break;
      case as(kDoubleVal, Form::fixed64): append(message.get_double()); break;
      case as(kDoubleVal, Form::length_delimited):
        for (double number : message.get_packed_double()) append(number);
        break;
      case as(kStringVal, Form::length_delimited):
        if (value.kind == EventValue::Kind::kText) value.text += '\n';  // In a vector of texts, each has its line.
        value.kind = EventValue::Kind::kText;
        value.text += message.get_string();
        break;
      default: message.skip();
    }
  }
  if (dtype == kDTypeFloat && content.size() == 4) {
    value.kind = EventValue::Kind::kScalar;
    value.scalar = double(std::bit_cast<float>(load_little_endian<uint32_t>(content)));
  } else if (dtype == kDTypeDouble && content.size() == 8) {
    value.kind = EventValue::Kind::kScalar;
    value.scalar = std::bit_cast<double>(load_little_endian<uint64_t>(content));
  }
}

EventValue decode_value(pbf_reader message) {
  using namespace value_field;
  EventValue value;
  while (message.next()) {
    switch (message.tag_and_type()) {
      case as(kTag, Form::length_delimited): value.tag = message.get_string(); break;
      case as(kSimpleValue, Form::fixed32):
        value.kind = EventValue::Kind::kScalar;
        value.scalar = double(message.get_float());
        break;
      case as(kHisto, Form::length_delimited):
        value.kind = EventValue::Kind::kHistogram;
        value.histogram = decode_histogram(message.get_message());
        break;
      case as(kTensor, Form::length_delimited): decode_tensor(message.get_message(), value); break;
      default: message.skip();
    }
  }
  return value;
}

std::vector<EventValue> decode_message(pbf_reader message) {
  using namespace event_field;
  double wall_time = 0;
  int64_t global_step = 0;
  std::vector<EventValue> values;
  while (message.next()) {
    switch (message.tag_and_type()) {
      case as(kWallTime, Form::fixed64): wall_time = message.get_double(); break;
      case as(kStep, Form::varint): global_step = message.get_int64(); break;
      case as(kSummary, Form::length_delimited): {
        pbf_reader summary = message.get_message();
        while (summary.next(summary_field::kValue, Form::length_delimited)) {
          values.push_back(decode_value(summary.get_message()));
        }
        break;
      }
      default: message.skip();
    }
  }
  for (EventValue& value : values) {  // Fields come in any order, so these may have come last.
    value.wall_time = wall_time;
    value.global_step = global_step;
  }
  return values;
}

}  // namespace

std::string encode_version_event(double wall_time) {
  std::string bytes;
  pbf_writer event(bytes);
  event.add_double(event_field::kWallTime, wall_time);
  event.add_string(event_field::kFileVersion, "brain.Event:2");  // TensorBoard looks for this.
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
    {
      pbf_writer metadata(value, value_field::kMetadata);
      pbf_writer plugin(metadata, metadata_field::kPluginData);
      plugin.add_string(metadata_field::kPluginName, "text");
    }
    pbf_writer tensor(value, value_field::kTensor);
    tensor.add_enum(tensor_field::kDType, kDTypeString);
    tensor.add_message(tensor_field::kShape, "", 0);  // No dimensions: a scalar.
    tensor.add_bytes(tensor_field::kStringVal, text.data(), text.size());
  });
}

Result<std::vector<EventValue>> decode_event(std::string_view payload) {
  // The library protozero reports malformed input by throwing; this is the border.
  try {
    return decode_message(pbf_reader(payload.data(), payload.size()));
  } catch (const protozero::exception& error) {
    return data_loss(std::string("not an event: ") + error.what());
  }
}

}  // namespace shoal::monitor
