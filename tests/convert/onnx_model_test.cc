// SPDX-License-Identifier: Apache-2.0
// Files that Shoal writes, and files of others, computed here: against the reference backend, onnxruntime and numpy.
#include "shoal/convert/onnx_model.h"

#include <gmock/gmock.h>

#include "case_models.h"
#include "shoal/convert/onnx.h"

namespace shoal::convert {
namespace {

/// The inputs that the file has.
Tensors wanted_inputs(const OnnxModel& model, const Tensors& given) {
  Tensors wanted;
  for (const OnnxPort& input : model.inputs()) {
    if (const auto found = given.find(input.name); found != given.end()) wanted.insert(*found);
  }
  return wanted;
}

Result<Tensors> computed(const OnnxJob& job) {
  SHOAL_TRY(const OnnxModel model, OnnxModel::parse(job.bytes));
  return model.run(wanted_inputs(model, job.inputs));
}

TEST(OnnxModel, EveryOpGivesWhatShoalPredicts) {
  const Written written = write_cases(EmptyInputs::kAreThere);
  EXPECT_GT(written.jobs.size(), 100u);
  for (size_t i = 0; i < written.jobs.size(); ++i) {
    SCOPED_TRACE(written.jobs[i].name);
    const Result<Tensors> outputs = computed(written.jobs[i]);
    ASSERT_TRUE(outputs) << outputs.error().message();
    const std::vector<Tensor> expected = written.models[i]->expected();
    for (size_t k = 0; k < expected.size(); ++k)
      EXPECT_LE(difference(outputs->at("out" + std::to_string(k)), expected[k]), 1e-5) << "output " << k;
  }
}

TEST(OnnxModel, ABatchNormAddsItsFourthInputBeforeTheRelu) {
  using backends::testing::CaseBuilder;
  const auto build = [](CaseBuilder& b) {
    return b.graph().add("batch_norm",
                         {b.floats("x", {6, 3}), b.weights("scale", {3}), b.weights("shift", {3}), b.floats("z", {6, 3})},
                         {{"epsilon", 1e-3}, {"activation", std::string("relu")}});
  };
  CaseModel model({.op = "batch_norm", .detail = "addend", .build = build, .differentiable = {}});
  model.model.outputs.resize(1);  // The others are moments.
  const OnnxFile file = value_or_raise(to_onnx(model.model));
  const auto& feeds = model.builder.feeds();
  const Result<Tensors> outputs = computed({"batch_norm_addend", file.bytes, {feeds.begin(), feeds.end()}});
  ASSERT_TRUE(outputs) << outputs.error().message();
  EXPECT_LE(difference(outputs->at("out0"), model.expected()[0]), 1e-5);
}

TEST(OnnxModel, EveryOpGivesWhatOnnxruntimeGives) {
  if (const std::string missing = onnx_runtime_missing(); !missing.empty()) GTEST_SKIP() << missing;
  const Written written = write_cases(EmptyInputs::kAreLeftOut);
  const std::vector<OnnxResult> results = run_onnx(written.jobs);
  for (size_t i = 0; i < results.size(); ++i) {
    SCOPED_TRACE(written.jobs[i].name);
    EXPECT_EQ(results[i].error, "");
    const Result<Tensors> outputs = computed(written.jobs[i]);
    ASSERT_TRUE(outputs) << outputs.error().message();
    for (const auto& [name, tensor] : results[i].outputs) EXPECT_LE(difference(outputs->at(name), tensor), 1e-5) << name;
  }
}

/// Whatever is refused says so: "known here".
TEST(OnnxModel, GivesWhatNumpyGivesForTheCasesOfOnnxItself) {
  if (const std::string missing = onnx_checker_missing(); !missing.empty()) GTEST_SKIP() << missing;
  int count = 0, refused = 0;
  for (const BackendCase& one : backend_cases()) {
    SCOPED_TRACE(one.job.name);
    const Result<Tensors> outputs = computed(one.job);
    if (!outputs) {
      EXPECT_THAT(outputs.error().message(), ::testing::HasSubstr("known here"));
      EXPECT_EQ(outputs.error().kind(), ErrorKind::kInvalidArgument);
      ++refused;
      if (std::getenv("SHOAL_VERBOSE")) std::cout << one.job.name << ": " << outputs.error().message() << "\n";
      continue;
    }
    for (const auto& [name, tensor] : one.expected) EXPECT_LE(difference(outputs->at(name), tensor), 1e-5) << name;
    ++count;
  }
  EXPECT_GE(count, 60);
  std::cout << count << " cases were computed, " << refused << " refused\n";
}

}  // namespace
}  // namespace shoal::convert
