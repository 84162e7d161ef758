// SPDX-License-Identifier: Apache-2.0
// check_gradient(): what users compare gradients of their own ops with.
#include "shoal/testing/check_gradient.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "../estimator/own_ops.h"
#include "shoal/backends/backend.h"
#include "shoal/graph/ops.h"

namespace shoal::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using Values = GradientInputs;

Value squashed(const Values& in) { return in.at("x").graph().add("squash", {in.at("x")}, {{"slope", 2.0}})[0]; }

GradientCheck points(std::vector<OpDef> ops) {
  return {.ops = std::move(ops), .inputs = {{"x", Tensor::of<float>({2, 2}, {-1, 0.5f, 2, -0.25f})}}};
}

TEST(CheckGradient, AcceptsDerivativesOnAllBackends) {
  for (const backends::BackendEntry& backend : backends::built_in_backends()) {
    GradientCheck check = points({squash(), squash_grad()});
    check.backend = backend.name;
    const auto checked = check_gradient(squashed, check);
    EXPECT_TRUE(checked) << backend.name << ": " << checked.error().message();
  }
}

TEST(CheckGradient, NamesTheElementThatIsWrong) {
  OpDef wrong = squash_grad();
  wrong.kernel = [right = wrong.kernel](const OpCall& call) -> Result<void> {
    SHOAL_TRY_VOID(right(call));
    call.outputs[0].as<float>()[2] *= 1.5f;
    return {};
  };
  const auto checked = check_gradient(squashed, points({squash(), wrong}));
  ASSERT_FALSE(checked);
  // The derivative of x / (1 + 2 |x|) at 2 is 1 / 25; the gradient has half as much again.
  EXPECT_EQ(checked.error().kind(), ErrorKind::kFailedPrecondition);
  EXPECT_THAT(checked.error().message(),
              MatchesRegex("check_gradient: the gradient for x is wrong: d value\\[1, 0\\] / d x\\[1, 0\\] is 0.06 by the "
                           "gradient, and 0.0(4|400[0-9]+|399[0-9]+) by finite differences of the kernels"));
}

TEST(CheckGradient, NamesTheElementOfTheValueThatIsWrong) {
  // The gradient of the second sum lacks a factor.
  const auto build = [](const Values& in) {
    const Value x = in["x"];
    const Value wrong = x * 2.0 + ops::stop_gradient(x) * 3.0;  // 5 x, with the gradient 2.
    return ops::concat({ops::reduce_sum(x, {.axes = {0}}), ops::reduce_sum(wrong, {.axes = {0}})}, 0);
  };
  const auto checked = check_gradient(build, points({}));
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().message(), HasSubstr("d value[2] / d x[0, 0] is 2 by the gradient, and 5"));
}

TEST(CheckGradient, SaysWhichInputsThereAre) {
  const auto checked = check_gradient([](const Values& in) { return in.at("y"); }, points({}));
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().kind(), ErrorKind::kInvalidArgument);
  EXPECT_EQ(checked.error().message(), "check_gradient: there is no input \"y\"; GradientCheck::inputs has: x");
}

TEST(CheckGradient, TakesSeveralInputsOfWhichIntegersStay) {
  const GradientCheck check{.inputs = {{"x", Tensor::of<float>({2}, {0.5f, -1})},
                                       {"y", Tensor::of<float>({2}, {1.5f, 2})},
                                       {"ids", Tensor::of<int64_t>({2}, {1, 0})}}};
  const auto build = [](const Values& in) {
    return ops::gather(in.at("x") * in.at("y"), in.at("ids"), 0) + ops::stop_gradient(ops::square(in.at("y"))) * 0.0;
  };
  const auto checked = check_gradient(build, check);
  EXPECT_TRUE(checked) << checked.error().message();
}

TEST(CheckGradient, SaysWhatCannotBeChecked) {
  const GradientCheck check = points(own_ops());
  const auto says = [&](const std::function<Value(const Values&)>& build, GradientCheck with) {
    const auto checked = check_gradient(build, with);
    return checked ? std::string("accepted") : checked.error().message();
  };
  EXPECT_THAT(says([](const Values& in) { return ops::stop_gradient(in.at("x")); }, check),
              HasSubstr("no gradient flows to input x"));
  EXPECT_THAT(says([](const Values&) { return Value(); }, check), HasSubstr("has to be one float32 value"));
  GradientCheck other = check;
  other.wrt = {"z"};
  EXPECT_THAT(says(squashed, other), HasSubstr("there is no float32 input z"));
  EXPECT_THAT(says([](const Values&) -> Value { throw std::runtime_error("oh"); }, check), HasSubstr("oh"));
  EXPECT_THAT(says(squashed, points({squash()})), HasSubstr("there is no op \"squash_grad\""));
}

}  // namespace
}  // namespace shoal::testing
