// SPDX-License-Identifier: Apache-2.0
/// Observed runs, and what a Profiler makes of them.
#include "shoal/backends/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "run_graph.h"
#include "shoal/graph/ops.h"

namespace shoal::backends::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(MachineLimits, TakeTheSlowerOfComputingAndMoving) {
  const MachineLimits limits{.flops_per_second = 100, .copies = {{1000, 50}, {4000, 10}}};
  EXPECT_EQ(limits.bytes_per_second(10), 50);
  EXPECT_EQ(limits.bytes_per_second(1000), 50);
  EXPECT_EQ(limits.bytes_per_second(1001), 10);
  EXPECT_EQ(limits.bytes_per_second(1e9), 10) << "beyond the largest copy";
  EXPECT_EQ(limits.least_seconds({.flops = 200, .bytes = 50}), 2);
  EXPECT_EQ(limits.least_seconds({.flops = 200, .bytes = 4000}), 400);
  EXPECT_EQ(limits.least_seconds({}), 0);
}

TEST(MachineLimits, AreMeasured) {
  const MachineLimits limits = measure_machine_limits(1);
  EXPECT_GT(limits.flops_per_second, 1e7);
  ASSERT_FALSE(limits.copies.empty());
  for (const auto& copy : limits.copies) EXPECT_GT(copy.bytes_per_second, 1e6) << copy.bytes;
}

/// Notes what it is told.
class Notes final : public KernelObserver {
 public:
  void run_started(const CompiledProgramInfo& info) override { note("run of " + std::to_string(info.kernels.size())); }
  void kernel_started(size_t kernel) override { note("start " + std::to_string(kernel)); }
  void kernel_ended(size_t kernel) override { note("end " + std::to_string(kernel)); }
  void run_ended() override { note("ended"); }
  std::vector<std::string> notes;

 private:
  void note(std::string what) { notes.push_back(std::move(what)); }
};

struct Observed : ::testing::Test {
  Graph graph;
  Value x = graph.input("x", DType::kFloat32, {2, 3});
  Value labels = graph.input("labels", DType::kInt64, {2});
  Value doubled = ops::scale(x, 2, "doubled");
  Value flat = ops::flatten(ops::reshape(doubled, {2, 3, 1}));
  Value loss = ops::softmax_cross_entropy({.labels = labels, .logits = flat}, "loss").loss;
  std::unique_ptr<Backend> backend = backend_or_die("reference");
  std::unique_ptr<Program> program = value_or_raise(backend->compile(graph, {.fetches = {loss}}));
  Tensor x_data = Tensor::zeros(DType::kFloat32, {2, 3});

  Result<void> run(KernelObserver& observer, int64_t label = 0) {
    const Tensor label_data = Tensor::of<int64_t>({2}, {0, label});
    std::vector<TensorView> inputs;
    for (const auto& input : program->info().inputs)
      inputs.push_back(input.name == "x" ? x_data.view() : label_data.view());
    return program->run({.inputs = inputs, .observer = &observer});
  }
};

TEST_F(Observed, KernelsAreToldByTheirPlaceInTheProgram) {
  std::vector<std::string> ops;
  for (const auto& kernel : program->info().kernels) ops.push_back(kernel.op);
  Notes notes;
  value_or_raise(run(notes));
  ASSERT_EQ(ops.front(), "scale");
  ASSERT_EQ(ops.back(), "softmax_cross_entropy");
  const std::string last = std::to_string(ops.size() - 1);
  EXPECT_THAT(notes.notes, ElementsAre("run of " + std::to_string(ops.size()), "start 0", "end 0", "start " + last,
                                       "end " + last, "ended"))
      << "a view in between runs nothing";
}

TEST_F(Observed, ARunThatFailsDoesNotEnd) {
  Notes notes;
  EXPECT_FALSE(run(notes, 7));
  EXPECT_THAT(notes.notes.back(), HasSubstr("start"));
}

TEST_F(Observed, CostsFollowFromTheShapes) {
  EXPECT_EQ(program->info().kernels[0].cost.flops, 6);
  EXPECT_EQ(program->info().kernels[0].cost.bytes, 48);
}

/// A clock that a test moves: the first kernel takes 2 s in one run and 4, 6 s in others, the second 1 s; 1 s goes by in
/// between.
class Story {
 public:
  static CompiledProgramInfo program() {
    CompiledProgramInfo info;
    info.kernels = {{"a", "scale", "reference", {.flops = 100, .bytes = 0}},
                    {"v", "flatten", "view", {}},
                    {"b", "dense", "onednn: jit", {.flops = 0, .bytes = 20}}};
    info.arena_bytes = 3 << 20;
    info.lower_bound_bytes = 2 << 20;
    info.numerics = {.backend = "onednn", .version = "", .isa = "", .threads = 2};
    return info;
  }
  SteadyTime now() const { return SteadyTime(std::chrono::seconds(seconds_)); }
  /// `pause`: how long it waits for a variable, between its kernels.
  void run(Profiler& profiler, const CompiledProgramInfo& info, int first, int pause = 0) {
    profiler.run_started(info);
    kernel(profiler, 0, first);
    seconds_ += 1;
    if (pause > 0) {
      profiler.run_paused();
      seconds_ += pause;
      profiler.run_resumed();
    }
    kernel(profiler, 2, 1);
    profiler.run_ended();
  }

 private:
  void kernel(Profiler& profiler, size_t index, int seconds) {
    profiler.kernel_started(index);
    seconds_ += seconds;
    profiler.kernel_ended(index);
  }
  int seconds_ = 0;
};

TEST(Profile, HasMediansSharesAndLimits) {
  Story story;
  Profiler profiler([&story] { return story.now(); });
  const CompiledProgramInfo info = Story::program(), other = Story::program();
  for (int first : {6, 2, 4}) story.run(profiler, info, first);
  story.run(profiler, other, 1000);
  EXPECT_EQ(profiler.runs(), 3) << "those of another program do not count";
  const Profile profile = profiler.profile({.flops_per_second = 50, .copies = {{100, 40}}});
  EXPECT_EQ(profile.run_seconds, 6);
  EXPECT_EQ(profile.kernel_seconds, 5);
  ASSERT_EQ(profile.rows.size(), 2u);
  EXPECT_EQ(profile.rows[0].node, "a");
  EXPECT_EQ(profile.rows[0].seconds, 4);
  EXPECT_DOUBLE_EQ(profile.rows[0].share, 4.0 / 6);
  EXPECT_EQ(profile.rows[0].of_limit, 0.5);
  EXPECT_EQ(profile.rows[1].node, "b");
  EXPECT_EQ(profile.rows[1].of_limit, 0.5);

  const std::string table = to_table(profile);
  EXPECT_THAT(table, HasSubstr("6.000 s per run (median of 3), 5.000 s of it in kernels; backend onednn, threads: 2"));
  EXPECT_THAT(table, HasSubstr("memory plan 3.00 MiB, 1.500 times its lower bound"));
  EXPECT_LT(table.find("scale"), table.find("dense")) << "longest first";
  EXPECT_THAT(to_table(profile, 1), HasSubstr("16.7% in 1 further kernels"));

  const auto json = nlohmann::json::parse(to_json(profile));
  EXPECT_EQ(json["runs"], 3);
  EXPECT_EQ(json["run_seconds"], 6.0);
  EXPECT_EQ(json["arena_bytes"], 3 << 20);
  EXPECT_EQ(json["kernels"][1]["implementation"], "onednn: jit");
  EXPECT_EQ(json["kernels"][1]["bytes"], 20.0);
}

TEST(Profile, LeavesOutWhatARunWaitsForVariables) {
  Story story;
  Profiler profiler([&story] { return story.now(); });
  const CompiledProgramInfo info = Story::program();
  for (const int pause : {0, 100, 7}) story.run(profiler, info, 4, pause);
  EXPECT_EQ(profiler.profile({.flops_per_second = 50, .copies = {{100, 40}}}).run_seconds, 6);
}

TEST(Profile, OfTimesThatNoClockSeesHasNoShares) {
  Profiler profiler([] { return SteadyTime(); });
  const CompiledProgramInfo info = Story::program();
  Story story;
  story.run(profiler, info, 1);
  const Profile profile = profiler.profile({.flops_per_second = 1, .copies = {{1, 1}}});
  EXPECT_EQ(profile.rows[0].share, 0);
  EXPECT_EQ(profile.rows[0].of_limit, 0);
}

}  // namespace
}  // namespace shoal::backends::testing
