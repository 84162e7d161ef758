// SPDX-License-Identifier: Apache-2.0
/// Variables that come while a program runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "executor_fixture.h"

namespace shoal::backends::testing {
namespace {

using ::testing::HasSubstr;

class Arrived final : public VariableArrivals {
 public:
  bool has_come(size_t index) const override { return come.at(index); }
  std::vector<bool> come;
};

/// A program of two dense layers, its variables in memory that is only there once they have come.
class ArrivingVariables : public Executor, public ::testing::WithParamInterface<BackendEntry> {
 protected:
  ArrivingVariables() {
    backend_ = GetParam().make();
    const Value square = graph_.variable("square", {4, 4});
    const Value u = graph_.variable("u", {4});
    const Value out = ops::dense(ops::dense(x_, w_), square, u);
    const Value loss = ops::reduce_sum(ops::square(out)) + ops::reduce_sum(ops::square(u));
    const auto updates = gradients(loss, {w_, square, u});
    options_ = {.fetches = {out, loss}, .updates = {updates[0], updates[1], updates[2]}};
    feeds_ = {{"x", ramp({2, 3})}, {"w", ramp({4, 3}, -3)}, {"square", ramp({4, 4}, -7)}, {"u", ramp({4})}};
  }

  /// One run of `runner`, in which a variable comes when it is missed, in so many pieces. Says which were missed.
  std::vector<std::string> run_as_they_come(Runner& runner, size_t pieces, VersionId version,
                                            KernelObserver* observer = nullptr) {
    const CompiledProgramInfo& info = runner.info();
    const TensorView x = feeds_.at("x").view();
    std::vector<std::vector<Piece>> bound(info.variables.size());
    std::vector<Pieces> variables;
    for (size_t i = 0; i < bound.size(); ++i) {
      const int64_t rows = Runner::rows(info.variables[i].shape);
      for (size_t k = 0; k < pieces; ++k) bound[i].push_back({nullptr, rows * int64_t(k) / int64_t(pieces), 0});
      for (size_t k = 0; k < pieces; ++k) bound[i][k].row_end = k + 1 < pieces ? bound[i][k + 1].row_begin : rows;
      variables.push_back(bound[i]);
    }
    std::vector<MutablePiece> whole;
    for (size_t i = 0; i < options_.updates.size(); ++i) {
      whole.push_back({runner.update(i).mutable_view().data, 0, Runner::rows(runner.update(i).shape())});
    }
    std::vector<MutablePieces> updates;
    for (const MutablePiece& piece : whole) updates.emplace_back(&piece, 1);
    Arrived arrived;
    arrived.come.assign(bound.size(), false);
    const StepBinding binding{.inputs = {&x, 1},
                              .variables = variables,
                              .updates = updates,
                              .weights = version,
                              .arrivals = &arrived,
                              .observer = observer};
    RunProgress progress;
    std::vector<std::string> missed;
    for (value_or_raise(runner.program().run_on(binding, progress)); !progress.done;
         value_or_raise(runner.program().run_on(binding, progress))) {
      if (missed.size() == bound.size()) {
        ADD_FAILURE() << "it does not go on";
        break;
      }
      const std::string& name = info.variables[progress.missing].name;
      missed.push_back(name);
      const Tensor& value = feeds_.at(name);
      const size_t row_bytes = value.bytes() / size_t(Runner::rows(value.shape()));
      for (Piece& piece : bound[progress.missing]) piece.data = value.view().data + size_t(piece.row_begin) * row_bytes;
      arrived.come[progress.missing] = true;
    }
    return missed;
  }

  CompileOptions options_;
};

TEST_P(ArrivingVariables, AreMissedWhereTheyAreReadFirstAndGiveTheSameBits) {
  for (const size_t pieces : {1, 2}) {
    Runner plain = make(options_), arriving = make(options_);
    for (uint64_t version = 1; version <= 3;
         ++version) {  // A version is cached by kernels, and several runs share a program.
      for (float& weight : feeds_.at("square").mutable_as<float>()) weight += 0.5f;
      value_or_raise(plain.run(feeds_, {}, {1, version}));
      const std::vector<std::string> missed = run_as_they_come(arriving, pieces, {1, version});
      ASSERT_EQ(missed.size(), 3u) << "each once";
      const auto place = [&missed](const char* name) { return std::ranges::find(missed, name) - missed.begin(); };
      EXPECT_LT(place("w"), place("square")) << "the first layer reads first";
      for (size_t i = 0; i < 2; ++i) EXPECT_TRUE(same_bits(arriving.fetched(i), plain.fetched(i))) << "fetch " << i;
      for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(same_bits(arriving.update(i), plain.update(i))) << "update " << i;
    }
  }
}

/// Bindings of a program whose variables have no memory.
struct Nothing {
  Nothing(const Feeds& feeds, Runner& runner) : x(feeds.at("x").view()), pieces(3, Piece{nullptr, 0, 4}) {
    for (const Piece& piece : pieces) variables.emplace_back(&piece, 1);
    for (size_t i = 0; i < 3; ++i) {
      memory.push_back({runner.update(i).mutable_view().data, 0, Runner::rows(runner.update(i).shape())});
    }
    for (const MutablePiece& piece : memory) updates.emplace_back(&piece, 1);
  }
  Result<void> run(Runner& runner, bool come) {
    arrived.come.assign(3, come);
    return runner.program().run_on({.inputs = {&x, 1}, .variables = variables, .updates = updates, .arrivals = &arrived},
                                   progress);
  }
  TensorView x;
  std::vector<Piece> pieces;
  std::vector<Pieces> variables;
  std::vector<MutablePiece> memory;
  std::vector<MutablePieces> updates;
  Arrived arrived;
  RunProgress progress;
};

/// What a trainer does that loses its server: it begins anew.
TEST_P(ArrivingVariables, ARunThatIsLeftCostsNothing) {
  Runner plain = make(options_), arriving = make(options_);
  value_or_raise(plain.run(feeds_));
  Nothing nothing(feeds_, arriving);
  value_or_raise(nothing.run(arriving, false));
  EXPECT_FALSE(nothing.progress.done);
  value_or_raise(arriving.run(feeds_));
  for (size_t i = 0; i < 2; ++i) EXPECT_TRUE(same_bits(arriving.fetched(i), plain.fetched(i))) << "fetch " << i;
}

/// For those who measure: what it waits for is no time of the run.
TEST_P(ArrivingVariables, APausedRunIsToldOf) {
  class Pauses final : public KernelObserver {
   public:
    void run_started(const CompiledProgramInfo&) override { told += "s"; }
    void kernel_started(size_t) override {}
    void kernel_ended(size_t) override {}
    void run_paused() override { told += "p"; }
    void run_resumed() override { told += "r"; }
    void run_ended() override { told += "e"; }
    std::string told;
  } pauses;
  Runner runner = make(options_);
  run_as_they_come(runner, 1, {1, 1}, &pauses);
  EXPECT_EQ(pauses.told, "sprprpre");
}

/// One that has come must be whole.
TEST_P(ArrivingVariables, AreCheckedWhenTheyCome) {
  Runner runner = make(options_);
  const Result<void> ran = Nothing(feeds_, runner).run(runner, true);
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().kind(), ErrorKind::kInvalidArgument);
  EXPECT_THAT(ran.error().message(), HasSubstr("variable \"w\": a piece has no data"));
}

INSTANTIATE_TEST_SUITE_P(Backends, ArrivingVariables, ::testing::ValuesIn(built_in_backends()),
                         [](const auto& one) { return one.param.name; });

/// A backend of somebody else's, which knows nothing of arrivals.
class Whole final : public Program {
 public:
  Result<void> run(const StepBinding&) override {
    ++runs;
    return {};
  }
  std::span<const TensorView> fetched() const override { return {}; }
  const CompiledProgramInfo& info() const override { return info_; }
  int runs = 0;

 private:
  CompiledProgramInfo info_;
};

TEST(VariableArrivals, ABackendThatDoesNotKnowOfThemBeginsWhenAllHaveCome) {
  Whole program;
  const std::array<Pieces, 2> variables;
  Arrived arrived;
  arrived.come = {true, false};
  RunProgress progress;
  const StepBinding binding{.variables = variables, .arrivals = &arrived};
  value_or_raise(program.run_on(binding, progress));
  EXPECT_FALSE(progress.done);
  EXPECT_EQ(progress.missing, 1u);
  EXPECT_EQ(program.runs, 0);
  arrived.come = {true, true};
  value_or_raise(program.run_on(binding, progress));
  EXPECT_TRUE(progress.done);
  EXPECT_EQ(program.runs, 1);
}

}  // namespace
}  // namespace shoal::backends::testing
