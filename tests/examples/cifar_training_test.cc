// SPDX-License-Identifier: Apache-2.0
/// ResNet-20 learns patterns, and what it has learned serves it for others.
#include <gtest/gtest.h>

#include "run_program.h"
#include "shoal/backends/backend.h"

namespace mnist {
namespace {

class CifarTraining : public ::testing::Test {
 protected:
  void SetUp() override {
    if (SHOAL_TEST_SLOW || shoal::backends::default_backend() != "onednn") {
      GTEST_SKIP() << "emulators, sanitizers and the reference backend take too long";
    }
  }
  /// The accuracy at the end of a training in that folder of models_.
  double train(const std::string& name, const std::string& arguments) {
    const Ended ended = run_cifar("--json --quiet --seed 1 --batch 32 --save-checkpoints-steps 1000 --model-dir " +
                                  models_ / name + " " + arguments);
    EXPECT_EQ(ended.status, 0) << ended.output;
    const size_t at = ended.output.find("\"accuracy\":");
    return at == std::string::npos ? -1 : std::stod(ended.output.substr(at + 11));
  }
  TemporaryFolder models_;
};

/// Three seeds came to 92%, 96% and 92% in the first training. Seed 1 then came to 29% from scratch, 83% where all layers
/// learn, and 86% where the last one does (the other seeds: examples/cifar/README.md).
TEST_F(CifarTraining, LearnsAndThenLearnsOtherClassesFaster) {
  EXPECT_GE(train("base", "--classes 0,2,4,5,7,8 --steps 100 --learning-rate 0.02"), 0.6) << "by chance it is 1/6";
  const std::string others = "--classes 1,3,6,9 --steps 20 ", start = others + "--start-from " + models_ / "base ";
  const double scratch = train("scratch", others + "--learning-rate 0.02");
  EXPECT_GE(train("tuned", start + "--learning-rate 0.02"), scratch + 0.2);
  EXPECT_GE(train("frozen", start + "--learning-rate 0.2 --frozen"), scratch + 0.2);
}

}  // namespace
}  // namespace mnist
