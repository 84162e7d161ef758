// SPDX-License-Identifier: Apache-2.0
/// Reads and writes the description of a graph as JSON, version 1:
///
///   {"format": "shoal-graph", "version": 1, "seed": "123",
///    "nodes": [{"op", "name", "inputs": [[node, output], ...], "attributes": {name: {type: value}},
///               "outputs": [{"dtype", "shape": [number or symbol, ...]}], "constant": base64 (constants only)}],
///    "variables": [{"name", "initialiser": {"kind", "a", "b"}, "trainable"}]}
///
/// The types of attributes are "int", "real", "bool", "string" and "ints". Constants are little-endian. 64-bit integers
/// that may use all bits (seed, keys) are written as strings, since many JSON readers keep numbers as doubles.
#include "shoal/graph/graph_json.h"

#include <bit>
#include <cmath>

#include "shoal/base/base64.h"
#include "shoal/base/number_text.h"
#include "shoal/graph/op.h"
#include "shoal/graph/source.h"
#include "shoal/json/fields.h"

namespace shoal {

static_assert(std::endian::native == std::endian::little,
              "constants are stored little-endian; write the swap for this target");

namespace {

using json::PrintedJson;

constexpr int64_t kVersion = 1;
constexpr std::string_view kFormat = "shoal-graph";

// The functions that write a graph as JSON begin here.

PrintedJson real_to_json(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

PrintedJson int_to_json(int64_t value) {
  constexpr int64_t kExactMax = int64_t(1) << 53;
  if (value > -kExactMax && value < kExactMax) return value;
  return std::to_string(value);
}

PrintedJson attribute_to_json(const Attribute& attribute) {
  struct Writer {
    PrintedJson operator()(int64_t value) { return {{"int", int_to_json(value)}}; }
    PrintedJson operator()(double value) { return {{"real", real_to_json(value)}}; }
    PrintedJson operator()(bool value) { return {{"bool", value}}; }
    PrintedJson operator()(const std::string& value) { return {{"string", value}}; }
    PrintedJson operator()(const std::vector<int64_t>& values) {
      PrintedJson list = PrintedJson::array();
      for (int64_t value : values) list.push_back(int_to_json(value));
      return {{"ints", std::move(list)}};
    }
  };
  return std::visit(Writer{}, attribute);
}

PrintedJson type_to_json(const ValueType& type) {
  PrintedJson shape = PrintedJson::array();
  for (const Dim& dim : type.shape.dims()) {
    if (dim.is_symbol()) {
      shape.push_back(dim.name());
    } else {
      shape.push_back(dim.size());
    }
  }
  return {{"dtype", std::string(to_string(type.dtype))}, {"shape", std::move(shape)}};
}

PrintedJson node_to_json(const Node& node) {
  PrintedJson inputs = PrintedJson::array();
  for (const Value& input : node.inputs) inputs.push_back(PrintedJson::array({input.node(), input.output()}));
  PrintedJson attributes = PrintedJson::object();
  for (const auto& [name, value] : node.attributes.values()) attributes[name] = attribute_to_json(value);
  PrintedJson outputs = PrintedJson::array();
  for (const ValueType& type : node.outputs) outputs.push_back(type_to_json(type));
  PrintedJson json{{"op", node.op},
                   {"name", node.name},
                   {"inputs", std::move(inputs)},
                   {"attributes", std::move(attributes)},
                   {"outputs", std::move(outputs)}};
  if (source_of(node.op) == Source::kConstant) {
    const TensorView view = node.constant.view();
    json["constant"] = to_base64({reinterpret_cast<const char*>(view.data), view.bytes()});
  }
  return json;
}

std::string_view kind_name(Initializer::Kind kind) {
  switch (kind) {
    case Initializer::Kind::kConstant: return "constant";
    case Initializer::Kind::kUniform: return "uniform";
    case Initializer::Kind::kNormal: return "normal";
    case Initializer::Kind::kTruncatedNormal: return "truncated_normal";
    case Initializer::Kind::kOrthogonal: return "orthogonal";
  }
  SHOAL_CHECK(false);
}

}  // namespace

std::string Graph::to_json() const {
  PrintedJson nodes = PrintedJson::array();
  for (const Node& node : this->nodes()) nodes.push_back(node_to_json(node));
  PrintedJson variables = PrintedJson::array();
  for (const Variable& variable : this->variables()) {
    const Initializer& initializer = variable.initializer;
    variables.push_back({{"name", variable.name},
                         {"initialiser",
                          {{"kind", std::string(kind_name(initializer.kind))},
                           {"a", real_to_json(initializer.a)},
                           {"b", real_to_json(initializer.b)}}},
                         {"trainable", variable.trainable}});
  }
  const PrintedJson json{{"format", std::string(kFormat)},
                         {"version", kVersion},
                         {"seed", std::to_string(seed())},
                         {"nodes", std::move(nodes)},
                         {"variables", std::move(variables)}};
  return shoal::json::text_of(json, 1);
}

// The functions that read JSON begin here. Each checks its input; none throws.

namespace {

using Json = json::Json;

Error broken(std::string what) { return data_loss(std::move(what)); }

template <class T>
Result<T> parse_integer(const std::string& text) {
  if (const auto value = number_from<T>(text)) return *value;
  return broken("\"" + text + "\" is not a 64-bit integer");
}

Result<int64_t> int_of(const Json& value) {
  if (value.is_string()) return parse_integer<int64_t>(value.get<std::string>());
  if (!value.is_number_integer() || (value.is_number_unsigned() && value.get<uint64_t>() > uint64_t(INT64_MAX))) {
    return broken("an integer was expected");
  }
  return value.get<int64_t>();
}

Result<double> real_of(const Json& value) {
  if (value.is_number()) return value.get<double>();
  if (value == "nan") return std::nan("");
  if (value == "inf") return INFINITY;
  if (value == "-inf") return -INFINITY;
  return broken("a real number was expected");
}

Result<std::vector<int64_t>> ints_of(const Json& list) {
  if (!list.is_array()) return broken("a list of integers was expected");
  std::vector<int64_t> values;
  for (const Json& item : list) {
    SHOAL_TRY(const int64_t value, int_of(item));
    values.push_back(value);
  }
  return values;
}

template <class T>
Result<Attribute> as_attribute(Result<T> value) {
  if (!value) return std::move(value).error();
  return Attribute(std::move(value).value());
}

Result<Attribute> attribute_of(const Json& object) {
  if (!object.is_object() || object.size() != 1) return broken("an attribute must be {type: value}");
  const std::string& type = object.begin().key();
  const Json& value = object.begin().value();
  if (type == "int") return as_attribute(int_of(value));
  if (type == "real") return as_attribute(real_of(value));
  if (type == "string") return as_attribute(json::string_of(value, "string"));
  if (type == "ints") return as_attribute(ints_of(value));
  if (type == "bool" && value.is_boolean()) return Attribute(value.get<bool>());
  return broken("\"" + type + "\" is not a type of attribute, or the value has another type");
}

Result<ValueType> type_of(const Json& object) {
  SHOAL_TRY(const std::string name, json::string_member(object, "dtype"));
  const auto dtype = dtype_from_string(name);  // kString is allowed here; append() refuses it except for inputs.
  if (!dtype || (size_of(*dtype) == 0 && *dtype != DType::kString))
    return broken("\"" + name + "\" is not a type that a graph's values may have");
  SHOAL_TRY(const auto* shape, json::list_member(object, "shape"));
  if (shape->size() > size_t(Shape::kRankMax)) return broken("a shape has more than 8 dimensions");
  std::vector<Dim> dims;
  for (const Json& item : *shape) {
    if (item.is_string() && !item.get_ref<const std::string&>().empty()) {
      dims.push_back(Dim::symbol(item.get<std::string>()));
      continue;
    }
    SHOAL_TRY(const int64_t size, int_of(item));
    if (item.is_string() || size < 0) return broken("a size must be a number from 0 or a symbol");
    dims.emplace_back(size);
  }
  return ValueType{*dtype, DimShape(std::move(dims))};
}

Result<Tensor> constant_of(const Json& object, const ValueType& type) {
  SHOAL_TRY(const std::string text, json::string_member(object, "constant"));
  SHOAL_TRY(const Shape shape, type.shape.resolve({}));
  const auto bytes = from_base64(text);
  if (!bytes) return broken("\"constant\" is not base64");
  const auto elements = uint64_t(shape.elements());
  if (elements > bytes->size() || elements * size_of(type.dtype) != bytes->size()) {
    return broken("\"constant\" has " + std::to_string(bytes->size()) + " bytes, which does not fit " + to_string(shape) +
                  " " + std::string(to_string(type.dtype)));
  }
  Tensor tensor(type.dtype, shape);
  if (!bytes->empty()) std::memcpy(tensor.mutable_view().data, bytes->data(), bytes->size());
  return tensor;
}

Result<Initializer> initializer_of(const Json& object) {
  SHOAL_TRY(const std::string name, json::string_member(object, "kind"));
  SHOAL_TRY(const auto* a, json::member(object, "a"));
  SHOAL_TRY(const auto* b, json::member(object, "b"));
  Initializer initializer;
  SHOAL_TRY(initializer.a, real_of(*a));
  SHOAL_TRY(initializer.b, real_of(*b));
  for (auto kind : {Initializer::Kind::kConstant, Initializer::Kind::kUniform, Initializer::Kind::kNormal,
                    Initializer::Kind::kTruncatedNormal, Initializer::Kind::kOrthogonal}) {
    if (name != kind_name(kind)) continue;
    initializer.kind = kind;
    return initializer;
  }
  return broken("\"" + name + "\" is not a kind of initializer");
}

}  // namespace

/// Rebuilds a graph node by node, with the same checks as for a graph that a program builds.
struct GraphReader {
  Graph& graph;
  const Json& variables;
  size_t next_variable = 0;

  Result<void> read_variable(Node node) {
    if (next_variable >= variables.size()) return broken("\"variables\" has fewer entries than the graph has variables");
    const Json& object = variables[next_variable++];
    SHOAL_TRY(const std::string name, json::string_member(object, "name"));
    if (name != node.name) return broken("\"variables\" has \"" + name + "\" here");
    SHOAL_TRY(const auto* initializer, json::member(object, "initialiser"));
    SHOAL_TRY(const bool trainable, json::bool_member(object, "trainable"));
    Variable variable{.name = node.name,
                      .dtype = node.outputs[0].dtype,
                      .shape = {},
                      .initializer = {},
                      .trainable = trainable,
                      .node = -1};
    SHOAL_TRY(variable.shape, node.outputs[0].shape.resolve({}));
    SHOAL_TRY(variable.initializer, initializer_of(*initializer));
    return graph.add_variable(std::move(variable));
  }

  Result<void> read_inputs(const Json& object, Node& node) {
    SHOAL_TRY(const auto* inputs, json::list_member(object, "inputs"));
    for (const Json& item : *inputs) {
      SHOAL_TRY(const auto pair, ints_of(item));
      const bool earlier = pair.size() == 2 && pair[0] >= 0 && pair[0] < int64_t(graph.nodes().size());
      if (!earlier || pair[1] < 0 || pair[1] >= int64_t(graph.node(NodeId(pair[0])).outputs.size())) {
        return broken("an operand must be [node, output] of an earlier node");
      }
      node.inputs.emplace_back(&graph, NodeId(pair[0]), int(pair[1]));
    }
    return {};
  }

  Result<void> read_node(const Json& object) {
    Node node;
    SHOAL_TRY(node.op, json::string_member(object, "op"));
    SHOAL_TRY(node.name, json::string_member(object, "name"));
    SHOAL_TRY_VOID(read_inputs(object, node));
    SHOAL_TRY(const auto* attributes, json::object_member(object, "attributes"));
    for (const auto& [name, value] : attributes->items()) {
      SHOAL_TRY(Attribute attribute, attribute_of(value));
      node.attributes.set(name, std::move(attribute));
    }
    SHOAL_TRY(const auto* outputs, json::list_member(object, "outputs"));
    for (const Json& item : *outputs) {
      SHOAL_TRY(ValueType type, type_of(item));
      node.outputs.push_back(std::move(type));
    }
    return add(object, std::move(node));
  }

  Result<void> add(const Json& object, Node node) {
    const Source source = source_of(node.op);
    if (source == Source::kVariable || source == Source::kConstant) {
      if (node.outputs.size() != 1) return broken("a source has one output");
      if (source == Source::kVariable) return read_variable(std::move(node));
      SHOAL_TRY(node.constant, constant_of(object, node.outputs[0]));
    }
    const std::vector<ValueType> stated = node.outputs;
    auto added = graph.append(std::move(node));
    // append() returns InvalidArgument as if a program had built the graph wrongly. Here a file is wrong, hence DataLoss.
    if (!added) {
      const Error& error = added.error();
      return error.kind() == ErrorKind::kInvalidArgument ? broken(error.message()) : error;
    }
    if (graph.node(*added).outputs != stated) {
      return broken("\"outputs\" differ from the outputs that the op has for its operands");
    }
    return {};
  }
};

namespace {

/// Checks format and version of a description and returns its nodes.
Result<const Json*> nodes_of(const Json& object, const GraphJsonLimits& limits) {
  SHOAL_TRY(const std::string format, json::string_member(object, "format"));
  if (format != kFormat) return broken("\"format\" is \"" + format + "\", not \"" + std::string(kFormat) + "\"");
  SHOAL_TRY(const auto* version_json, json::member(object, "version"));
  const Result<int64_t> version = int_of(*version_json);
  if (!version || version_json->is_string()) return broken("\"version\" must be an integer");
  if (*version != kVersion) {
    return failed_precondition("it has version " + std::to_string(*version) +
                               " of the format, but this program reads version " + std::to_string(kVersion));
  }
  SHOAL_TRY(const Json* nodes, json::list_member(object, "nodes"));
  if (nodes->size() > limits.nodes_max) {
    return invalid_argument("it has " + std::to_string(nodes->size()) + " nodes, more than the limit of " +
                            std::to_string(limits.nodes_max));
  }
  return nodes;
}

Result<std::unique_ptr<Graph>> read_graph(const Json& object, const OpCatalogue* catalogue, const GraphJsonLimits& limits) {
  SHOAL_TRY(const Json* nodes, nodes_of(object, limits));
  SHOAL_TRY(const std::string seed_text, json::string_member(object, "seed"));
  SHOAL_TRY(const auto seed, parse_integer<uint64_t>(seed_text));
  SHOAL_TRY(const auto* variables, json::list_member(object, "variables"));
  auto graph = std::make_unique<Graph>(seed, catalogue);
  GraphReader reader{.graph = *graph, .variables = *variables};
  for (size_t i = 0; i < nodes->size(); ++i) {
    if (auto read = reader.read_node((*nodes)[i]); !read)
      return std::move(read).error().with_context("node " + std::to_string(i));
  }
  if (reader.next_variable != variables->size()) {
    return broken("\"variables\" has more entries than the graph has variables");
  }
  return graph;
}

int64_t version_of(const Json& node) {
  const Result<const Json*> attributes = json::object_member(node, "attributes");
  if (!attributes || !(*attributes)->contains(kOpVersion)) return 0;
  const Result<Attribute> version = attribute_of((*attributes)->at(std::string(kOpVersion)));
  const int64_t* number = version ? std::get_if<int64_t>(&*version) : nullptr;
  return number ? *number : 0;
}

Result<std::map<std::string, int64_t>> read_lacking_ops(const Json& object, const OpCatalogue& catalogue,
                                                        const GraphJsonLimits& limits) {
  SHOAL_TRY(const Json* nodes, nodes_of(object, limits));
  std::map<std::string, int64_t> lacking;
  for (const Json& node : *nodes) {
    SHOAL_TRY(const std::string op, json::string_member(node, "op"));
    if (source_of(op) == Source::kNone && !catalogue.find(op)) lacking[op] = version_of(node);
  }
  return lacking;
}

Result<Json> parse_description(std::string_view text, const GraphJsonLimits& limits) {
  if (text.size() > limits.text_bytes_max) {
    return invalid_argument("it has " + std::to_string(text.size()) + " bytes, more than the limit of " +
                            std::to_string(limits.text_bytes_max));
  }
  Result<Json> value = json::parse_value(text);
  if (!value) return broken("it is not valid JSON");
  return value;
}

constexpr std::string_view kContext = "graph description";

}  // namespace

Result<std::unique_ptr<Graph>> graph_from_json(std::string_view text, const OpCatalogue* catalogue,
                                               const GraphJsonLimits& limits) {
  const Result<Json> object = parse_description(text, limits);
  if (!object) return object.error().with_context(kContext);
  auto graph = read_graph(*object, catalogue, limits);
  if (!graph) return std::move(graph).error().with_context(kContext);
  return graph;
}

Result<std::map<std::string, int64_t>> lacking_ops(std::string_view text, const OpCatalogue* catalogue,
                                                   const GraphJsonLimits& limits) {
  const Result<Json> object = parse_description(text, limits);
  if (!object) return object.error().with_context(kContext);
  auto lacking = read_lacking_ops(*object, catalogue ? *catalogue : OpCatalogue::built_in(), limits);
  if (!lacking) return std::move(lacking).error().with_context(kContext);
  return lacking;
}

}  // namespace shoal
