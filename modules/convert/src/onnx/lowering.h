// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Turns the nodes of Shoal's graph into nodes of ONNX, one after the other.
///
/// Shoal's images are [N, H, W, C], those of ONNX [N, C, H, W]. So a value of rank 4 may have two names, one for each
/// layout; a Transpose makes the second layout when a rule asks for it. Rules of element-wise ops take their operand in
/// the layout that exists, so a chain of convolutions needs no Transposes.
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "onnx/onnx_graph.h"
#include "shoal/graph/graph.h"
#include "shoal/graph/named_inputs.h"

namespace shoal::convert {

/// The names of a value's two layouts; "" for a layout that has not been made.
struct OnnxNames {
  std::string plain;
  std::string channels_first;
};

/// The state that the rules of all nodes share while one file is written.
struct OnnxValues {
  OnnxGraph onnx;
  std::map<std::pair<NodeId, int>, OnnxNames> names;
  /// For each symbol: the name of an input of the file, and the axis of that input which has the symbol as its size.
  std::map<std::string, std::pair<std::string, int>, std::less<>> axes;

  const std::string& plain(Value value);
  const std::string& channels_first(Value value);
};

class Lowering {
 public:
  Lowering(OnnxValues& values, NodeId id, const Node& node) : values_(values), id_(id), node_(node) {}

  const Node& node() const { return node_; }
  const Attributes& attributes() const { return node_.attributes; }
  size_t inputs() const { return node_.inputs.size(); }
  const ValueType& type(size_t input) const { return node_.inputs[input].type(); }
  const ValueType& output(size_t i = 0) const { return node_.outputs[i]; }
  /// The position of an optional input; -1 if the node lacks it.
  int named(std::string_view name) const { return find_input(node_.attributes, name); }

  const std::string& in(size_t input) { return values_.plain(node_.inputs[input]); }
  const std::string& image(size_t input) { return values_.channels_first(node_.inputs[input]); }
  /// True if the file already computes this operand with its channels first (ONNX's layout of images).
  bool has_image(size_t input) const { return !values_.names.at(key(node_.inputs[input])).channels_first.empty(); }

  /// maker_of() returns the node of the graph that computes operand number `input`. name_of() returns the name that a
  /// value, such as an operand of that node, has in the ONNX file.
  const Node* maker_of(size_t input) const {
    const Value value = node_.inputs[input];
    return &value.graph().node(value.node());
  }
  const std::string& name_of(Value value) { return values_.plain(value); }

  void set(size_t output, std::string name) { values_.names[{id_, int(output)}].plain = std::move(name); }
  void set_image(std::string name) { values_.names[{id_, 0}].channels_first = std::move(name); }

  OnnxGraph& onnx() { return values_.onnx; }
  std::string add(std::string_view op, std::vector<std::string> operands, const OnnxAttributes& constants = {}) {
    return onnx().add(op, std::move(operands), constants);
  }
  std::string constant(float value) { return onnx().constant(value); }
  std::string constant(int64_t value) { return onnx().constant(value); }
  std::string ints(const std::vector<int64_t>& values) { return onnx().constant(values); }
  std::string to(const std::string& value, DType dtype);
  std::string transpose(const std::string& value, std::vector<int64_t> permutation);
  std::string unsqueeze(const std::string& value, int64_t axis) { return add("Unsqueeze", {value, ints({axis})}); }
  std::string squeeze(const std::string& value, int64_t axis) { return add("Squeeze", {value, ints({axis})}); }
  std::string sum(const std::string& value, const std::vector<int64_t>& over, bool keep);

  /// Returns the sizes as a tensor: a constant or, if there are symbols, computed from the sizes of the file's inputs.
  std::string sizes(const DimShape& shape);
  /// Returns the value with another shape.
  std::string reshape(const std::string& value, const DimShape& shape);
  /// Returns the value broadcast to this shape.
  std::string expand(const std::string& value, const DimShape& shape) { return add("Expand", {value, sizes(shape)}); }
  /// Applies a relu to `value` if the node's attribute "activation" asks for one.
  std::string activated(std::string value);

 private:
  static std::pair<NodeId, int> key(Value value) { return {value.node(), value.output()}; }

  OnnxValues& values_;
  NodeId id_;
  const Node& node_;
};

/// Writes one op. `write` is null for an op that ONNX cannot express; `why` is then the reason.
struct OnnxRule {
  void (*write)(Lowering& node) = nullptr;
  std::string_view why = {};
};
using OnnxRules = std::map<std::string_view, OnnxRule>;

/// The rules of all ops of Shoal's catalogue, gradients aside.
const OnnxRules& onnx_rules();

// Each function below adds the rules of one family of ops to `rules`.
void add_element_rules(OnnxRules& rules);
void add_product_rules(OnnxRules& rules);
void add_norm_rules(OnnxRules& rules);
void add_arrange_rules(OnnxRules& rules);
void add_reduce_rules(OnnxRules& rules);
void add_lookup_rules(OnnxRules& rules);
void add_sequence_rules(OnnxRules& rules);

}  // namespace shoal::convert
