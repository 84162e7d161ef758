// SPDX-License-Identifier: Apache-2.0
#include "shoal/convert/cpp.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "cpp/function_writer.h"
#include "cpp/op_table.h"
#include "cpp/program_text.h"
#include "cpp/signature_functions.h"
#include "cpp/text.h"
#include "shoal/graph/op.h"
#include "shoal/graph/source.h"

namespace shoal::convert {
namespace cpp {
namespace {

/// Adds a reason why the model cannot be written as C++ to `obstacles` for each symbol in a value's shape that has no size
/// in `sizes`. `told` contains the symbols for which that was done before.
void add_missing_axes(const std::string& name, const DimShape& shape, const SymbolSizes& sizes, std::set<std::string>& told,
                      std::vector<std::string>& obstacles) {
  for (const Dim& dim : shape.dims()) {
    if (!dim.is_symbol() || sizes.contains(dim.name()) || !told.insert(dim.name()).second) continue;
    obstacles.push_back("axis \"" + dim.name() + "\" of \"" + name + "\", " + to_string(shape) +
                        ", varies: give it the size that each call has (axes: {\"" + dim.name() + "\": 40}, --axis " +
                        dim.name() + "=40)");
  }
}

/// False for text, and for types that Shoal only stores and does not compute with.
bool has_type_in_cpp(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kInt64 || dtype == DType::kInt32 || dtype == DType::kUInt8 ||
         dtype == DType::kBool;
}

std::string why_not(const Node& node, const OpWriter& writer) {
  for (size_t i = 0; i < writer.input_count(); ++i) {
    if (!has_type_in_cpp(writer.input(i).dtype)) {
      return "it reads " + std::string(to_string(writer.input(i).dtype)) + ", which has no form in C++";
    }
  }
  for (size_t i = 0; i < writer.output_count(); ++i) {
    if (writer.output(i).elements() == 0) return "its result has no elements";
  }
  for (size_t i = 0; i < writer.input_count(); ++i) {
    if (writer.input(i).elements() == 0) return "an input of it has no elements";
  }
  const OpRow* const row = find_row(node.op);
  return row->obstacle ? row->obstacle(writer) : "";
}

/// Returns the reason why an op cannot be written as C++, whatever its types and sizes; empty if there is none.
std::string why_never(const Graph& graph, const Node& node) {
  const OpDef* const op = graph.catalogue().find(node.op);
  if (op && op->view) return "";
  if (op && op->own) return "an op of your own has no form in C++";
  if (node.op == "dropout" || node.op == "batch_norm") return "it is for training; build the model for predictions";
  if (!find_row(node.op)) return "gradients and losses have no form in C++, and neither has this op";
  return "";
}

void add_obstacles_of_nodes(const Graph& graph, const std::vector<Value>& outputs, const SymbolSizes& sizes,
                            std::vector<std::string>& obstacles) {
  const std::vector<NodeId> nodes = computed_nodes(graph, outputs);
  const std::set<Place> read = read_places(graph, nodes, outputs);
  for (const NodeId id : nodes) {
    const Node& node = graph.node(id);
    if (source_of(node.op) == Source::kInput && node.outputs[0].dtype == DType::kString) {
      obstacles.push_back("input \"" + node.name + "\" is text, which nothing turns into ids");
    }
    if (source_of(node.op) == Source::kInput && node.outputs[0].dtype != DType::kString &&
        !has_type_in_cpp(node.outputs[0].dtype)) {
      obstacles.push_back("input \"" + node.name + "\" is " + std::string(to_string(node.outputs[0].dtype)) +
                          ", which has no form in C++");
    }
    if (source_of(node.op) != Source::kNone) continue;
    std::string reason = why_never(graph, node);
    const OpDef* const op = graph.catalogue().find(node.op);
    if (reason.empty() && !(op && op->view)) {
      const auto writer = op_writer(graph, id, sizes, read, nullptr);
      if (writer) reason = why_not(node, *writer);  // No writer: an axis has no size. add_missing_axes() reports that.
    }
    if (!reason.empty()) obstacles.push_back("node \"" + node.name + "\", op " + node.op + ": " + reason);
  }
}

std::vector<std::string> obstacles_of(const TrainedModel& model, const CppOptions& options,
                                      const std::vector<SignatureFunction>& functions) {
  const SymbolSizes sizes = sizes_of(model, options.axes);
  std::vector<std::string> obstacles;
  std::set<std::string> told;
  std::vector<Value> outputs;
  for (const SignatureFunction& function : functions) {
    for (const Parameter& input : function.inputs) {
      add_missing_axes(input.title, input.value.shape(), sizes, told, obstacles);
      for (const std::string& name :
           input.encoding&& input.encoding->vocabulary ? input.encoding->vocabulary->names() : std::vector<std::string>()) {
        if (name.find('\0') != std::string::npos)
          obstacles.push_back("the vocabulary of \"" + input.title + "\" has a name with a zero byte");
      }
    }
    for (const Parameter& output : function.outputs) outputs.push_back(output.value);
  }
  add_obstacles_of_nodes(*model.graph, outputs, sizes, obstacles);
  return obstacles;
}

Result<void> check_options(const CppOptions& options, const TrainedModel& model) {
  if (!is_identifier(options.name)) {
    return invalid_argument("\"" + options.name +
                            "\" cannot be the name of the files: it has to be a name in C++ (letters, digits, _)");
  }
  constexpr std::array<std::string_view, 17> kHeaders{"ctype",  "errno",  "float",  "limits", "locale", "math",
                                                      "memory", "new",    "signal", "stddef", "stdint", "stdio",
                                                      "stdlib", "string", "time",   "vector", "wchar"};
  if (std::ranges::find(kHeaders, options.name) != kHeaders.end()) {
    return invalid_argument("\"" + options.name + "\" cannot be the name of the files: a header of C++ has it");
  }
  for (size_t begin = 0; begin <= options.name_space.size();) {
    const size_t end = std::min(options.name_space.find("::", begin), options.name_space.size());
    if (!is_identifier(options.name_space.substr(begin, end - begin))) {
      return invalid_argument("\"" + options.name_space + "\" is no namespace of C++ (names with :: between them)");
    }
    // The headers that the code includes declare names such as int8_t and size_t outside of any namespace.
    if (begin == 0 && options.name_space.substr(0, end).ends_with("_t")) {
      return invalid_argument("\"" + options.name_space +
                              "\" cannot be the namespace: a name that ends with _t may be that of a type of C or C++");
    }
    begin = end + 2;
  }
  for (const auto& [name, size] : options.axes) {
    if (size < 1)
      return invalid_argument("axis \"" + name + "\" has the size " + std::to_string(size) + "; it has to be at least 1");
    bool is_there = false;
    for (const NamedValue& input : model.inputs) {
      const auto& dims = input.value.shape().dims();
      for (size_t axis = 0; axis < dims.size(); ++axis) {
        if (!dims[axis].is_symbol() || dims[axis].name() != name) continue;
        is_there = true;
        if (axis == 0) {
          return invalid_argument("axis \"" + name + "\" is that of examples, of which a call computes one; leave it out");
        }
      }
    }
    if (!is_there) return invalid_argument("no input of the model has an axis \"" + name + "\" that varies");
  }
  return {};
}

Result<std::vector<CppPort>> ports_of(const Graph& graph, const std::vector<Parameter>& parameters,
                                      const SymbolSizes& sizes) {
  std::vector<CppPort> ports;
  for (const Parameter& parameter : parameters) {
    SHOAL_TRY(const Shape shape, parameter.value.shape().resolve(sizes));
    ports.push_back({parameter.title, parameter.value.dtype(), shape.elements(), graph.node(parameter.value.node()).name,
                     parameter.value.output(), parameter.names});
  }
  return ports;
}

}  // namespace
}  // namespace cpp

std::vector<std::string> cpp_obstacles(const TrainedModel& model, const CppOptions& options) {
  const auto functions = cpp::signature_functions(model);
  if (!functions) return {std::string(functions.error().message())};
  return cpp::obstacles_of(model, options, *functions);
}

Result<CppSource> to_cpp(const TrainedModel& model, const CppOptions& options) {
  SHOAL_TRY_VOID(cpp::check_options(options, model));
  SHOAL_TRY(const auto functions, cpp::signature_functions(model));
  const std::vector<std::string> obstacles = cpp::obstacles_of(model, options, functions);
  if (!obstacles.empty()) {
    const std::string others = obstacles.size() == 1 ? "" : " (and " + std::to_string(obstacles.size() - 1) + " more)";
    return invalid_argument("the model cannot be written as C++: " + obstacles.front() + others);
  }
  SHOAL_TRY(CppSource source, cpp::write_program(model, options, functions));
  const SymbolSizes sizes = cpp::sizes_of(model, options.axes);
  for (const cpp::SignatureFunction& function : functions) {
    SHOAL_TRY(auto inputs, cpp::ports_of(*model.graph, function.inputs, sizes));
    SHOAL_TRY(auto outputs, cpp::ports_of(*model.graph, function.outputs, sizes));
    source.functions.push_back({function.name, function.signature, std::move(inputs), std::move(outputs)});
  }
  return source;
}

}  // namespace shoal::convert
