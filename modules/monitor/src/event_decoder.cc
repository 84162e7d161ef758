// SPDX-License-Identifier: Apache-2.0
// Decodes the protobuf message of an event of Shoal or of another program.
#include <bit>
#include <cstdlib>
#include <optional>
#include <protozero/pbf_reader.hpp>
#include <type_traits>

#include "event_codec.h"
#include "event_fields.h"
#include "shoal/base/record_framing.h"

namespace shoal::monitor {
namespace {

constexpr size_t kRankMax = 8;

using protozero::pbf_reader;
using Form = protozero::pbf_wire_type;

// A field is identified by its number and its wire type together. A known number with another wire type is skipped like an
// unknown field, since protozero's getters do not check the wire type.
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
      // Writers of older versions do not pack these fields.
      case as(kBucketLimit, Form::fixed64): histogram.limits.push_back(message.get_double()); break;
      case as(kBucket, Form::fixed64): histogram.counts.push_back(message.get_double()); break;
      default: message.skip();
    }
  }
  return histogram;
}

/// The fields of a TensorProto that event files use. `content` has the bytes of the numbers, little-endian.
struct TensorParts {
  int32_t dtype = 0;
  std::vector<int64_t> shape;
  std::string content;
  std::vector<std::string> texts;
};

std::vector<int64_t> decode_shape(pbf_reader message) {
  std::vector<int64_t> shape;
  while (message.next(shape_field::kDim, Form::length_delimited)) {
    int64_t size = 0;
    pbf_reader dim = message.get_message();
    while (dim.next(shape_field::kSize, Form::varint)) size = dim.get_int64();
    if (shape.size() <= kRankMax) shape.push_back(size);
  }
  return shape;
}

TensorParts decode_tensor(pbf_reader message) {
  using namespace tensor_field;
  TensorParts tensor;
  const auto append = [&tensor](auto number) {
    using Bits = std::conditional_t<sizeof number == 4, uint32_t, uint64_t>;
    append_little_endian(tensor.content, std::bit_cast<Bits>(number));
  };
  while (message.next()) {
    switch (message.tag_and_type()) {
      case as(kDType, Form::varint): tensor.dtype = message.get_enum(); break;
      case as(kShape, Form::length_delimited): tensor.shape = decode_shape(message.get_message()); break;
      case as(kContent, Form::length_delimited): tensor.content = message.get_string(); break;
      case as(kFloatVal, Form::fixed32): append(message.get_float()); break;
      case as(kFloatVal, Form::length_delimited):
        for (float number : message.get_packed_float()) append(number);
        break;
      case as(kDoubleVal, Form::fixed64): append(message.get_double()); break;
      case as(kDoubleVal, Form::length_delimited):
        for (double number : message.get_packed_double()) append(number);
        break;
      case as(kStringVal, Form::length_delimited): tensor.texts.push_back(message.get_string()); break;
      default: message.skip();
    }
  }
  return tensor;
}

/// Reads the elements of a tensor of floats or doubles. False for other types.
bool numbers_of(const TensorParts& tensor, std::vector<double>& numbers) {
  const std::string_view bytes = tensor.content;
  const size_t size = tensor.dtype == kDTypeFloat ? 4 : 8;
  if ((tensor.dtype != kDTypeFloat && tensor.dtype != kDTypeDouble) || bytes.size() % size != 0) return false;
  numbers.reserve(bytes.size() / size);
  for (size_t at = 0; at < bytes.size(); at += size) {
    numbers.push_back(size == 4 ? double(std::bit_cast<float>(load_little_endian<uint32_t>(bytes.substr(at, 4))))
                                : std::bit_cast<double>(load_little_endian<uint64_t>(bytes.substr(at, 8))));
  }
  return true;
}

/// Sets `value` to one text, with a line for each element of a tensor of texts. But if the tensor is for TensorBoard's
/// image plug-in, its elements are width, height and the encoded images: then `value` becomes the first image.
void take_texts(TensorParts& tensor, EventValue& value) {
  if (value.plugin == "images") {
    if (tensor.texts.size() < 3) return;
    const auto number = [](const std::string& text) { return int64_t(std::strtol(text.c_str(), nullptr, 10)); };
    value.kind = EventValue::Kind::kImage;
    value.width = number(tensor.texts[0]);
    value.height = number(tensor.texts[1]);
    value.text = std::move(tensor.texts[2]);
    return;
  }
  value.kind = EventValue::Kind::kText;
  for (size_t i = 0; i < tensor.texts.size(); ++i) value.text += (i > 0 ? "\n" : "") + tensor.texts[i];
}

/// Sets `value` to what `tensor` contains: texts, a scalar (some writers store a scalar as a tensor of one element), or a
/// tensor of numbers.
void take_tensor(TensorParts tensor, EventValue& value) {
  if (value.plugin == "hparams") return;  // The value is in the metadata; the tensor's numbers mean nothing.
  if (!tensor.texts.empty()) return take_texts(tensor, value);
  std::vector<double> numbers;
  if (!numbers_of(tensor, numbers) || !has_elements(tensor.shape, numbers.size())) return;
  if (numbers.size() == 1 && tensor.shape.size() <= 1) {
    value.kind = EventValue::Kind::kScalar;
    value.scalar = numbers[0];
    return;
  }
  value.kind = EventValue::Kind::kTensor;
  value.shape = std::move(tensor.shape);
  value.values.assign(numbers.begin(), numbers.end());
}

void decode_image(pbf_reader message, EventValue& value) {
  using namespace image_field;
  value.kind = EventValue::Kind::kImage;
  while (message.next()) {
    switch (message.tag_and_type()) {
      case as(kHeight, Form::varint): value.height = message.get_int32(); break;
      case as(kWidth, Form::varint): value.width = message.get_int32(); break;
      case as(kEncoded, Form::length_delimited): value.text = message.get_string(); break;
      default: message.skip();
    }
  }
}

std::string decode_plugin(pbf_reader metadata) {
  std::string name;
  while (metadata.next(metadata_field::kPluginData, Form::length_delimited)) {
    pbf_reader plugin = metadata.get_message();
    while (plugin.next(metadata_field::kPluginName, Form::length_delimited)) name = plugin.get_string();
  }
  return name;
}

EventValue decode_value(pbf_reader message) {
  using namespace value_field;
  EventValue value;
  std::optional<TensorParts> tensor;  // Decoded last, since the metadata, which may come later, says how to decode it.
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
      case as(kImage, Form::length_delimited): decode_image(message.get_message(), value); break;
      case as(kTensor, Form::length_delimited): tensor = decode_tensor(message.get_message()); break;
      case as(kMetadata, Form::length_delimited): value.plugin = decode_plugin(message.get_message()); break;
      default: message.skip();
    }
  }
  if (tensor) take_tensor(std::move(*tensor), value);
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
  // Sets time and step in all values only now: an event's fields come in any order, so these may follow the values.
  for (EventValue& value : values) {
    value.wall_time = wall_time;
    value.global_step = global_step;
  }
  return values;
}

}  // namespace

bool has_elements(std::span<const int64_t> shape, size_t count) {
  if (shape.size() > kRankMax) return false;
  uint64_t product = 1;
  bool is_empty = false;
  for (const int64_t size : shape) {
    if (size < 0) return false;
    is_empty |= size == 0;
    if (__builtin_mul_overflow(product, uint64_t(size), &product)) product = UINT64_MAX;
  }
  return is_empty ? count == 0 : product == count;
}

Result<std::vector<EventValue>> decode_event(std::string_view payload) {
  // The library protozero throws exceptions for malformed input; they end here.
  try {
    return decode_message(pbf_reader(payload.data(), payload.size()));
  } catch (const protozero::exception& error) {
    return data_loss(std::string("not an event: ") + error.what());
  }
}

}  // namespace shoal::monitor
