// SPDX-License-Identifier: Apache-2.0
// Reads the fields of an ONNX file by their numbers in onnx.proto, which promises never to change these. The reader refuses
// an unknown field that can change the results of the file, and skips others (documentation, shapes of inner values).
#include "onnx_model/onnx_file.h"

#include "onnx_model/element_types.h"
#include "onnx_model/onnx_tensor.h"
#include "onnx_model/wire.h"

namespace shoal::convert::onnx_model {
namespace {

/// Before version 4, constants had to be inputs as well; versions above 10 are newer than the specification used here.
constexpr int64_t kIrVersionMin = 4, kIrVersionMax = 10;

Result<void> check_type(const Message& message, int64_t type) {
  switch (type) {
    case 1:
    case 2:
    case 3:
    case 4:
    case 6:
    case 7:
    case 8: return {};
    default: return message.refused("has the type " + std::to_string(type) + ", which is not known here");
  }
}

/// Reads the message AttributeProto.
Result<std::pair<std::string, Attribute>> read_attribute(const Message& message, const OnnxLimits& limits) {
  std::string name;
  Attribute attribute;
  int64_t type = 0;
  SHOAL_TRY_VOID(each_field(message, [&](Field& field) -> Result<void> {
    switch (field.tag()) {
      case 1: name = field.text(); break;
      case 2: attribute.real = field.real(); break;
      case 3: attribute.number = field.number(); break;
      case 4: attribute.text = field.text(); break;
      case 5: {
        SHOAL_TRY(NamedTensor value, read_tensor(message.inner(field.bytes(), "value"), limits.elements_max));
        attribute.tensor = std::move(value.tensor);
        break;
      }
      case 7: field.append_to(attribute.reals); break;
      case 8: field.append_to(attribute.numbers); break;
      case 9: attribute.texts.push_back(field.text()); break;
      case 20: type = field.number(); break;
      case 21: return message.refused("refers to an attribute of a function, which is not known here");
    }
    return {};
  }));
  if (name.empty()) return message.damaged(message.bytes.data(), "an attribute has no name");
  SHOAL_TRY_VOID(check_type({message.file, message.bytes, message.part + " \"" + name + "\""}, type));
  attribute.type = AttributeType(type);
  return std::pair{std::move(name), std::move(attribute)};
}

/// Reads the message NodeProto.
Result<Node> read_node(const Message& message, const OnnxLimits& limits) {
  Node node;
  SHOAL_TRY_VOID(each_field(message, [&](Field& field) -> Result<void> {
    switch (field.tag()) {
      case 1: node.inputs.push_back(field.text()); break;
      case 2: node.outputs.push_back(field.text()); break;
      case 3: node.name = field.text(); break;
      case 4: node.op = field.text(); break;
      case 5: {
        SHOAL_TRY(auto named, read_attribute(message.inner(field.bytes(), "attribute"), limits));
        const std::string name = named.first;
        if (!node.attributes.insert(std::move(named)).second)
          return message.damaged(message.bytes.data(), "attribute \"" + name + "\" is there twice");
        break;
      }
      case 7: node.domain = field.text(); break;
      case 8: return message.refused("names an overload of a function, which is not known here");
    }
    return {};
  }));
  if (node.domain == "ai.onnx") node.domain = "";
  if (node.op.empty()) return message.damaged(message.bytes.data(), "a node has no op");
  return node;
}

/// Reads the message TensorShapeProto.Dimension.
Result<OnnxDim> read_dim(const Message& message) {
  OnnxDim dim;
  SHOAL_TRY_VOID(each_field(message, [&](Field& field) -> Result<void> {
    if (field.tag() == 1) {
      dim = {.size = field.number()};
      if (dim.size < 0) return message.damaged(message.bytes.data(), "an axis has a size below 0");
    } else if (field.tag() == 2) {
      dim = {.symbol = field.text()};
    }
    return {};
  }));
  return dim;
}

/// Reads the message TypeProto.Tensor.
Result<void> read_tensor_type(const Message& message, OnnxPort& port) {
  int64_t element_type = 0;
  port.has_shape = false;
  SHOAL_TRY_VOID(each_field(message, [&](Field& field) -> Result<void> {
    if (field.tag() == 1) element_type = field.number();
    if (field.tag() != 2) return {};
    port.has_shape = true;
    const Message shape = message.inner(field.bytes(), "shape");
    return each_field(shape, [&](Field& inner) -> Result<void> {
      if (inner.tag() != 1) return {};
      SHOAL_TRY(OnnxDim dim, read_dim(shape.inner(inner.bytes(), "axis " + std::to_string(port.dims.size()))));
      port.dims.push_back(std::move(dim));
      return {};
    });
  }));
  const Result<DType> dtype = dtype_of_element(element_type);
  if (!dtype) return message.refused(dtype.error().message());
  port.dtype = *dtype;
  return {};
}

/// Reads the message ValueInfoProto.
Result<OnnxPort> read_port(const Message& message) {
  OnnxPort port;
  bool is_tensor = false;
  SHOAL_TRY_VOID(each_field(message, [&](Field& field) -> Result<void> {
    if (field.tag() == 1) port.name = field.text();
    if (field.tag() != 2) return {};
    const Message type = message.inner(field.bytes(), "type");
    return each_field(type, [&](Field& inner) -> Result<void> {
      if (inner.tag() == 6) return {};  // TypeProto.denotation, which does not change results.
      if (inner.tag() != 1) return type.refused("is no tensor, and others are not known here");
      if (is_tensor) return type.damaged(type.bytes.data(), "there are two types");
      is_tensor = true;
      return read_tensor_type(type.inner(inner.bytes(), "tensor"), port);
    });
  }));
  if (port.name.empty()) return message.damaged(message.bytes.data(), "it has no name");
  if (!is_tensor) return message.damaged(message.bytes.data(), "\"" + port.name + "\" has no type");
  return port;
}

/// Reads the message GraphProto.
Result<void> read_graph(const Message& graph, const OnnxLimits& limits, File& file) {
  const auto numbered = [&](Field& field, const char* what, size_t number) {
    return graph.inner(field.bytes(), what + (" " + std::to_string(number)));
  };
  return each_field(graph, [&](Field& field) -> Result<void> {
    switch (field.tag()) {
      case 1: {
        if (int64_t(file.nodes.size()) >= limits.nodes_max)
          return graph.refused("has more than " + std::to_string(limits.nodes_max) + " nodes, which is the limit");
        SHOAL_TRY(Node node, read_node(numbered(field, "node", file.nodes.size()), limits));
        file.nodes.push_back(std::move(node));
        break;
      }
      case 5: {
        SHOAL_TRY(NamedTensor constant,
                  read_tensor(numbered(field, "constant", file.constants.size()), limits.elements_max));
        file.constants.emplace_back(std::move(constant.name), std::move(constant.tensor));
        break;
      }
      case 11: {
        SHOAL_TRY(OnnxPort port, read_port(numbered(field, "input", file.inputs.size())));
        file.inputs.push_back(std::move(port));
        break;
      }
      case 12: {
        SHOAL_TRY(OnnxPort port, read_port(numbered(field, "output", file.outputs.size())));
        file.outputs.push_back(std::move(port));
        break;
      }
      case 15: return graph.refused("has sparse constants, which are not known here");
    }
    return {};
  });
}

/// Reads the message OperatorSetIdProto.
Result<void> read_opset(const Message& message, File& file) {
  std::string domain;
  int64_t version = 0;
  SHOAL_TRY_VOID(each_field(message, [&](Field& field) -> Result<void> {
    if (field.tag() == 1) domain = field.text();
    if (field.tag() == 2) version = field.number();
    return {};
  }));
  if (domain == "ai.onnx") domain = "";
  if (!file.opsets.emplace(domain, version).second)
    return message.damaged(message.bytes.data(), "domain \"" + domain + "\" is there twice");
  return {};
}

}  // namespace

Result<File> read_file(std::string_view bytes, const OnnxLimits& limits) {
  const Message model{bytes, bytes, "model"};
  File file;
  int64_t ir_version = 0, graphs = 0;
  SHOAL_TRY_VOID(each_field(model, [&](Field& field) -> Result<void> {
    switch (field.tag()) {
      case 1: ir_version = field.number(); break;
      case 7:
        if (++graphs > 1) return model.damaged(bytes.data(), "there are two graphs");
        return read_graph({bytes, field.bytes(), "graph"}, limits, file);
      case 8: return read_opset(model.inner(field.bytes(), "opset"), file);
      case 25: return model.refused("has functions, which are not known here");
    }
    return {};
  }));
  if (graphs == 0) return model.damaged(bytes.data() + bytes.size(), "there is no graph");
  if (ir_version < kIrVersionMin || ir_version > kIrVersionMax) {
    return model.refused("has IR version " + std::to_string(ir_version) + "; known here are " +
                         std::to_string(kIrVersionMin) + " to " + std::to_string(kIrVersionMax));
  }
  return file;
}

}  // namespace shoal::convert::onnx_model
