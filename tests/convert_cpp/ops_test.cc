// SPDX-License-Identifier: Apache-2.0
/// Every op as C++: the graphs of the conformance suite, whose outputs have the bits of the backend `portable`.
#include <algorithm>
#include <set>
#include <span>

#include "expect_subjects.h"
#include "op_cases.h"

namespace shoal::convert::testing {
namespace {

struct AllOps {
  std::vector<Subject> subjects;
  std::set<std::string> written, refused;  ///< The ops of cases that can be written, and of those that cannot.
};

/// Every `every`-th case, from `first` on.
AllOps all_ops(size_t every = 1, size_t first = 0) {
  AllOps all;
  size_t number = 0;
  for (const backends::testing::OpCase& op_case : backends::testing::op_cases()) {
    if (number++ % every != first) continue;
    backends::testing::CaseBuilder builder(op_case.name(), backends::testing::CaseBuilder::kAllBits);
    const std::vector<Value> outputs = op_case.build(builder);
    if (!cpp_obstacles(model_of(builder.graph(), builder.feeds(), outputs)).empty()) {
      all.refused.insert(op_case.op);
      continue;
    }
    auto subject = subject_of(op_case.name(), builder.graph(), builder.feeds(), outputs);
    EXPECT_TRUE(subject) << op_case.name() << ": " << subject.error().message();
    if (!subject) continue;
    EXPECT_FALSE(subject->expected.empty()) << op_case.name();
    all.written.insert(op_case.op);
    all.subjects.push_back(std::move(subject).value());
  }
  return all;
}

TEST(CppOps, HaveTheBitsOfPortable) {
  if (const std::string reason = why_not_here(); !reason.empty()) GTEST_SKIP() << reason;
  const AllOps all = all_ops();
  // What no case can be written of is for training.
  std::set<std::string> never;
  for (const std::string& op : all.refused) {
    if (!all.written.contains(op)) never.insert(op);
  }
  const std::set<std::string> for_training{
      "batch_norm", "clip_grad", "dropout", "global_norm", "sigmoid_cross_entropy", "softmax_cross_entropy", "sum_like"};
  EXPECT_EQ(never, for_training);
  EXPECT_GT(all.subjects.size(), 600u);
  expect_results(all.subjects, {.flags = "-O0" + fused_flag()});
}

/// Graphs of other makers have ops that apply a relu themselves.
TEST(CppOps, ApplyTheReluOfTheirAttribute) {
  if (const std::string reason = why_not_here(); !reason.empty()) GTEST_SKIP() << reason;
  backends::testing::CaseBuilder b("fused_relu", backends::testing::CaseBuilder::kAllBits);
  Graph& graph = b.graph();
  const auto pair = [&](float first, float second) { return graph.constant(Tensor::of<float>({2}, {first, second})); };
  const Value x = b.floats("x", {1, 3, 4, 2}), scale = pair(1, -1), shift = pair(0, 0.1f), mean = pair(0.01f, 0);
  const Value given = b.input("variance", Tensor::of<float>({2}, {0.5f, 2.0f}));
  const std::string relu = "relu";
  const Attributes norm{{"epsilon", 1e-3}, {"activation", relu}};
  const Attributes conv{
      {"strides", std::vector<int64_t>{1, 1}}, {"padding", std::vector<int64_t>{0, 0, 0, 0}}, {"activation", relu}};
  const std::vector<Value> outputs{
      graph.add("batch_norm_inference", {x, scale, shift, mean, pair(0.5f, 2.0f)}, norm)[0],
      graph.add("batch_norm_inference", {x, scale, shift, mean, given}, norm)[0],
      graph.add("dense", {b.floats("rows", {9, 2}), b.weights("kernel", {4, 2})}, {{"activation", relu}})[0],
      graph.add("conv2d", {x, b.weights("filters", {5, 2, 2, 2})}, conv)[0]};
  const Subject subject = value_or_raise(subject_of("fused_relu", graph, b.feeds(), outputs));
  ASSERT_EQ(subject.expected.size(), outputs.size());
  for (const Tensor& expected : subject.expected) {
    const std::span<const float> values = expected.as<float>();
    EXPECT_EQ(*std::ranges::min_element(values), 0.0f) << "no value of this output is below 0 before the relu";
  }
  expect_results({subject}, {.flags = "-O2" + fused_flag()});
}

TEST(CppOps, HaveTheSameBitsByClang) {
  if (const std::string reason = why_not_here(); !reason.empty()) GTEST_SKIP() << reason;
  if (!has_program("clang++")) GTEST_SKIP() << "there is no clang++";
  expect_results(all_ops(4).subjects, {.program = "clang++", .flags = "-O2" + fused_flag()});
}

TEST(CppOps, HaveTheSameBitsAtEveryLevel) {
  if (const std::string reason = why_not_here(); !reason.empty()) GTEST_SKIP() << reason;
  // A third each: compilers take their time.
  expect_results(all_ops(3, 0).subjects, {.flags = "-O1" + fused_flag()});
  expect_results(all_ops(3, 1).subjects, {.flags = "-O2" + fused_flag()});
  expect_results(all_ops(3, 2).subjects, {.flags = "-O3" + fused_flag()});
}

TEST(CppOps, AreNearWithoutFusedMultiplyAdds) {
#if defined(__x86_64__)
  if (!has_program("g++")) GTEST_SKIP() << "there is no g++";
  expect_results(all_ops(4).subjects, {.flags = "-O2 -mno-fma"}, 3e-6);
#else
  GTEST_SKIP() << "only x86-64 can be compiled without fused multiply-adds";
#endif
}

TEST(CppOps, HaveTheSameBitsOnArm64) {
  if (!has_program("aarch64-linux-gnu-g++") || !has_program("qemu-aarch64-static")) {
    GTEST_SKIP() << "there is no g++ for arm64, or no qemu-user";
  }
  for (const char* level : {"-O0", "-O2"}) {
    expect_results(
        all_ops(5).subjects,
        {.program = "aarch64-linux-gnu-g++", .flags = std::string(level) + " -static", .emulator = "qemu-aarch64-static"});
  }
}

TEST(CppOps, HaveTheSameBitsOnRiscv64) {
  if (!has_program("riscv64-linux-gnu-g++") || !has_program("qemu-riscv64-static")) {
    GTEST_SKIP() << "there is no g++ for riscv64, or no qemu-user";
  }
  expect_results(all_ops(2).subjects,
                 {.program = "riscv64-linux-gnu-g++", .flags = "-O2 -static", .emulator = "qemu-riscv64-static"});
}

TEST(CppOps, RunCleanUnderSanitizers) {
  if (const std::string reason = why_not_here(); !reason.empty()) GTEST_SKIP() << reason;
  expect_results(all_ops(6).subjects,
                 {.flags = "-O1 -fsanitize=address,undefined -fno-sanitize-recover=all" + fused_flag()});
}

}  // namespace
}  // namespace shoal::convert::testing
