// SPDX-License-Identifier: Apache-2.0
#include "cpp/op_writer.h"

#include <utility>

#include "cpp/text.h"
#include "shoal/graph/named_inputs.h"
#include "shoal/graph/source.h"

namespace shoal::convert::cpp {

OpWriter::OpWriter(const Node& node, NodeId id, std::vector<Operand> inputs, std::vector<Operand> outputs,
                   std::vector<bool> used, FunctionText* function)
    : node_(node),
      id_(id),
      inputs_(std::move(inputs)),
      outputs_(std::move(outputs)),
      used_(std::move(used)),
      function_(function) {}

bool OpWriter::is_known(size_t input) const {
  const Value& value = node_.inputs[input];
  const Source source = source_of(value.graph().node(value.node()).op);
  return source == Source::kVariable || source == Source::kConstant;
}

std::optional<size_t> OpWriter::find(std::string_view name) const {
  const int position = find_input(node_.attributes, name);
  return position < 0 ? std::nullopt : std::optional(size_t(position));
}

std::string OpWriter::out(size_t i) { return function_->written(Value(&node_.inputs[0].graph(), id_, int(i))); }

std::string OpWriter::scratch(DType dtype, int64_t elements) {
  return function_->scratch(type_text(dtype), size_t(elements) * size_of(dtype));
}

void OpWriter::may_write_over(size_t input) {
  if (inputs_[input].shape == outputs_[0].shape && inputs_[input].dtype == outputs_[0].dtype) {
    function_->may_write_over(node_.inputs[input]);
  }
}

void OpWriter::line(const std::string& text) {
  function_->line(indent_ + text);
  indent_.clear();
}

void OpWriter::line_before(const std::string& text) {
  function_->line(indent_ + text);
  indent_ += "  ";
}

void OpWriter::call(const std::string& part, const std::vector<std::string>& arguments, bool checked) {
  need(part);
  const std::string text = part + "(" + joined(arguments) + ")";
  line(checked ? "if (!" + text + ") return false;" : text + ";");
}

std::vector<int64_t> dense_strides(const Shape& shape) {
  std::vector<int64_t> strides(size_t(shape.rank()));
  int64_t stride = 1;
  for (int axis = shape.rank(); axis-- > 0; stride *= shape[axis]) strides[size_t(axis)] = stride;
  return strides;
}

std::vector<int64_t> broadcast_strides(const Shape& full, const Shape& part) {
  std::vector<int64_t> strides(size_t(full.rank()));
  int64_t stride = 1;
  for (int axis = part.rank() - 1, at = full.rank() - 1; axis >= 0; --axis, --at) {
    if (part[axis] != 1) strides[size_t(at)] = stride;
    stride *= part[axis];
  }
  return strides;
}

namespace {

struct LoopLevel {
  int64_t count;
  std::vector<int64_t> strides;  // The stride of each operand.
};

/// Drops axes of size 1, and merges neighbouring axes if a single stride steps through both in every operand.
std::vector<LoopLevel> levels_of(const Shape& shape, const std::vector<LoopOperand>& operands) {
  std::vector<LoopLevel> levels;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] == 1) continue;
    LoopLevel level{shape[axis], {}};
    for (const LoopOperand& operand : operands) level.strides.push_back(operand.strides[size_t(axis)]);
    bool merges = !levels.empty();
    for (size_t i = 0; merges && i < operands.size(); ++i) {
      merges = levels.back().strides[i] == level.strides[i] * level.count;
    }
    if (merges) {
      level.count *= levels.back().count;
      levels.back() = level;
    } else {
      levels.push_back(level);
    }
  }
  return levels;
}

std::string index_text(const std::vector<LoopLevel>& levels, size_t operand, int64_t first) {
  std::string text;
  for (size_t i = 0; i < levels.size(); ++i) {
    const int64_t stride = levels[i].strides[operand];
    if (stride == 0) continue;
    text += (text.empty() ? "i" : " + i") + std::to_string(i) + (stride == 1 ? "" : " * " + std::to_string(stride));
  }
  if (text.empty()) return std::to_string(first);
  return first == 0 ? text : text + " + " + std::to_string(first);
}

}  // namespace

void write_loops(OpWriter& writer, const Shape& shape, const std::vector<LoopOperand>& operands,
                 const std::function<std::string(const std::vector<std::string>& elements)>& body) {
  const std::vector<LoopLevel> levels = levels_of(shape, operands);
  std::vector<std::string> elements;
  for (size_t i = 0; i < operands.size(); ++i) {
    elements.push_back(operands[i].pointer + "[" + index_text(levels, i, operands[i].first) + "]");
  }
  for (size_t i = 0; i < levels.size(); ++i) {
    const std::string index = "i" + std::to_string(i);
    writer.line_before("for (Size " + index + " = 0; " + index + " < " + std::to_string(levels[i].count) + "; ++" + index +
                       ")");
  }
  writer.line(body(elements) + ";");
}

bool has_fused_relu(const Node& node) {
  return node.attributes.has("activation") && node.attributes.get_string("activation") == "relu";
}

void write_fused_relu(OpWriter& writer) {
  if (!has_fused_relu(writer.node())) return;
  writer.need("relu");
  const Shape& shape = writer.output().shape;
  write_loops(writer, shape, {{writer.out(), dense_strides(shape)}},
              [](const std::vector<std::string>& e) { return e[0] + " = relu(" + e[0] + ")"; });
}

}  // namespace shoal::convert::cpp
