// SPDX-License-Identifier: Apache-2.0
#include "shoal/testing/check_gradient.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "shoal/backends/backend.h"
#include "shoal/base/environment.h"
#include "shoal/base/format.h"
#include "shoal/base/names_text.h"
#include "shoal/base/random.h"
#include "shoal/graph/ops.h"

namespace shoal::testing {
namespace {

constexpr int64_t kElementsMax = 64;  // At most this many elements of an input are checked, spread evenly.
constexpr size_t kOutputsMax = 4096;  // At most this many output elements are searched for the worst derivative.
constexpr char kWeights[] = "check_gradient/weights";

using Build = std::function<Value(const GradientInputs&)>;
using Tensors = std::map<std::string, Tensor>;

/// A compiled graph that is run on tensors by name.
struct Runner {
  std::unique_ptr<backends::Program> program;

  Result<void> run(const Tensors& tensors) {
    std::vector<TensorView> inputs;
    for (const auto& binding : program->info().inputs) inputs.push_back(tensors.at(binding.name).view());
    return program->run({.inputs = inputs, .variables = {}, .updates = {}});
  }
};

struct Built {
  OpCatalogue catalogue;
  std::unique_ptr<Graph> graph;
  Value output;
  Tensor weights;  // The check differentiates a weighted sum of the output's elements: the weight of each element.
  std::vector<std::string> wrt;
  std::vector<Value> gradients;  // The gradients of the weighted sum for the inputs that `wrt` names.
  Runner of_output, of_gradients;
};

std::vector<std::string> differentiated(const GradientCheck& check) {
  if (!check.wrt.empty()) return check.wrt;
  std::vector<std::string> names;
  for (const auto& [name, tensor] : check.inputs) {
    if (tensor.dtype() == DType::kFloat32) names.push_back(name);
  }
  return names;
}

Result<void> build_graph(const Build& build, const GradientCheck& check, Built& built) {
  for (const OpDef& op : check.ops) SHOAL_TRY_VOID(built.catalogue.add(op));
  built.graph = std::make_unique<Graph>(RandomKey{1}, &built.catalogue);
  GradientInputs inputs;
  for (const auto& [name, tensor] : check.inputs)
    inputs.set(name, built.graph->input(name, tensor.dtype(), tensor.shape()));
  built.output = build(inputs);
  if (!built.output.valid() || built.output.dtype() != DType::kFloat32) {
    return invalid_argument("what is built has to be one float32 value");
  }
  SHOAL_TRY(const Shape shape, built.output.shape().resolve({}));
  built.weights = Tensor(DType::kFloat32, shape);
  fill_uniform(RandomKey{2}, 0, built.weights.mutable_as<float>(), 0.5f, 1.5f);
  const Value loss = ops::reduce_sum(built.output * built.graph->input(kWeights, DType::kFloat32, shape));
  built.wrt = differentiated(check);
  std::vector<Value> wrt;
  for (const std::string& name : built.wrt) {
    const auto input = check.inputs.find(name);
    if (input == check.inputs.end() || input->second.dtype() != DType::kFloat32) {
      return invalid_argument("there is no float32 input " + name +
                              " to differentiate for; the inputs are: " + names_text(check.inputs));
    }
    wrt.push_back(inputs.at(name));
  }
  built.gradients = gradients(loss, wrt);
  for (size_t i = 0; i < built.gradients.size(); ++i) {
    if (!built.gradients[i].valid()) return invalid_argument("no gradient flows to input " + built.wrt[i]);
  }
  return {};
}

/// Returns each output element's derivative by one input element: Richardson's extrapolation of two central differences.
Result<std::vector<double>> finite_differences(Built& built, Tensors tensors, const std::string& name, size_t element,
                                               double step) {
  Tensor moved = tensors.at(name).clone();
  const float at = moved.as<float>()[element];
  const auto outputs = [&](double by) -> Result<std::vector<double>> {
    moved.mutable_as<float>()[element] = float(double(at) + by);
    tensors[name] = moved.clone();
    SHOAL_TRY_VOID(built.of_output.run(tensors));
    const auto values = built.of_output.program->fetched()[0].as<float>();
    return std::vector<double>(values.begin(), values.end());
  };
  SHOAL_TRY(const std::vector<double> right, outputs(step));
  SHOAL_TRY(const std::vector<double> left, outputs(-step));
  SHOAL_TRY(const std::vector<double> far_right, outputs(2 * step));
  SHOAL_TRY(const std::vector<double> far_left, outputs(-2 * step));
  std::vector<double> derivatives;
  for (size_t i = 0; i < right.size(); ++i) {
    derivatives.push_back((8 * (right[i] - left[i]) - (far_right[i] - far_left[i])) / (12 * step));
  }
  return derivatives;
}

/// Returns by how much the difference of two derivatives exceeds the tolerance; infinity if one of them is NaN.
double excess(double actual, double expected, double tolerance) {
  const double beyond = std::fabs(actual - expected) - tolerance * (0.1 + std::fabs(expected));
  return std::isnan(beyond) ? std::numeric_limits<double>::infinity() : beyond;
}

/// Returns the indices of the element with this number, as "[1, 0]"; empty for a scalar.
std::string place_of(size_t element, const Shape& shape) {
  std::string text;
  for (int axis = shape.rank(); axis-- > 0;) {
    text = std::to_string(element % size_t(shape[axis])) + (text.empty() ? "" : ", ") + text;
    element /= size_t(shape[axis]);
  }
  return text.empty() ? text : "[" + text + "]";
}

/// An element of an input whose two derivatives do not agree.
struct Mismatch {
  size_t input;  // An index into Built::wrt.
  size_t element;
  double actual;  // The derivative of the weighted sum of all outputs, as the gradient function of the op computes it.
  double expected;
  std::vector<double> by_output;  // The derivatives of the output's elements, by finite differences.
};

/// Returns an error about the output element whose derivative is most wrong. To get the derivative of a single output
/// element, gives it the weight 1 in the weighted sum, and all other elements 0.
Result<void> tell(Built& built, const GradientCheck& check, const Mismatch& found) {
  Tensors tensors = check.inputs;
  double worst = 0, actual = 0;
  std::optional<size_t> at;
  for (size_t i = 0; i < std::min(found.by_output.size(), kOutputsMax); ++i) {
    Tensor weights = Tensor::zeros(DType::kFloat32, built.weights.shape());
    weights.mutable_as<float>()[i] = 1;
    tensors[kWeights] = std::move(weights);
    SHOAL_TRY_VOID(built.of_gradients.run(tensors));
    const double one = built.of_gradients.program->fetched()[found.input].as<float>()[found.element];
    const double beyond = excess(one, found.by_output[i], check.tolerance);
    if (beyond <= worst) continue;
    worst = beyond;
    actual = one;
    at = i;
  }
  const std::string& name = built.wrt[found.input];
  const std::string place = name + place_of(found.element, check.inputs.at(name).shape());
  const std::string what = at ? "d value" + place_of(*at, built.weights.shape()) + " / d " + place
                              : "d (a weighted sum of the value's elements) / d " + place;
  return failed_precondition("the gradient for " + name + " is wrong: " + what + " is " +
                             formatted("%.6g", at ? actual : found.actual) + " by the gradient, and " +
                             formatted("%.6g", at ? found.by_output[*at] : found.expected) +
                             " by finite differences of the kernels");
}

Result<void> compare(Built& built, const GradientCheck& check, size_t input, const Tensor& gradient) {
  const auto values = gradient.as<float>();
  const auto weights = built.weights.as<float>();
  const size_t stride = values.size() / kElementsMax + 1;
  for (size_t i = 0; i < values.size(); i += stride) {
    SHOAL_TRY(std::vector<double> by_output, finite_differences(built, check.inputs, built.wrt[input], i, check.step));
    double expected = 0;
    for (size_t k = 0; k < by_output.size(); ++k) expected += double(weights[k]) * by_output[k];
    if (excess(values[i], expected, check.tolerance) <= 0) continue;
    return tell(built, check, {input, i, values[i], expected, std::move(by_output)});
  }
  return {};
}

Result<void> check_all(const Build& build, const GradientCheck& check) {
  Built built;
  SHOAL_TRY_VOID(build_graph(build, check, built));
  SHOAL_TRY(const auto backend, backends::make_backend(check.backend));
  SHOAL_TRY(built.of_gradients.program, backend->compile(*built.graph, {.fetches = built.gradients}));
  SHOAL_TRY(built.of_output.program, backend->compile(*built.graph, {.fetches = {built.output}}));
  Tensors tensors = check.inputs;
  tensors[kWeights] = built.weights;
  SHOAL_TRY_VOID(built.of_gradients.run(tensors));
  std::vector<Tensor> found;  // Copies of the program's results, since its later runs overwrite these.
  for (const TensorView& view : built.of_gradients.program->fetched()) {
    Tensor& gradient = found.emplace_back(DType::kFloat32, view.shape);
    std::ranges::copy(view.as<float>(), gradient.mutable_as<float>().begin());
  }
  for (size_t i = 0; i < built.wrt.size(); ++i) SHOAL_TRY_VOID(compare(built, check, i, found[i]));
  return {};
}

}  // namespace

Value GradientInputs::at(std::string_view name) const {
  if (const auto found = values_.find(name); found != values_.end()) return found->second;
  raise(invalid_argument("there is no input \"" + std::string(name) +
                         "\"; GradientCheck::inputs has: " + names_text(values_)));
}

Result<void> check_gradient(const std::function<Value(const GradientInputs& inputs)>& build, const GradientCheck& check) {
  auto entered = call_user("what check_gradient() builds", [&] { return check_all(build, check); });
  if (!entered) return std::move(entered).error().with_context("check_gradient");
  auto checked = std::move(entered).value();
  if (!checked) return std::move(checked).error().with_context("check_gradient");
  return {};
}

}  // namespace shoal::testing
