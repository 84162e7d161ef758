// SPDX-License-Identifier: Apache-2.0
#include "onnx/onnx_graph.h"

#include <algorithm>
#include <protozero/pbf_writer.hpp>
#include <protozero/varint.hpp>

#include "onnx/onnx_fields.h"

namespace shoal::convert {
namespace {

using protozero::pbf_writer;
namespace field = onnx_field;

constexpr int64_t kIrVersion = 8, kOpset = 17, kMlOpset = 3;
constexpr size_t kFileMax = (size_t(1) << 31) - 1;
constexpr std::string_view kMlDomain = "ai.onnx.ml";

void write_attribute(pbf_writer& node, const std::string& name, const OnnxAttribute& value) {
  pbf_writer attribute(node, field::kNodeAttribute);
  attribute.add_string(field::kAttributeName, name);
  int32_t type = 0;
  if (const auto* number = std::get_if<int64_t>(&value)) {
    attribute.add_int64(field::kAttributeInt, *number);
    type = field::kInt;
  } else if (const auto* real = std::get_if<float>(&value)) {
    attribute.add_float(field::kAttributeFloat, *real);
    type = field::kFloat;
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    attribute.add_bytes(field::kAttributeText, *text);
    type = field::kText;
  } else if (const auto* numbers = std::get_if<std::vector<int64_t>>(&value)) {
    for (int64_t one : *numbers) attribute.add_int64(field::kAttributeInts, one);
    type = field::kInts;
  } else {
    for (const std::string& one : std::get<std::vector<std::string>>(value))
      attribute.add_bytes(field::kAttributeTexts, one);
    type = field::kTexts;
  }
  attribute.add_enum(field::kAttributeType, type);
}

/// The ONNX type of a dtype that is known to have one.
int32_t element_type_of(DType dtype) { return value_or_raise(onnx_element_type(dtype)); }

void write_dims(pbf_writer& tensor, const Shape& shape) {
  for (int64_t size : shape.dims()) tensor.add_int64(field::kTensorDims, size);
}

}  // namespace

Result<int32_t> onnx_element_type(DType dtype) {
  switch (dtype) {
    case DType::kFloat32: return field::kElementFloat32;
    case DType::kInt32: return field::kElementInt32;
    case DType::kInt64: return field::kElementInt64;
    case DType::kUInt8: return field::kElementUInt8;
    case DType::kBool: return field::kElementBool;
    case DType::kString: return field::kElementText;
    default: return invalid_argument("elements of type " + std::string(to_string(dtype)) + " do not go into an ONNX file");
  }
}

std::string OnnxGraph::unique(const std::string& name) {
  std::string result = name;
  for (int i = 1; !names_.insert(result).second; ++i) result = name + "_" + std::to_string(i);
  return result;
}

std::string& OnnxGraph::new_node(std::vector<std::string> uses, std::vector<std::string> makes) {
  nodes_.push_back({std::move(uses), std::move(makes), {}});
  return nodes_.back().bytes;
}

std::vector<std::string> OnnxGraph::add_many(std::string_view op, const std::vector<std::string>& inputs, size_t outputs,
                                             const OnnxAttributes& attributes, Domain domain) {
  const std::string name = unique(scope_ + "/" + std::string(op));
  std::vector<std::string> results;
  for (size_t i = 0; i < outputs; ++i) results.push_back(i == 0 ? name : name + ":" + std::to_string(i));
  pbf_writer graph(new_node(inputs, results));
  pbf_writer node(graph, field::kGraphNode);
  for (const std::string& input : inputs) node.add_string(field::kNodeInput, input);
  for (const std::string& result : results) node.add_string(field::kNodeOutput, result);
  node.add_string(field::kNodeName, name);
  node.add_string(field::kNodeOp, op.data(), op.size());
  for (const auto& [key, value] : attributes) write_attribute(node, key, value);
  if (domain == Domain::kMl) {
    node.add_string(field::kNodeDomain, kMlDomain.data(), kMlDomain.size());
    uses_ml_ = true;
  }
  return results;
}

std::string OnnxGraph::add(std::string_view op, std::vector<std::string> inputs, const OnnxAttributes& attributes,
                           Domain domain) {
  return add_many(op, inputs, 1, attributes, domain)[0];
}

void OnnxGraph::add_identity(const std::string& from, const std::string& to) {
  pbf_writer graph(new_node({from}, {to}));
  pbf_writer node(graph, field::kGraphNode);
  node.add_string(field::kNodeInput, from);
  node.add_string(field::kNodeOutput, to);
  node.add_string(field::kNodeName, unique("/" + to));
  node.add_string(field::kNodeOp, "Identity");
}

std::string OnnxGraph::initializer(const std::string& name, const TensorView& tensor) {
  const std::string given = unique(name);
  initializers_.push_back({{}, {given}, {}});
  pbf_writer graph(initializers_.back().bytes);
  pbf_writer out(graph, field::kGraphInitializer);
  write_dims(out, tensor.shape);
  out.add_int32(field::kTensorType, element_type_of(tensor.dtype));
  out.add_string(field::kTensorName, given);
  out.add_bytes(field::kTensorBytes, reinterpret_cast<const char*>(tensor.data), tensor.bytes());
  return given;
}

template <class T>
std::string OnnxGraph::shared_constant(const std::string& key, std::vector<int64_t> shape, std::span<const T> values) {
  const std::string bytes(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  auto [place, is_new] = constants_.try_emplace(key + to_string(Shape(shape)) + bytes);
  if (is_new) {
    place->second =
        initializer("/constants/" + key, {dtype_of_v<T>, Shape(shape), reinterpret_cast<const std::byte*>(values.data())});
  }
  return place->second;
}

std::string OnnxGraph::constant(float value) { return shared_constant<float>("float", {}, std::span(&value, 1)); }
std::string OnnxGraph::constant(int64_t value) { return shared_constant<int64_t>("int", {}, std::span(&value, 1)); }
std::string OnnxGraph::constant(const std::vector<int64_t>& values) {
  return shared_constant<int64_t>("ints", {int64_t(values.size())}, values);
}
std::string OnnxGraph::constant(const std::vector<float>& values) {
  return shared_constant<float>("floats", {int64_t(values.size())}, values);
}

std::string OnnxGraph::constant(const std::vector<std::string>& values) {
  const std::string given = unique("/constants/texts");
  initializers_.push_back({{}, {given}, {}});
  pbf_writer graph(initializers_.back().bytes);
  pbf_writer out(graph, field::kGraphInitializer);
  write_dims(out, Shape({int64_t(values.size())}));
  out.add_int32(field::kTensorType, field::kElementText);
  for (const std::string& value : values) out.add_bytes(field::kTensorTexts, value);
  out.add_string(field::kTensorName, given);
  return given;
}

void OnnxGraph::add_value(uint32_t kind, const std::string& name, DType dtype, const DimShape& shape) {
  std::string& place = kind == field::kGraphInput ? inputs_ : outputs_;
  pbf_writer graph(place);
  pbf_writer value(graph, kind);
  value.add_string(field::kValueName, name);
  pbf_writer type(value, field::kValueType);
  pbf_writer tensor(type, field::kTypeTensor);
  tensor.add_int32(field::kTensorTypeElement, element_type_of(dtype));
  // The shape of a scalar is a message without fields. The pbf_writer `sizes` below writes no message if it gets no field,
  // so the empty message is written here.
  if (shape.rank() == 0) tensor.add_message(field::kTensorTypeShape, std::string());
  pbf_writer sizes(tensor, field::kTensorTypeShape);
  for (const Dim& dim : shape.dims()) {
    pbf_writer size(sizes, field::kShapeDim);
    if (dim.is_symbol()) {
      size.add_string(field::kDimSymbol, dim.name());
    } else {
      size.add_int64(field::kDimNumber, dim.size());
    }
  }
}

void OnnxGraph::add_input(const std::string& name, DType dtype, const DimShape& shape) {
  add_value(field::kGraphInput, name, dtype, shape);
}
void OnnxGraph::add_output(const std::string& name, DType dtype, const DimShape& shape) {
  add_value(field::kGraphOutput, name, dtype, shape);
  output_names_.push_back(name);
}

std::vector<const std::string*> OnnxGraph::needed_parts() const {
  std::set<std::string, std::less<>> needed(output_names_.begin(), output_names_.end());
  const auto is_needed = [&](const Part& part) {
    return std::ranges::any_of(part.makes, [&](const std::string& name) { return needed.contains(name); });
  };
  std::vector<const std::string*> parts;
  // Backwards, so that all nodes that read a node's outputs are seen before that node.
  for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
    if (!is_needed(*node)) continue;
    needed.insert(node->uses.begin(), node->uses.end());
    parts.push_back(&node->bytes);
  }
  std::ranges::reverse(parts);
  for (const Part& tensor : initializers_) {
    if (is_needed(tensor)) parts.push_back(&tensor.bytes);
  }
  return parts;
}

Result<std::string> OnnxGraph::finish(const Header& header) const {
  std::string name;
  pbf_writer(name).add_string(field::kGraphName, header.name);
  std::vector<const std::string*> parts = needed_parts();
  parts.insert(parts.end(), {&name, &inputs_, &outputs_});
  size_t size = 0;
  for (const std::string* part : parts) size += part->size();
  if (size + (size_t(1) << 20) > kFileMax) {
    return invalid_argument("the ONNX file would have " + std::to_string(size >> 20) +
                            " MiB; one file of this format holds less than 2048 MiB");
  }
  std::string bytes;
  bytes.reserve(size + (size_t(1) << 12));
  pbf_writer model(bytes);
  model.add_int64(field::kModelIrVersion, kIrVersion);
  model.add_string(field::kModelProducerName, "shoal");
  model.add_string(field::kModelProducerVersion, SHOAL_VERSION);
  model.add_int64(field::kModelVersion, header.model_version);
  {
    pbf_writer opset(model, field::kModelOpset);
    opset.add_string(field::kOpsetDomain, "");
    opset.add_int64(field::kOpsetVersion, kOpset);
  }
  if (uses_ml_) {
    pbf_writer opset(model, field::kModelOpset);
    opset.add_string(field::kOpsetDomain, kMlDomain.data(), kMlDomain.size());
    opset.add_int64(field::kOpsetVersion, kMlOpset);
  }
  for (const auto& [key, value] : header.metadata) {
    pbf_writer entry(model, field::kModelMetadata);
    entry.add_string(field::kEntryKey, key);
    entry.add_string(field::kEntryValue, value);
  }
  // The parts of the graph are appended to `bytes` directly, since protozero would copy the whole graph once more.
  protozero::add_varint_to_buffer(&bytes,
                                  protozero::tag_and_type(field::kModelGraph, protozero::pbf_wire_type::length_delimited));
  protozero::add_varint_to_buffer(&bytes, size);
  for (const std::string* part : parts) bytes += *part;
  return bytes;
}

}  // namespace shoal::convert
