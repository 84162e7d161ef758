// SPDX-License-Identifier: Apache-2.0
#include "shoal/data/tf_example.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <protozero/pbf_writer.hpp>
#include <set>
#include <utility>

#include "shoal/base/error.h"
#include "tf_example_wire.h"

namespace shoal::data {
namespace {

TfList list_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat32: return TfList::kFloat;
    case DType::kInt64:
    case DType::kInt32: return TfList::kInt64;
    default: return TfList::kBytes;
  }
}

std::string quoted(std::string_view name) { return "\"" + std::string(name) + "\""; }

[[noreturn]] void refuse(const TfFeature& feature, const std::string& why) {
  raise(invalid_argument("feature " + quoted(feature.name) + " of tf.Example " + why));
}

void check_missing(const TfFeature& feature) {
  const Tensor& missing = *feature.missing;
  if (missing.dtype() != feature.dtype) {
    refuse(feature, "is " + std::string(to_string(feature.dtype)) + ", and its values for missing ones are " +
                        std::string(to_string(missing.dtype())));
  }
  const bool scalar = missing.shape() == Shape{};
  if (feature.variable) refuse(feature, "is variable, so where it is missing it has no values: leave out `missing`");
  if (!feature.positions.empty() && !scalar) refuse(feature, "has positions: `missing` is a scalar then");
  if (!scalar && !(missing.shape() == feature.shape)) {
    refuse(feature, "has the shape " + to_string(feature.shape) + ", and its values for missing ones have " +
                        to_string(missing.shape()) + "; give a scalar, or that shape");
  }
}

void check_feature(const TfFeature& feature) {
  switch (feature.dtype) {
    case DType::kFloat32:
    case DType::kInt64:
    case DType::kInt32:
    case DType::kString:
    case DType::kUInt8: break;
    default:
      refuse(feature,
             "cannot be " + std::string(to_string(feature.dtype)) + ": there are float32, int64, int32, string and uint8");
  }
  if (feature.name.empty()) refuse(feature, "needs a name");
  if (feature.variable && !(feature.shape == Shape{})) refuse(feature, "is variable: leave out its shape");
  if (feature.variable && !feature.positions.empty()) refuse(feature, "is variable, and has positions: choose one");
  if (feature.dtype == DType::kUInt8 && (feature.variable || !feature.positions.empty())) {
    refuse(feature, "is uint8, of one text: its shape says how many bytes that has");
  }
  if (feature.missing) check_missing(feature);
}

void check_options(const TfExampleOptions& options) {
  if (options.features.empty()) raise(invalid_argument("tf.Example: `features` is empty: name what is to be read"));
  std::set<std::string_view> names;
  for (const TfFeature& feature : options.features) {
    check_feature(feature);
    if (!names.insert(feature.name).second) refuse(feature, "is there twice");
  }
  std::set<std::string_view> labels;
  for (const std::string& label : options.labels) {
    if (!names.contains(label))
      raise(invalid_argument("tf.Example: the label " + quoted(label) + " is none of the features"));
    if (!labels.insert(label).second) raise(invalid_argument("tf.Example: the label " + quoted(label) + " is there twice"));
  }
}

/// Returns a tensor of the feature's default values: feature.missing, which is the whole tensor or one value for all
/// elements, or zeros if feature.missing is unset.
Tensor filled(const TfFeature& feature) {
  if (feature.missing && feature.missing->shape() == feature.shape) return feature.missing->clone();
  Tensor tensor = Tensor::zeros(feature.dtype, feature.shape);
  if (!feature.missing) return tensor;
  switch (feature.dtype) {
    case DType::kFloat32: std::ranges::fill(tensor.mutable_as<float>(), feature.missing->as<float>()[0]); break;
    case DType::kInt64: std::ranges::fill(tensor.mutable_as<int64_t>(), feature.missing->as<int64_t>()[0]); break;
    case DType::kInt32: std::ranges::fill(tensor.mutable_as<int32_t>(), feature.missing->as<int32_t>()[0]); break;
    case DType::kUInt8: std::ranges::fill(tensor.mutable_as<uint8_t>(), feature.missing->as<uint8_t>()[0]); break;
    default: std::ranges::fill(tensor.mutable_strings(), feature.missing->strings()[0]);
  }
  return tensor;
}

/// Copies all `values` into `tensor`, which must have exactly as many elements.
Result<void> copy_values(const TfValues& values, Tensor& tensor) {
  const auto count = size_t(tensor.elements());
  switch (tensor.dtype()) {
    case DType::kFloat32: return values.copy_floats(tensor.mutable_as<float>());
    case DType::kInt64: return values.copy_int64s(tensor.mutable_as<int64_t>());
    case DType::kInt32: {
      std::vector<int64_t> wide(count);
      SHOAL_TRY_VOID(values.copy_int64s(wide));
      for (const int64_t value : wide) {
        if (!std::in_range<int32_t>(value))
          return data_loss("it has " + std::to_string(value) + ", which int32 does not hold");
      }
      std::ranges::transform(wide, tensor.mutable_as<int32_t>().begin(), [](int64_t value) { return int32_t(value); });
      return {};
    }
    default: {
      std::vector<std::string_view> texts(count);
      SHOAL_TRY_VOID(values.copy_texts(texts));
      std::ranges::transform(texts, tensor.mutable_strings().begin(),
                             [](std::string_view text) { return std::string(text); });
      return {};
    }
  }
}

Result<void> check_kind(const TfValues& values, TfList wanted) {
  if (values.list == wanted) return {};
  return data_loss("the record has " + std::string(to_string(values.list)) + " there, and not " +
                   std::string(to_string(wanted)));
}

/// Returns the bytes of the only text of `values`.
Result<Tensor> bytes_of_text(const TfFeature& feature, const TfValues& values) {
  SHOAL_TRY(const int64_t count, values.count());
  if (count != 1) return data_loss("the record has " + std::to_string(count) + " texts there, and not one with the bytes");
  std::string_view text;
  SHOAL_TRY_VOID(values.copy_texts({&text, 1}));
  if (int64_t(text.size()) != feature.shape.elements()) {
    return data_loss("its text has " + std::to_string(text.size()) + " bytes, and the shape " + to_string(feature.shape) +
                     " " + std::to_string(feature.shape.elements()));
  }
  Tensor tensor(DType::kUInt8, feature.shape);
  std::ranges::copy(text, reinterpret_cast<char*>(tensor.mutable_as<uint8_t>().data()));
  return tensor;
}

Result<Tensor> list_tensor(const TfFeature& feature, const TfValues& values) {
  SHOAL_TRY(const int64_t count, values.count());
  if (!feature.variable && count != feature.shape.elements()) {
    return data_loss("the record has " + std::to_string(count) + " " + std::string(to_string(values.list)) +
                     " there, and the shape " + to_string(feature.shape) + " " + std::to_string(feature.shape.elements()) +
                     (feature.shape == Shape{} ? "; say `variable` if their number differs" : ""));
  }
  Tensor tensor(feature.dtype, feature.variable ? Shape{count} : feature.shape);
  SHOAL_TRY_VOID(copy_values(values, tensor));
  return tensor;
}

void copy_element(const Tensor& from, size_t source, Tensor& to, size_t target) {
  if (to.dtype() == DType::kString) {
    to.mutable_strings()[target] = from.strings()[source];
    return;
  }
  const size_t width = size_of(to.dtype());
  std::memcpy(to.mutable_view().data + target * width, from.view().data + source * width, width);
}

/// Makes a tensor with the values at their positions, and with `missing` or zeros at all others.
Result<Tensor> scattered(const TfFeature& feature, const TfValues* values, const TfRecord& record) {
  const TfValues none{.name = feature.name, .list = list_of(feature.dtype)};
  const TfValues* positions = record.find(feature.positions);
  if (!values || values->list == TfList::kNone) values = &none;
  SHOAL_TRY(const int64_t count, values->count());
  SHOAL_TRY(const int64_t position_count, positions ? positions->count() : Result<int64_t>(0));
  if (count != position_count) {
    return data_loss("the record has " + std::to_string(count) + " values there, and " + std::to_string(position_count) +
                     " positions in " + quoted(feature.positions));
  }
  Tensor tensor = filled(feature);
  if (count == 0) return tensor;
  SHOAL_TRY_VOID(check_kind(*values, list_of(feature.dtype)));
  if (positions->list != TfList::kInt64) {
    return data_loss("its positions in " + quoted(feature.positions) + " are " + std::string(to_string(positions->list)) +
                     ", and not int64 values");
  }
  Tensor packed(feature.dtype, Shape{count});
  SHOAL_TRY_VOID(copy_values(*values, packed));
  std::vector<int64_t> at(size_t(count), 0);
  SHOAL_TRY_VOID(positions->copy_int64s(at));
  for (size_t i = 0; i < at.size(); ++i) {
    if (at[i] < 0 || at[i] >= tensor.elements()) {
      return data_loss("its position " + std::to_string(at[i]) + " is not within the shape " + to_string(feature.shape));
    }
    copy_element(packed, i, tensor, size_t(at[i]));
  }
  std::ranges::sort(at);
  if (const auto twice = std::ranges::adjacent_find(at); twice != at.end()) {
    return data_loss("its position " + std::to_string(*twice) + " is there twice");
  }
  return tensor;
}

Result<Tensor> tensor_of(const TfFeature& feature, const TfRecord& record) {
  const TfValues* values = record.find(feature.name);
  if (!feature.positions.empty()) return scattered(feature, values, record);
  if (!values || values->list == TfList::kNone) {
    if (feature.missing) return filled(feature);
    if (feature.variable) return Tensor(feature.dtype, Shape{0});
    return data_loss("the record does not have it; it has " + record.names());
  }
  SHOAL_TRY_VOID(check_kind(*values, list_of(feature.dtype)));
  return feature.dtype == DType::kUInt8 ? bytes_of_text(feature, *values) : list_tensor(feature, *values);
}

/// As parse_tf_example(), for options that were checked.
Result<Element> parse(std::string_view bytes, const TfExampleOptions& options) {
  TfRecord record;
  SHOAL_TRY_VOID(record.read(bytes));
  Element element;
  for (const TfFeature& feature : options.features) {
    Result<Tensor> tensor = tensor_of(feature, record);
    if (!tensor) return std::move(tensor).error().with_context("feature " + quoted(feature.name));
    const bool is_label = std::ranges::find(options.labels, feature.name) != options.labels.end();
    if (is_label && options.labels.size() == 1) {
      element.labels = TensorMap(*std::move(tensor));
    } else {
      (is_label ? element.labels : element.features).set(feature.name, *std::move(tensor));
    }
  }
  return element;
}

void write_values(protozero::pbf_writer& list, const Tensor& tensor) {
  switch (tensor.dtype()) {
    case DType::kString:
      for (const std::string& text : tensor.strings()) list.add_bytes(1, text);
      return;
    case DType::kUInt8:
      list.add_bytes(1, reinterpret_cast<const char*>(tensor.as<uint8_t>().data()), tensor.bytes());
      return;
    case DType::kFloat32: {
      const auto values = tensor.as<float>();
      list.add_packed_float(1, values.begin(), values.end());
      return;
    }
    case DType::kInt64: {
      const auto values = tensor.as<int64_t>();
      list.add_packed_int64(1, values.begin(), values.end());
      return;
    }
    case DType::kInt32: {
      const auto values = tensor.as<int32_t>();
      list.add_packed_int64(1, values.begin(), values.end());
      return;
    }
    default: {
      const auto values = tensor.as<bool>();
      list.add_packed_int64(1, values.begin(), values.end());
    }
  }
}

TfList writable_list_of(std::string_view name, const Tensor& tensor) {
  switch (tensor.dtype()) {
    case DType::kString:
    case DType::kUInt8: return TfList::kBytes;
    case DType::kFloat32: return TfList::kFloat;
    case DType::kInt64:
    case DType::kInt32:
    case DType::kBool: return TfList::kInt64;
    default:
      raise(invalid_argument("make_tf_example: " + quoted(name) + " is " + std::string(to_string(tensor.dtype())) +
                             ", of which tf.Example has no list"));
  }
}

}  // namespace

Result<Element> parse_tf_example(std::string_view record, const TfExampleOptions& options) {
  check_options(options);
  return parse(record, options);
}

MapFn tf_examples(TfExampleOptions options) {
  check_options(options);
  return [options =
              std::make_shared<const TfExampleOptions>(std::move(options))](const Element& element) -> Result<Element> {
    if (!element.features.is_single() || element.features.single().dtype() != DType::kString ||
        !(element.features.single().shape() == Shape{})) {
      return invalid_argument("tf_examples() takes one text, such as a record of tf_records(); it stands before batch()");
    }
    return parse(element.features.single().strings()[0], *options);
  };
}

Result<TensorMap> tf_example_tensors(std::string_view record) {
  TfRecord read;
  SHOAL_TRY_VOID(read.read(record));
  TensorMap tensors;
  for (const TfValues& last : read.values()) {
    const TfValues& values = *read.find(last.name);
    if (values.list == TfList::kNone) continue;
    SHOAL_TRY(const int64_t count, values.count());
    const Shape shape{count};
    Tensor tensor(DType::kString, shape);
    if (values.list == TfList::kFloat) {
      tensor = Tensor(DType::kFloat32, shape);
      SHOAL_TRY_VOID(values.copy_floats(tensor.mutable_as<float>()));
    } else if (values.list == TfList::kInt64) {
      tensor = Tensor(DType::kInt64, shape);
      SHOAL_TRY_VOID(values.copy_int64s(tensor.mutable_as<int64_t>()));
    } else {
      std::vector<std::string_view> texts(static_cast<size_t>(count));
      SHOAL_TRY_VOID(values.copy_texts(texts));
      std::copy(texts.begin(), texts.end(), tensor.mutable_strings().begin());
    }
    tensors.set(std::string(values.name), std::move(tensor));
  }
  return tensors;
}

std::string make_tf_example(const TensorMap& tensors) {
  using protozero::pbf_writer;
  std::string record;
  {
    pbf_writer example(record);
    pbf_writer features(example, 1);
    for (const auto& [name, tensor] : tensors) {  // In byte order of the names, which a TensorMap keeps.
      const TfList kind = writable_list_of(name, tensor);
      pbf_writer entry(features, 1);
      entry.add_string(1, name);
      pbf_writer feature(entry, 2);
      // The list is encoded by itself first: protozero drops a nested message into which nothing is written, but an empty
      // list must be in the record.
      std::string values;
      pbf_writer list(values);
      write_values(list, tensor);
      feature.add_message(uint32_t(kind), values);
    }
  }
  return record;
}

}  // namespace shoal::data
