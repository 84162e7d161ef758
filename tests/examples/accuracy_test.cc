// SPDX-License-Identifier: Apache-2.0
/// What is trained is good: real images, a real cluster, images that it has not seen.
#include <gtest/gtest.h>

#include <cstdlib>

#include "run_program.h"
#include "shoal/backends/backend.h"

namespace mnist {
namespace {

/// One epoch, divided between chief and worker: half a minute on two cores. Three such runs came to 98.7% (with four fifths
/// of the steps), 98.9% and 98.9%; `./dev demo` takes three times as long for 99.3%.
TEST(MnistAccuracy, AShortClusterRunReadsRealDigits) {
  const char* data = std::getenv("SHOAL_DATA");
  if (!data) GTEST_SKIP() << "SHOAL_DATA does not name a folder of data sets";
  if (SHOAL_TEST_SLOW || shoal::backends::default_backend() != "onednn") {
    GTEST_SKIP() << "emulators, sanitizers and the reference backend take too long";
  }
  const TemporaryFolder model;
  const Ended ended = run_mnist(
      "--json --model cnn --cluster ps:1,worker:1,evaluator --steps 1000 --batch 64 --seed 7 "
      "--save-checkpoints-steps 1000 --throttle-secs 0 --data-dir " +
      std::string(data) + " --model-dir " + model.path());
  ASSERT_EQ(ended.status, 0) << ended.output;
  const size_t at = ended.output.find("\"accuracy\":");
  ASSERT_NE(at, std::string::npos) << ended.output;
  EXPECT_GE(std::stod(ended.output.substr(at + 11)), 0.985) << ended.output;
}

}  // namespace
}  // namespace mnist
