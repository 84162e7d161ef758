// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The interface that writers of ops (op_table.h) use: one node with known sizes, and the function that is being written.
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/shape.h"
#include "shoal/graph/graph.h"

namespace shoal::convert::cpp {

struct Operand {
  DType dtype = DType::kFloat32;
  Shape shape;
  int64_t elements() const { return shape.elements(); }
  int64_t last_size() const { return shape.rank() == 0 ? 1 : shape[shape.rank() - 1]; }
  /// The number of rows: the product of all sizes but the last.
  int64_t rows() const { return elements() / last_size(); }
};

/// The function of the generated source to which a node adds its code.
class FunctionText {
 public:
  virtual ~FunctionText() = default;
  /// read() and written() return the name of the pointer to a value's elements, for reading and for writing.
  virtual std::string read(const Value& value) = 0;
  virtual std::string written(const Value& value) = 0;
  /// Returns the name of memory that only the current node uses.
  virtual std::string scratch(std::string_view type, size_t bytes) = 0;
  /// Allows output 0 of the node to take over this value's memory: the node reads each element before overwriting it.
  virtual void may_write_over(const Value& value) = 0;
  /// The elements of a float32 variable or constant.
  virtual std::span<const float> floats(const Value& value) = 0;
  /// Adds an array of weights made from a variable or constant; `layout` distinguishes several arrays of one value.
  virtual std::string array(const Value& value, std::string_view layout, const Shape& shape,
                            const std::vector<float>& elements) = 0;
  virtual void need(std::string_view part) = 0;
  virtual void line(const std::string& text) = 0;
};

class OpWriter {
 public:
  OpWriter(const Node& node, NodeId id, std::vector<Operand> inputs, std::vector<Operand> outputs, std::vector<bool> used,
           FunctionText* function);

  const Node& node() const { return node_; }
  const Attributes& attributes() const { return node_.attributes; }
  size_t input_count() const { return inputs_.size(); }
  const Operand& input(size_t i) const { return inputs_[i]; }
  const Operand& output(size_t i = 0) const { return outputs_[i]; }
  size_t output_count() const { return outputs_.size(); }
  /// True if any node reads an output, or if the function returns it.
  bool is_used(size_t output) const { return used_[output]; }
  /// True if an input is a variable or a constant, which the writer may rearrange in advance.
  bool is_known(size_t input) const;
  /// The position of an optional input (named_inputs.h); nothing if the node lacks it.
  std::optional<size_t> find(std::string_view name) const;

  // The members below may be called only if the OpWriter has a function to write to.

  std::string in(size_t i) { return function_->read(node_.inputs[i]); }
  /// The expression of an optional input; "nullptr" if it was left out.
  std::string in_or_null(std::optional<size_t> i) { return i ? in(*i) : "nullptr"; }
  std::string out(size_t i = 0);
  /// Memory that only this node uses.
  std::string scratch(DType dtype, int64_t elements);
  std::string scratch_of_doubles(int64_t count) { return function_->scratch("double", size_t(count) * sizeof(double)); }
  /// Allows output 0 to take over the memory of this input, if shape and type are the same.
  void may_write_over(size_t input);
  /// Returns the elements of an input for which is_known() is true.
  std::span<const float> floats(size_t i) { return function_->floats(node_.inputs[i]); }
  std::string array(size_t i, std::string_view layout, const Shape& shape, const std::vector<float>& elements) {
    return function_->array(node_.inputs[i], layout, shape, elements);
  }
  void need(std::string_view part) { function_->need(part); }
  void line(const std::string& text);
  /// Writes a line ("for (...)") whose body is the next line, which is indented.
  void line_before(const std::string& text);
  /// Writes a call of the function `part` (parts.h). `checked`: the generated function returns false if the call does.
  void call(const std::string& part, const std::vector<std::string>& arguments, bool checked = false);

 private:
  const Node& node_;
  NodeId id_;
  std::vector<Operand> inputs_, outputs_;
  std::vector<bool> used_;
  FunctionText* function_;
  std::string indent_;
};

/// One operand of loops over the elements of a shape: its first element, and the stride along each axis.
struct LoopOperand {
  std::string pointer;
  std::vector<int64_t> strides;
  int64_t first = 0;
};
/// The strides of a dense array.
std::vector<int64_t> dense_strides(const Shape& shape);
/// The strides of `part`, which is aligned with `full` at the last axis and repeated along axes of size 1.
std::vector<int64_t> broadcast_strides(const Shape& full, const Shape& part);
/// Writes as few nested loops as possible around one statement, which `body` makes from the operands' elements.
void write_loops(OpWriter& writer, const Shape& shape, const std::vector<LoopOperand>& operands,
                 const std::function<std::string(const std::vector<std::string>& elements)>& body);

/// True if the node applies a relu to its result (attribute "activation").
bool has_fused_relu(const Node& node);
/// Writes a loop that applies the relu to output 0, if the node has one.
void write_fused_relu(OpWriter& writer);

}  // namespace shoal::convert::cpp
