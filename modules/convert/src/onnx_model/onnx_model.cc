// SPDX-License-Identifier: Apache-2.0
#include "shoal/convert/onnx_model.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "onnx_model/program.h"

namespace shoal::convert {
namespace onnx_model {
namespace {

/// The sizes of symbols (dimensions that the file only names) in one run.
using Symbols = std::map<std::string, int64_t, std::less<>>;

std::string shown_dims(const OnnxPort& port) {
  std::string text = "[";
  for (const OnnxDim& dim : port.dims) {
    if (text.size() > 1) text += ", ";
    text += dim.size >= 0 ? std::to_string(dim.size) : dim.symbol.empty() ? "?" : dim.symbol;
  }
  return text + "]";
}

bool fits(const OnnxDim& dim, int64_t size, Symbols& symbols) {
  if (dim.size >= 0) return dim.size == size;
  return dim.symbol.empty() || symbols.emplace(dim.symbol, size).first->second == size;
}

/// Checks that a tensor has the type and shape that the file declares.
Result<void> check(const std::string& what, const OnnxPort& port, const Tensor& tensor, Symbols& symbols) {
  const std::string where = what + " \"" + port.name + "\" of the ONNX file ";
  if (tensor.dtype() != port.dtype) {
    return invalid_argument(where + "is " + std::string(to_string(tensor.dtype())) + ", and the file says " +
                            std::string(to_string(port.dtype)));
  }
  const Result<Shape> shape = shape_of(tensor.shape().dims());
  if (!shape) return invalid_argument(where + "is not as tensors are: " + shape.error().message());
  if (!port.has_shape) return {};
  bool as_said = size_t(tensor.shape().rank()) == port.dims.size();
  for (int axis = 0; as_said && axis < tensor.shape().rank(); ++axis)
    as_said = fits(port.dims[size_t(axis)], tensor.shape()[axis], symbols);
  if (as_said) return {};
  return invalid_argument(where + "has the shape " + to_string(tensor.shape()) + ", and the file says " + shown_dims(port) +
                          (symbols.empty() ? "" : ", a name having one size everywhere"));
}

Result<void> run_kernel(const Kernel& kernel, Call& call) {
  for (size_t i = 0; i < call.inputs(); ++i) {
    if (!call.is_double(i)) continue;
    if (kernel.run_doubles) return kernel.run_doubles(call);
    return invalid_argument("input " + std::to_string(i) + " is float64, for which this op is not known here");
  }
  return kernel.run(call);
}

class Run {
 public:
  explicit Run(const Program& program) : program_(program), values_(program.values), budget_(program.limits) {}

  Result<OnnxModel::Tensors> run(const OnnxModel::Tensors& inputs) {
    SHOAL_TRY_VOID(take_inputs(inputs));
    for (const auto& [value, tensor] : program_.constants) values_[value] = {tensor};
    for (const Step& step : program_.steps) {
      Result<void> computed = compute(step);
      if (!computed) return std::move(computed).error().with_context(shown_node(step.node, program_.nodes[step.node]));
    }
    OnnxModel::Tensors outputs;
    for (size_t i = 0; i < program_.outputs.size(); ++i) {
      const auto& [tensor, is_double] = *values_[program_.output_values[i]];
      if (is_double) return invalid_argument("output \"" + program_.outputs[i].name + "\" of the ONNX file is float64");
      SHOAL_TRY_VOID(check("output", program_.outputs[i], tensor, symbols_));
      outputs.emplace(program_.outputs[i].name, tensor);
    }
    return outputs;
  }

 private:
  Result<void> take_inputs(const OnnxModel::Tensors& inputs) {
    for (size_t i = 0; i < program_.inputs.size(); ++i) {
      const OnnxPort& port = program_.inputs[i];
      const auto given = inputs.find(port.name);
      if (given == inputs.end()) return invalid_argument("input \"" + port.name + "\" of the ONNX file is not given");
      SHOAL_TRY_VOID(check("input", port, given->second, symbols_));
      values_[program_.input_values[i]] = {given->second};
    }
    for (const auto& [name, tensor] : inputs) {
      if (std::ranges::find(program_.inputs, name, &OnnxPort::name) == program_.inputs.end())
        return invalid_argument("the ONNX file has no input \"" + name + "\", which is given");
    }
    return {};
  }

  Result<void> compute(const Step& step) {
    std::vector<const Operand*> inputs;
    for (const size_t value : step.inputs) inputs.push_back(value == Step::kNone ? nullptr : &*values_[value]);
    Call call(program_.nodes[step.node], std::move(inputs), budget_);
    SHOAL_TRY_VOID(budget_.take({int64_t(1 + step.inputs.size() + step.outputs.size())}));
    SHOAL_TRY_VOID(run_kernel(*step.kernel, call));
    for (size_t i = 0; i < step.outputs.size(); ++i) {
      if (step.outputs[i] != Step::kNone) values_[step.outputs[i]] = std::move(call.results()[i]);
    }
    for (const size_t value : step.last_uses) values_[value].reset();
    return {};
  }

  const Program& program_;
  std::vector<std::optional<Operand>> values_;
  Symbols symbols_;
  Budget budget_;
};

}  // namespace
}  // namespace onnx_model

Result<OnnxModel> OnnxModel::parse(std::string_view bytes, const OnnxLimits& limits) {
  SHOAL_TRY(onnx_model::File file, onnx_model::read_file(bytes, limits));
  SHOAL_TRY(onnx_model::Program program, onnx_model::make_program(std::move(file), limits));
  return OnnxModel(std::make_shared<const onnx_model::Program>(std::move(program)));
}

const std::vector<OnnxPort>& OnnxModel::inputs() const { return program_->inputs; }
const std::vector<OnnxPort>& OnnxModel::outputs() const { return program_->outputs; }

Result<OnnxModel::Tensors> OnnxModel::run(const Tensors& inputs) const { return onnx_model::Run(*program_).run(inputs); }

}  // namespace shoal::convert
