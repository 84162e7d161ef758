// SPDX-License-Identifier: Apache-2.0
/// The program as a user meets it: help, wrong flags, one short training in one process and as a cluster of threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "run_program.h"
#include "shoal/backends/backend.h"

namespace mnist {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class MnistProgram : public ::testing::Test {
 protected:
  MnistProgram() { write_small_data(data_.path(), 40); }
  Ended train(const std::string& arguments) {
    return run_mnist("--json --model mlp --batch 8 --throttle-secs 0 --data-dir " + data_.path() + " --model-dir " +
                     model_.path() + " " + arguments);
  }
  /// The loss at the end.
  static double loss(const Ended& ended) {
    const size_t at = ended.output.find("\"loss\":");
    return at == std::string::npos ? -1 : std::stod(ended.output.substr(at + 7));
  }
  bool has(const std::string& name) const { return std::filesystem::exists(model_ / name); }
  int exports(const std::string& name) const {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(model_ / ("export/" + name)))
      count += entry.is_directory();
    return count;
  }

  TemporaryFolder data_;
  TemporaryFolder model_;
};

TEST_F(MnistProgram, HelpNamesEveryFlagAndSaysWhereDataComesFrom) {
  const Ended ended = run_mnist("--help");
  EXPECT_EQ(ended.status, 0);
  for (const char* flag :
       {"--model", "--steps", "--batch", "--learning-rate", "--model-dir", "--data-dir", "--seed", "--backend",
        "--transport", "--cluster", "--save-checkpoints-steps", "--throttle-secs", "--threads", "--json"}) {
    EXPECT_THAT(ended.output, HasSubstr(flag));
  }
  EXPECT_THAT(ended.output, HasSubstr("draws its own digits"));
}

TEST_F(MnistProgram, AWrongFlagIsASentenceAndStatusTwo) {
  const Ended ended = run_mnist("--model rnn --steps 1 --model-dir " + model_.path());
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.output, AllOf(HasSubstr("error: "), HasSubstr("rnn")));
  EXPECT_FALSE(has("model.ckpt-0.index"));
}

TEST_F(MnistProgram, TrainsAloneAndLeavesWhatTheReadmeNames) {
  const Ended ended = train("--steps 6 --save-checkpoints-steps 3");
  ASSERT_EQ(ended.status, 0) << ended.output;
  EXPECT_THAT(ended.output,
              AllOf(HasSubstr("\"accuracy\":"), HasSubstr("\"global_step\":6"), HasSubstr("\"examples_per_second\":")));
  EXPECT_TRUE(has("model.ckpt-6.index"));
  EXPECT_TRUE(has("eval"));
  EXPECT_GE(exports("best"), 1);
  EXPECT_EQ(exports("final"), 1);
}

TEST_F(MnistProgram, EndsWithTheAccuracyInWords) {
  const Ended ended =
      run_mnist("--model mlp --steps 2 --batch 8 --data-dir " + data_.path() + " --model-dir " + model_.path());
  ASSERT_EQ(ended.status, 0) << ended.output;
  EXPECT_THAT(ended.output, ::testing::ContainsRegex("\nEvaluated at global step 2: accuracy [0-9.]+, .*loss [0-9.]+\n$"));
}

class MnistInBfloat16 : public MnistProgram, public ::testing::WithParamInterface<std::string> {};

TEST_P(MnistInBfloat16, ReachesAboutTheLossOfFloat32) {
  const auto run = [this](const std::string& dtype) {
    TemporaryFolder model;
    return run_mnist("--json --quiet --model mlp --batch 16 --steps 60 --seed 3 --save-checkpoints-steps 60 --data-dir " +
                     data_.path() + " --model-dir " + model.path() + " --backend " + GetParam() + " --compute-dtype " +
                     dtype);
  };
  const Ended rounded = run("bfloat16");
  if (rounded.output.find("no bfloat16 products") != std::string::npos) GTEST_SKIP() << rounded.output;
  ASSERT_EQ(rounded.status, 0) << rounded.output;
  const Ended exact = run("float32");
  ASSERT_EQ(exact.status, 0) << exact.output;
  EXPECT_LT(loss(exact), 2.0) << "of at first 2.3";
  EXPECT_NE(loss(rounded), loss(exact));
  EXPECT_NEAR(loss(rounded), loss(exact), 0.05 * loss(exact) + 0.01);
}

std::vector<std::string> backend_names() {
  std::vector<std::string> names;
  for (const auto& entry : shoal::backends::built_in_backends()) names.push_back(entry.name);
  return names;
}
INSTANTIATE_TEST_SUITE_P(Backends, MnistInBfloat16, ::testing::ValuesIn(backend_names()),
                         [](const auto& test_info) { return test_info.param; });

TEST_F(MnistProgram, RefusesBfloat16WhereTheProcessorDoesNotMultiplyIt) {
  if (shoal::backends::default_backend() != "onednn") GTEST_SKIP() << "this build has no backend onednn";
  setenv("ONEDNN_MAX_CPU_ISA", "AVX2", 1);  // The program sees a processor that knows no more.
  const Ended ended = train("--steps 6 --backend onednn --compute-dtype bfloat16");
  unsetenv("ONEDNN_MAX_CPU_ISA");
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.output,
              AllOf(HasSubstr("error: backend \"onednn\": this processor ("), HasSubstr("no bfloat16 products"),
                    HasSubstr("compute in float32"), HasSubstr("\"reference\"")));
  EXPECT_FALSE(has("model.ckpt-0.index"));
}

/// The records hold the same images in the same order, so that the training has the same bits.
TEST_F(MnistProgram, TrainsOnRecordsAsOnTheImagesInMemory) {
  const TemporaryFolder records, other;
  const Ended written = run_mnist("--data-dir " + data_.path() + " --write-records " + records.path());
  ASSERT_EQ(written.status, 0) << written.output;
  const Ended from_memory = train("--steps 20 --seed 4");
  const Ended from_files = run_mnist("--json --model mlp --batch 8 --throttle-secs 0 --steps 20 --seed 4 --records " +
                                     records.path() + " --model-dir " + other.path());
  ASSERT_EQ(from_files.status, 0) << from_files.output;
  EXPECT_GT(loss(from_memory), 0);
  EXPECT_EQ(loss(from_files), loss(from_memory));
  write(records / "train.tfrecord", "no record");
  const Ended damaged = run_mnist("--model mlp --records " + records.path() + " --model-dir " + records.path());
  EXPECT_EQ(damaged.status, 4);
  EXPECT_THAT(damaged.output, HasSubstr("train.tfrecord, record 1 (offset 0)"));
}

TEST_F(MnistProgram, TrainsAsAClusterOfThreads) {
  const Ended ended = train("--steps 6 --save-checkpoints-steps 3 --cluster ps:1,worker:1,evaluator");
  ASSERT_EQ(ended.status, 0) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("\"accuracy\":"));
  EXPECT_EQ(exports("final"), 1);
}

}  // namespace
}  // namespace mnist
