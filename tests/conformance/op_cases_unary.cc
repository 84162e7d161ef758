// SPDX-License-Identifier: Apache-2.0
/// Functions of one operand.
#include "op_cases.h"
#include "shoal/graph/ops.h"

namespace shoal::backends::testing {
namespace {

using Values = std::vector<Value>;
using Names = std::vector<std::string>;

/// The numbers at which a function is smooth enough for finite differences.
enum class Domain { kAll, kPositive, kOffZero };

struct Unary {
  const char* op;
  Domain domain;
  Value (*make)(Value);
};

const std::vector<Unary>& functions() {
  static const std::vector<Unary> ops{
      {"exp", Domain::kAll, [](Value x) { return ops::exp(x); }},
      {"log", Domain::kPositive, [](Value x) { return ops::log(x); }},
      {"sqrt", Domain::kPositive, [](Value x) { return ops::sqrt(x); }},
      {"rsqrt", Domain::kPositive, [](Value x) { return ops::rsqrt(x); }},
      {"reciprocal", Domain::kPositive, [](Value x) { return ops::reciprocal(x); }},
      {"abs", Domain::kOffZero, [](Value x) { return ops::abs(x); }},
      {"scale", Domain::kAll, [](Value x) { return ops::neg(x); }},
      {"erf", Domain::kAll, [](Value x) { return ops::erf(x); }},
      {"sin", Domain::kAll, [](Value x) { return ops::sin(x); }},
      {"cos", Domain::kAll, [](Value x) { return ops::cos(x); }},
      {"sigmoid", Domain::kAll, [](Value x) { return ops::sigmoid(x); }},
      {"tanh", Domain::kAll, [](Value x) { return ops::tanh(x); }},
      {"softplus", Domain::kAll, [](Value x) { return ops::softplus(x); }},
      {"leaky_relu", Domain::kOffZero, [](Value x) { return ops::leaky_relu(x, 0.25); }},
      {"elu", Domain::kOffZero, [](Value x) { return ops::elu(x, 0.75); }},
      {"gelu", Domain::kAll, [](Value x) { return ops::gelu(x); }},
      {"gelu_tanh", Domain::kAll, [](Value x) { return ops::gelu(x, ops::GeluForm::kTanh); }},
      {"silu", Domain::kAll, [](Value x) { return ops::silu(x); }}};
  return ops;
}

Value operand(CaseBuilder& b, Domain domain, const Shape& shape) {
  switch (domain) {
    case Domain::kAll: return b.floats("x", shape) * 2.0;
    case Domain::kPositive: return b.floats("x", shape) + 2.0;
    case Domain::kOffZero: return b.floats_off_zero("x", shape);
  }
  return {};
}

}  // namespace

void add_unary_cases(std::vector<OpCase>& cases) {
  const std::vector<std::pair<std::string, Shape>> shapes{
      {"of_scalar", {}}, {"of_one", {1}}, {"of_odd", {3, 5}}, {"of_none", {0, 3}}, {"of_long", {1031}}};
  for (const Unary& function : functions()) {
    for (const auto& [detail, shape] : shapes) {
      cases.push_back({function.op, detail,
                       [function, shape = shape](CaseBuilder& b) -> Values {
                         return {function.make(operand(b, function.domain, shape))};
                       },
                       shape.elements() < 100 ? Names{"x"} : Names{}});
    }
    // Far out, where exponentials overflow and differences cancel; tests/torch compares the gradients.
    cases.push_back({function.op,
                     "far_out",
                     [function](CaseBuilder& b) -> Values {
                       const Value x = b.floats_off_zero("x", {211});
                       return {function.make(function.domain == Domain::kPositive ? ops::square(x) * 1e4 : x * 60.0)};
                     },
                     {}});
  }
  cases.push_back({"leaky_relu",
                   "default_alpha",
                   [](CaseBuilder& b) -> Values { return {ops::leaky_relu(b.floats_off_zero("x", {17}))}; },
                   {"x"}});
  cases.push_back(
      {"elu", "default_alpha", [](CaseBuilder& b) -> Values { return {ops::elu(b.floats_off_zero("x", {17}))}; }, {"x"}});
}

}  // namespace shoal::backends::testing
