#include "shoal/testing/check_gradient.h"

#include <algorithm>
#include <cmath>

#include "shoal/backends/backend.h"
#include "shoal/base/environment.h"
#include "shoal/base/random.h"
#include "shoal/graph/ops.h"

namespace shoal::testing {
namespace {

constexpr int64_t kElementsMax = 64;  // The most that are moved of one input, spread evenly.

using Values = std::map<std::string, Value>;
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
  Tensor weights;  // How much each element of the output counts.
  std::vector<std::string> wrt;
  std::vector<Value> gradients;

  double weighed(TensorView given) const {
    double sum = 0;
    const auto values = given.as<float>();
    for (size_t i = 0; i < values.size(); ++i) sum += double(weights.as<float>()[i]) * double(values[i]);
    return sum;
  }
};

std::vector<std::string> differentiated(const GradientCheck& check) {
  if (!check.wrt.empty()) return check.wrt;
  std::vector<std::string> names;
  for (const auto& [name, tensor] : check.inputs) {
    if (tensor.dtype() == DType::kFloat32) names.push_back(name);
  }
  return names;
}

Result<void> build_graph(const std::function<Value(const Values&)>& build, const GradientCheck& check, Built& built) {
  for (const OpDef& op : check.ops) SHOAL_TRY_VOID(built.catalogue.add(op));
  built.graph = std::make_unique<Graph>(RandomKey{1}, &built.catalogue);
  Values inputs;
  for (const auto& [name, tensor] : check.inputs) inputs[name] = built.graph->input(name, tensor.dtype(), tensor.shape());
  built.output = build(inputs);
  if (!built.output.valid() || built.output.dtype() != DType::kFloat32) {
    return invalid_argument("what is built has to be one float32 value");
  }
  SHOAL_TRY(const Shape shape, built.output.shape().resolve({}));
  built.weights = Tensor(DType::kFloat32, shape);
  fill_uniform(RandomKey{2}, 0, built.weights.mutable_as<float>(), 0.5f, 1.5f);
  const Value loss = ops::reduce_sum(built.output * built.graph->constant(built.weights, "weights"));
  built.wrt = differentiated(check);
  std::vector<Value> wrt;
  for (const std::string& name : built.wrt) {
    const auto input = inputs.find(name);
    if (input == inputs.end() || input->second.dtype() != DType::kFloat32)
      return invalid_argument("there is no float32 input " + name);
    wrt.push_back(input->second);
  }
  built.gradients = gradients(loss, wrt);
  for (size_t i = 0; i < built.gradients.size(); ++i) {
    if (!built.gradients[i].valid()) return invalid_argument("no gradient flows to input " + built.wrt[i]);
  }
  return {};
}

/// Richardson's extrapolation of two central differences.
Result<double> finite_difference(Runner& runner, const Built& built, Tensors tensors, const std::string& name,
                                 size_t element, double step) {
  Tensor moved = tensors.at(name).clone();
  const float at = moved.as<float>()[element];
  const auto loss = [&](double by) -> Result<double> {
    moved.mutable_as<float>()[element] = float(double(at) + by);
    tensors[name] = moved.clone();
    SHOAL_TRY_VOID(runner.run(tensors));
    return built.weighed(runner.program->fetched()[0]);
  };
  SHOAL_TRY(const double right, loss(step));
  SHOAL_TRY(const double left, loss(-step));
  SHOAL_TRY(const double far_right, loss(2 * step));
  SHOAL_TRY(const double far_left, loss(-2 * step));
  return (8 * (right - left) - (far_right - far_left)) / (12 * step);
}

Result<void> compare(Runner& runner, const Built& built, const GradientCheck& check, const std::string& name,
                     const Tensor& gradient) {
  const auto values = gradient.as<float>();
  const size_t stride = values.size() / kElementsMax + 1;
  for (size_t i = 0; i < values.size(); i += stride) {
    SHOAL_TRY(const double expected, finite_difference(runner, built, check.inputs, name, i, check.step));
    const double actual = values[i];
    if (std::fabs(actual - expected) <= check.tolerance * (0.1 + std::fabs(expected))) continue;
    return failed_precondition("the gradient for " + name + ", element " + std::to_string(i) + ", is " +
                               std::to_string(actual) + ", and finite differences give " + std::to_string(expected));
  }
  return {};
}

Result<void> check_all(const std::function<Value(const Values&)>& build, const GradientCheck& check) {
  Built built;
  SHOAL_TRY_VOID(build_graph(build, check, built));
  SHOAL_TRY(const auto backend, backends::make_backend(check.backend));
  Runner of_gradients, of_output;
  SHOAL_TRY(of_gradients.program, backend->compile(*built.graph, {.fetches = built.gradients}));
  SHOAL_TRY(of_output.program, backend->compile(*built.graph, {.fetches = {built.output}}));
  SHOAL_TRY_VOID(of_gradients.run(check.inputs));
  for (size_t i = 0; i < built.wrt.size(); ++i) {
    const TensorView view = of_gradients.program->fetched()[i];
    Tensor gradient(DType::kFloat32, view.shape);
    std::ranges::copy(view.as<float>(), gradient.mutable_as<float>().begin());
    SHOAL_TRY_VOID(compare(of_output, built, check, built.wrt[i], gradient));
  }
  return {};
}

}  // namespace

Result<void> check_gradient(const std::function<Value(const std::map<std::string, Value>& inputs)>& build,
                            const GradientCheck& check) {
  auto entered = call_user("what check_gradient() builds", [&] { return check_all(build, check); });
  if (!entered) return std::move(entered).error().with_context("check_gradient");
  auto checked = std::move(entered).value();
  if (!checked) return std::move(checked).error().with_context("check_gradient");
  return {};
}

}  // namespace shoal::testing
