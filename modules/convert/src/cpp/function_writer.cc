// SPDX-License-Identifier: Apache-2.0
#include "cpp/function_writer.h"

#include <algorithm>

#include "cpp/op_table.h"
#include "cpp/text.h"
#include "shoal/base/check.h"
#include "shoal/graph/memory_plan.h"
#include "shoal/graph/op.h"
#include "shoal/graph/source.h"

namespace shoal::convert::cpp {
namespace {

Result<Operand> operand_of(const ValueType& type, const SymbolSizes& sizes) {
  SHOAL_TRY(const Shape shape, type.shape.resolve(sizes));
  return Operand{type.dtype, shape};
}

}  // namespace

Result<OpWriter> op_writer(const Graph& graph, NodeId id, const SymbolSizes& sizes, const std::set<Place>& read,
                           FunctionText* function) {
  const Node& node = graph.node(id);
  std::vector<Operand> inputs, outputs;
  std::vector<bool> used;
  for (const Value& input : node.inputs) {
    SHOAL_TRY(Operand operand, operand_of(input.type(), sizes));
    inputs.push_back(std::move(operand));
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    SHOAL_TRY(Operand operand, operand_of(node.outputs[i], sizes));
    outputs.push_back(std::move(operand));
    used.push_back(read.contains({id, int(i)}));
  }
  return OpWriter(node, id, std::move(inputs), std::move(outputs), std::move(used), function);
}

FunctionWriter::FunctionWriter(const Graph& graph, const SymbolSizes& sizes, std::vector<Value> inputs,
                               std::vector<Value> outputs, WeightArrays& weights, std::set<std::string>& parts,
                               const Int8Writing* int8)
    : graph_(graph),
      sizes_(sizes),
      inputs_(std::move(inputs)),
      outputs_(std::move(outputs)),
      weights_(weights),
      parts_(parts),
      int8_(int8) {}

Result<void> FunctionWriter::write() {
  for (size_t i = 0; i < inputs_.size(); ++i) names_[place_of(inputs_[i])] = "in" + std::to_string(i);
  // A node whose result is an output of the function writes to the function's parameter directly.
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const Value root = root_of(graph_, outputs_[i]);
    if (source_of(graph_.node(root.node()).op) == Source::kNone) names_.emplace(place_of(root), "out" + std::to_string(i));
  }
  const std::vector<NodeId> nodes = computed_nodes(graph_, outputs_);
  const std::set<Place> read = read_places(graph_, nodes, outputs_);
  for (const NodeId id : nodes) SHOAL_TRY_VOID(write_node(id, read));
  ++step_;
  copy_to_outputs();
  return plan();
}

Result<void> FunctionWriter::write_node(NodeId id, const std::set<Place>& read) {
  const Node& node = graph_.node(id);
  const OpDef* const op = graph_.catalogue().find(node.op);
  if (source_of(node.op) != Source::kNone || (op && op->view)) return {};
  ++step_;
  over_.clear();
  if (int8_) {
    SHOAL_TRY(const bool done, write_in_int8(id, read));
    if (done) return {};
    for (const Value& input : node.inputs) {
      if (floats_missing_.contains(place_of(root_of(graph_, input)))) write_float_of(root_of(graph_, input));
    }
  }
  SHOAL_TRY(OpWriter writer, op_writer(graph_, id, sizes_, read, this));
  std::string sizes;
  for (size_t i = 0; i < writer.output_count(); ++i) {
    if (writer.is_used(i)) sizes += (sizes.empty() ? "" : ", ") + to_string(writer.output(i).shape);
  }
  line("// " + comment_text(node.name) + (node.name == node.op ? "" : ", " + node.op) + ": " + sizes);
  writer_ = &writer;
  find_row(node.op)->write(writer);
  writer_ = nullptr;
  return {};
}

void FunctionWriter::copy_to_outputs() {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const std::string name = "out" + std::to_string(i), from = read(outputs_[i]);
    if (from == name) continue;
    const Operand operand = operand_of(outputs_[i].type(), sizes_).value();
    line("std::memcpy(" + name + ", " + from + ", " + std::to_string(size_t(operand.elements()) * size_of(operand.dtype)) +
         ");");
  }
}

std::string FunctionWriter::read(const Value& value) {
  const Value root = root_of(graph_, value);
  const Source source = source_of(graph_.node(root.node()).op);
  if (source == Source::kVariable || source == Source::kConstant) {
    const Shape shape = root.shape().resolve(sizes_).value();
    return *arrays_.insert(weights_.add(root, "", shape, weights_.bytes_of(root))).first;
  }
  if (floats_missing_.contains(place_of(root))) write_float_of(root);
  if (const auto found = names_.find(place_of(root)); found != names_.end()) return found->second;
  const auto found = root_at_.find(place_of(root));
  SHOAL_CHECK(found != root_at_.end());
  Root& memory = roots_[size_t(found->second)];
  memory.last = step_;
  return "m" + std::to_string(found->second);
}

std::string FunctionWriter::written(const Value& value) {
  if (const auto found = names_.find(place_of(value)); found != names_.end()) return found->second;
  const auto [found, fresh] = root_at_.emplace(place_of(value), int32_t(roots_.size()));
  if (fresh) {
    const Operand operand = operand_of(value.type(), sizes_).value();
    roots_.push_back({.type = std::string(type_text(operand.dtype)),
                      .bytes = size_t(operand.elements()) * size_of(operand.dtype),
                      .first = step_,
                      .last = step_,
                      .may_replace = value.output() == 0 ? over_ : std::vector<int32_t>()});
  }
  return "m" + std::to_string(found->second);
}

int32_t FunctionWriter::add_root(std::string type, size_t bytes) {
  roots_.push_back({.type = std::move(type), .bytes = bytes, .first = step_, .last = step_, .may_replace = {}});
  return int32_t(roots_.size()) - 1;
}

std::string FunctionWriter::array_name(const std::string& key, std::string_view type, const Shape& shape,
                                       std::span<const std::byte> bytes) {
  return *arrays_.insert(weights_.add_made(key, type, shape, bytes)).first;
}

std::string FunctionWriter::scratch(std::string_view type, size_t bytes) {
  return "m" + std::to_string(add_root(std::string(type), bytes));
}

void FunctionWriter::may_write_over(const Value& value) {
  const Value root = root_of(graph_, value);
  const auto found = root_at_.find(place_of(root));
  if (found == root_at_.end()) return;
  // The output may overwrite `value` only if each input that lies in the same memory has the output's shape.
  for (size_t i = 0; i < writer_->input_count(); ++i) {
    const bool same_memory = root_of(graph_, writer_->node().inputs[i]) == root;
    if (same_memory && !(writer_->input(i).shape == writer_->output().shape)) return;
  }
  over_.push_back(found->second);
}

std::span<const float> FunctionWriter::floats(const Value& value) {
  const std::span<const std::byte> bytes = weights_.bytes_of(value);
  return {reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float)};
}

std::string FunctionWriter::array(const Value& value, std::string_view layout, const Shape& shape,
                                  const std::vector<float>& elements) {
  return *arrays_.insert(weights_.add(value, layout, shape, std::as_bytes(std::span(elements)))).first;
}

Result<void> FunctionWriter::plan() {
  std::vector<PlannedValue> values;
  for (const Root& root : roots_) {
    values.push_back({.bytes = root.bytes, .first = root.first, .last = root.last, .may_replace = root.may_replace});
  }
  const MemoryPlan plan = plan_memory(values);
  for (size_t i = 0; i < roots_.size(); ++i) roots_[i].offset = plan.offsets[i];
  memory_bytes_ = plan.arena_bytes;
  return {};
}

std::string FunctionWriter::body(bool weights_apart) const {
  std::string text;
  const auto pointer = [&](const std::string& type, const std::string& name, const std::string& place) {
    text += "  " + type + "* const " + name + " = reinterpret_cast<" + type + "*>(" + place + ");\n";
  };
  if (weights_apart && !arrays_.empty()) text += "  if (!weights) return false;\n";
  for (const WeightArrays::Array& array : weights_.all()) {
    if (!weights_apart || !arrays_.contains(array.name)) continue;
    pointer("const " + array.type, array.name, "weights + " + std::to_string(array.offset));
  }
  for (size_t i = 0; i < roots_.size(); ++i) {
    pointer(roots_[i].type, "m" + std::to_string(i), "memory + " + std::to_string(roots_[i].offset));
  }
  for (const std::string& line : lines_) text += "  " + line + "\n";
  return text;
}

}  // namespace shoal::convert::cpp
