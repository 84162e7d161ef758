// SPDX-License-Identifier: Apache-2.0
/// Updates that are applied, or told of, while a program runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "executor_fixture.h"

namespace shoal::backends::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Keeps what it is given, and overwrites the variable, as an optimizer does.
class Overwriter final : public UpdateApplier {
 public:
  explicit Overwriter(std::vector<Tensor*> variables) : variables_(std::move(variables)), given(variables_.size()) {}
  bool by_rows(size_t) const override { return false; }
  void apply(size_t index, int64_t row_begin, int64_t row_end, const std::byte* rows) override {
    order.push_back(index);
    Tensor& variable = *variables_[index];
    EXPECT_EQ(row_begin, 0);
    EXPECT_EQ(row_end, Runner::rows(variable.shape()));
    const auto* values = reinterpret_cast<const float*>(rows);
    given[index].assign(values, values + variable.elements());
    const auto weights = variable.mutable_as<float>();
    std::fill(weights.begin(), weights.end(), -1e9f);
  }

 private:
  std::vector<Tensor*> variables_;

 public:
  std::vector<std::vector<float>> given;
  std::vector<size_t> order;
};

TEST_F(Executor, AppliesUpdatesOnceNothingReadsTheirVariables) {
  // `square` is read by the backward pass of its own layer, w and its gradient by a later node too; w is fetched.
  const Value u = graph_.variable("u", {4});
  const Value square = graph_.variable("square", {4, 4});
  const Value h = ops::dense(x_, w_);
  const Value out = ops::dense(h, square, u);
  const Value loss = ops::reduce_sum(ops::square(out)) + ops::reduce_sum(ops::square(w_));
  const auto updates = gradients(loss, {w_, square, u});
  const Value later = ops::reduce_sum(updates[0] * w_);
  const CompileOptions options{
      .fetches = {out, w_, later},
      .updates = {updates[0], updates[1], updates[2], graph_.constant(Tensor::of<float>({2}, {5, 6}))},
      .update_variables = {"w", "square", "u", "elsewhere"}};
  // These are no copies of feeds_, since tensors share memory and these are written.
  Feeds feeds{{"x", ramp({2, 3})}, {"w", ramp({4, 3}, -3)}, {"square", ramp({4, 4}, -7)}, {"u", ramp({4})}};
  Runner plain = make(options), applied = make(options);
  value_or_raise(plain.run(feeds));
  Tensor elsewhere = ramp({2});
  Overwriter applier({&feeds.at("w"), &feeds.at("square"), &feeds.at("u"), &elsewhere});
  value_or_raise(applied.run(feeds, {}, {}, &applier));
  for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(same_bits(applied.fetched(i), plain.fetched(i))) << "fetch " << i;
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(applier.given[i], list<float>(plain.update(i))) << "update " << i;
  EXPECT_EQ(applier.order.size(), 4u) << "each once";
  EXPECT_EQ(applier.order.back(), 0u) << "w is fetched, which is a read at the end";
}

/// Asked of the first fetch before anything is applied: the run goes on, and what is fetched is the same.
TEST_F(Executor, AppliesNothingWhereTheFirstFetchForbidsIt) {
  const Value loss = ops::reduce_sum(ops::square(ops::dense(x_, w_)));
  const auto updates = gradients(loss, {w_});
  const Value later = ops::reduce_sum(updates[0]);
  const CompileOptions options{.fetches = {loss, later}, .updates = {updates[0]}, .update_variables = {"w"}};
  for (const bool allowed : {true, false}) {
    Feeds feeds{{"x", ramp({2, 3})}, {"w", ramp({4, 3}, -3)}};
    Runner plain = make(options), applied = make(options);
    EXPECT_TRUE(applied.info().fetches_before_updates);
    value_or_raise(plain.run(feeds));
    Overwriter applier({&feeds.at("w")});
    applied.may_apply = allowed ? [](float first) { return first > 0; } : [](float first) { return first < 0; };
    value_or_raise(applied.run(feeds, {}, {}, &applier));
    EXPECT_EQ(applier.order.size(), allowed ? 1u : 0u);
    for (size_t i = 0; i < 2; ++i) EXPECT_TRUE(same_bits(applied.fetched(i), plain.fetched(i))) << "fetch " << i;
  }
  // One that is known only when the updates are applied, or is no single number, cannot be asked.
  EXPECT_FALSE(make({.fetches = {w_}, .updates = {updates[0]}, .update_variables = {"w"}}).info().fetches_before_updates);
  EXPECT_FALSE(
      make({.fetches = {later}, .updates = {updates[0]}, .update_variables = {"w"}}).info().fetches_before_updates);
}

/// Takes what lies there when it is told, and overwrites it.
class Taker final : public UpdateListener {
 public:
  explicit Taker(Runner& runner) : runner_(runner) {}
  void update_made(size_t index) override {
    order.push_back(index);
    taken[index] = list<float>(runner_.update(index));
    std::ranges::fill(runner_.update(index).mutable_as<float>(), -1e9f);
  }

 private:
  Runner& runner_;

 public:
  std::map<size_t, std::vector<float>> taken;
  std::vector<size_t> order;
};

TEST_F(Executor, TellsOfUpdatesWhileItRunsAndDoesNotTouchThemAfterwards) {
  // The gradient of w is read by a later node, so it is whole and still in use for a while.
  const Value u = graph_.variable("u", {4});
  const Value square = graph_.variable("square", {4, 4});
  const Value out = ops::dense(ops::dense(x_, w_), square, u);
  const auto updates = gradients(ops::reduce_sum(ops::square(out)), {w_, square, u});
  const Value later = ops::reduce_sum(updates[0] * w_);
  const CompileOptions options{
      .fetches = {out, later},
      .updates = {updates[0], updates[1], updates[2], graph_.constant(Tensor::of<float>({2}, {5, 6})), updates[2]}};
  const Feeds feeds{{"x", ramp({2, 3})}, {"w", ramp({4, 3}, -3)}, {"square", ramp({4, 4}, -7)}, {"u", ramp({4})}};
  Runner plain = make(options), told = make(options);
  value_or_raise(plain.run(feeds));
  Taker taker(told);
  value_or_raise(told.run(feeds, {}, {}, nullptr, &taker));
  for (size_t i = 0; i < 2; ++i) EXPECT_TRUE(same_bits(told.fetched(i), plain.fetched(i))) << "fetch " << i;
  EXPECT_EQ(taker.order.size(), 5u) << "each once";
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(taker.taken[i], list<float>(plain.update(i))) << "update " << i;
    EXPECT_THAT(list<float>(told.update(i)), Each(-1e9f)) << "update " << i;
  }
  const auto place = [&](size_t index) { return std::ranges::find(taker.order, index) - taker.order.begin(); };
  EXPECT_LT(place(1), place(0)) << "the last layer's gradient is made first";
}

TEST_F(Executor, AppliesUpdatesInTheOrderOfCompletion) {
  // A deep net: the gradient of the last layer is complete first, while earlier ones are still to come.
  Value h = x_;
  std::vector<Value> kernels;
  std::vector<std::string> names;
  Feeds feeds{{"x", ramp({2, 3})}};
  for (int i = 0; i < 4; ++i) {
    names.push_back("k" + std::to_string(i));
    kernels.push_back(graph_.variable(names.back(), {3, 3}));
    feeds.emplace(names.back(), ramp({3, 3}, float(i)));
    h = ops::dense(h, kernels.back());
  }
  const auto updates = gradients(ops::reduce_sum(h), kernels);
  Runner plain = make({.updates = updates}), applied = make({.updates = updates, .update_variables = names});
  value_or_raise(plain.run(feeds));
  std::vector<Tensor*> variables;
  for (const std::string& name : names) variables.push_back(&feeds.at(name));
  Overwriter applier(variables);
  value_or_raise(applied.run(feeds, {}, {}, &applier));
  EXPECT_THAT(applier.order, ElementsAre(3, 2, 1, 0));
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(applier.given[i], list<float>(plain.update(i))) << "update " << i;
}

TEST_F(Executor, AnApplierNeedsTheNamesOfTheVariables) {
  const Value du = ops::scale(w_, 2);
  Overwriter applier({&feeds_.at("w")});
  Runner without = make({.updates = {du}});
  const auto refused = without.run(feeds_, {}, {}, &applier);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("without update_variables"));
  const auto uneven = backend_->compile(graph_, {.updates = {du}, .update_variables = {"w", "v"}});
  ASSERT_FALSE(uneven);
  EXPECT_THAT(uneven.error().message(), HasSubstr("1 updates and 2 names"));
}

/// Variables and updates split by rows give the same as whole ones.

}  // namespace
}  // namespace shoal::backends::testing
