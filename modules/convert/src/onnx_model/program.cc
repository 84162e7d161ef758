// SPDX-License-Identifier: Apache-2.0
#include "onnx_model/program.h"

#include <algorithm>
#include <map>
#include <string>

namespace shoal::convert::onnx_model {
namespace {

std::string quoted(std::string_view name) { return "\"" + std::string(name) + "\""; }

/// Checks that the file asks for the known opset of a domain. Ops of other domains are refused elsewhere.
Result<void> check_opset(const File& file, const std::string& domain, int64_t known) {
  const auto said = file.opsets.find(domain);
  if (said == file.opsets.end() || said->second == known) return {};
  if (std::ranges::find(file.nodes, domain, &Node::domain) == file.nodes.end()) return {};
  return invalid_argument("the ONNX file has opset " + std::to_string(said->second) +
                          (domain.empty() ? "" : " of " + domain) + "; known here is opset " + std::to_string(known));
}

Result<void> check_attribute(std::string_view name, const Attribute& attribute, const Kernel& kernel) {
  const auto known = std::ranges::find(kernel.attributes, name, &KnownAttribute::name);
  if (known == kernel.attributes.end()) return invalid_argument("attribute " + quoted(name) + " is not known here");
  if (known->type != attribute.type)
    return invalid_argument("attribute " + quoted(name) + " has another type than the op says");
  if (known->only.empty()) return {};
  const std::string value = attribute.type == AttributeType::kText ? attribute.text : std::to_string(attribute.number);
  if (value == known->only) return {};
  return invalid_argument("attribute " + quoted(name) + " is " + value + "; known here is " + std::string(known->only));
}

Result<void> check_operands(const Node& node, const Kernel& kernel) {
  const size_t needed =
      kernel.inputs_max == kAnyCount ? std::max(node.inputs.size(), kernel.inputs_min) : kernel.inputs_min;
  const auto present = [&](size_t i) { return i < node.inputs.size() && !node.inputs[i].empty(); };
  for (size_t i = 0; i < needed; ++i) {
    if (!present(i)) return invalid_argument("input " + std::to_string(i) + " is missing");
  }
  if (node.inputs.size() > kernel.inputs_max) {
    return invalid_argument("there are " + std::to_string(node.inputs.size()) + " inputs; at most " +
                            std::to_string(kernel.inputs_max) + " are known here");
  }
  // The last outputs may be named "", which means that the file does not need them.
  size_t count = node.outputs.size();
  while (count > 0 && node.outputs[count - 1].empty()) --count;
  if (count == 0) return invalid_argument("it has no output");
  if (count > kernel.outputs_max) {
    return invalid_argument("output " + std::to_string(count - 1) + " is asked for; at most " +
                            std::to_string(kernel.outputs_max) + " are known here");
  }
  return {};
}

class Builder {
 public:
  Builder(File& file, const OnnxLimits& limits) : file_(file) { program_.limits = limits; }

  Result<Program> run() {
    SHOAL_TRY_VOID(check_opset(file_, "", 17));
    SHOAL_TRY_VOID(check_opset(file_, "ai.onnx.ml", 3));
    SHOAL_TRY_VOID(add_constants());
    SHOAL_TRY_VOID(add_inputs());
    for (size_t i = 0; i < file_.nodes.size(); ++i) {
      Result<void> added = add_node(i);
      if (!added) return std::move(added).error().with_context(shown_node(i, file_.nodes[i]));
    }
    SHOAL_TRY_VOID(add_outputs());
    find_last_uses();
    program_.nodes = std::move(file_.nodes);
    program_.values = values_.size();
    return std::move(program_);
  }

 private:
  /// Adds a value with this name, and returns the value's number.
  Result<size_t> make(const std::string& name) {
    const size_t number = values_.size();
    if (!values_.emplace(name, number).second)
      return invalid_argument("the name " + quoted(name) + " stands for two values of the ONNX file");
    return number;
  }

  Result<void> add_constants() {
    for (auto& [name, tensor] : file_.constants) {
      if (name.empty()) return invalid_argument("a constant of the ONNX file has no name");
      SHOAL_TRY(const size_t value, make(name));
      program_.constants.emplace_back(value, std::move(tensor));
    }
    return {};
  }

  /// Adds the file's inputs, except those that have a constant of the same name. ONNX lets callers replace such a constant
  /// by an input, but this reader does not.
  Result<void> add_inputs() {
    const size_t constants = values_.size();
    for (OnnxPort& input : file_.inputs) {
      const auto found = values_.find(input.name);
      if (found != values_.end() && found->second < constants) continue;
      SHOAL_TRY(const size_t value, make(input.name));
      program_.input_values.push_back(value);
      program_.inputs.push_back(std::move(input));
    }
    return {};
  }

  Result<void> add_node(size_t number) {
    const Node& node = file_.nodes[number];
    if (!file_.opsets.contains(node.domain))
      return invalid_argument("the file does not say the opset of domain " + quoted(node.domain));
    const auto found = kernels().find(node.domain.empty() ? node.op : node.domain + "." + node.op);
    if (found == kernels().end()) {
      return invalid_argument("op " + node.op + (node.domain.empty() ? "" : " of domain " + quoted(node.domain)) +
                              " is not known here");
    }
    Step step{.node = number, .kernel = &found->second, .inputs = {}, .outputs = {}, .last_uses = {}};
    SHOAL_TRY_VOID(check_operands(node, *step.kernel));
    for (const auto& [name, attribute] : node.attributes) SHOAL_TRY_VOID(check_attribute(name, attribute, *step.kernel));
    for (const std::string& name : node.inputs) {
      const auto value = values_.find(name);
      if (!name.empty() && value == values_.end())
        return invalid_argument("it reads " + quoted(name) + ", which nothing before it makes");
      step.inputs.push_back(name.empty() ? Step::kNone : value->second);
    }
    for (const std::string& name : node.outputs) {
      size_t value = Step::kNone;
      if (!name.empty()) {
        SHOAL_TRY(value, make(name));
      }
      step.outputs.push_back(value);
    }
    program_.steps.push_back(std::move(step));
    return {};
  }

  Result<void> add_outputs() {
    if (file_.outputs.empty()) return invalid_argument("the ONNX file has no output");
    std::map<std::string_view, bool> seen;
    for (const OnnxPort& output : file_.outputs) {
      const auto value = values_.find(output.name);
      if (value == values_.end())
        return invalid_argument("output " + quoted(output.name) + " of the ONNX file is made by nothing");
      if (!seen.emplace(output.name, true).second)
        return invalid_argument("output " + quoted(output.name) + " of the ONNX file is there twice");
      program_.output_values.push_back(value->second);
    }
    program_.outputs = file_.outputs;
    return {};
  }

  void find_last_uses() {
    std::vector<bool> is_used(values_.size(), false);
    for (const size_t value : program_.output_values) is_used[value] = true;
    for (auto step = program_.steps.rbegin(); step != program_.steps.rend(); ++step) {
      for (const auto* operands : {&step->inputs, &step->outputs}) {
        for (const size_t value : *operands) {
          if (value == Step::kNone || is_used[value]) continue;
          is_used[value] = true;
          step->last_uses.push_back(value);
        }
      }
    }
  }

  File& file_;
  Program program_;
  std::map<std::string, size_t, std::less<>> values_;
};

}  // namespace

std::string shown_node(size_t number, const Node& node) {
  return "node " + std::to_string(number) + ", " + node.op + (node.name.empty() ? "" : " " + quoted(node.name));
}

Result<Program> make_program(File file, const OnnxLimits& limits) { return Builder(file, limits).run(); }

}  // namespace shoal::convert::onnx_model
