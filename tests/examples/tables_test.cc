// SPDX-License-Identifier: Apache-2.0
/// The programs for tables: they reach the quality that their READMEs state, on the real data.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "run_program.h"
#include "shoal/backends/backend.h"

namespace mnist {
namespace {

using ::testing::HasSubstr;

class Tables : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* data = std::getenv("SHOAL_DATA");
    if (!data) GTEST_SKIP() << "SHOAL_DATA does not name a folder of data sets";
    if (SHOAL_TEST_SLOW || shoal::backends::default_backend() != "onednn") {
      GTEST_SKIP() << "emulators, sanitizers and the reference backend take too long";
    }
    data_ = data;
  }
  /// What a program's last line says after a training with these further arguments.
  std::string train(Ended (*run)(const std::string&), const std::string& arguments) {
    const TemporaryFolder model;
    const Ended ended =
        run("--json --quiet --seed 1 --data-dir " + data_ + " --model-dir " + model.path() + " " + arguments);
    EXPECT_EQ(ended.status, 0) << ended.output;
    return ended.output;
  }
  static double value(const std::string& output, const std::string& name) {
    const size_t at = output.find("\"" + name + "\":");
    EXPECT_NE(at, std::string::npos) << name << " in " << output;
    return at == std::string::npos ? -1 : std::stod(output.substr(at + name.size() + 3));
  }
  std::string data_;
};

TEST_F(Tables, AdultIsAsGoodAsItSays) {
  const std::string output = train(run_adult, "");
  EXPECT_GE(value(output, "accuracy"), 0.862);
  EXPECT_GE(value(output, "auc"), 0.917);
}

TEST_F(Tables, AdultAsASynchronousClusterIsAdultWithReplicas) {
  // One thread each: with AVX2 alone, bits of products depend on how many there are.
  const std::string replicas = train(run_adult, "--steps 300 --threads 1 --replicas 2");
  const std::string cluster = train(run_adult, "--steps 300 --threads 1 --strategy sync --cluster ps:2,worker:1,evaluator");
  for (const char* name : {"average_loss", "auc", "prediction/mean"})
    EXPECT_EQ(value(replicas, name), value(cluster, name));
}

TEST_F(Tables, AdultAsAnAsynchronousClusterIsAsGoodToo) {
  const std::string output = train(run_adult, "--cluster ps:2,worker:1,evaluator");
  EXPECT_GE(value(output, "accuracy"), 0.86);
  EXPECT_GE(value(output, "auc"), 0.916);
}

TEST_F(Tables, HousingIsTwiceAsGoodAsTheMean) {
  EXPECT_LE(value(train(run_housing, ""), "rmse"), 0.5 * value(train(run_housing, "--baseline"), "rmse"));
}

TEST(TablePrograms, SayThatThereIsNoData) {
  const TemporaryFolder folder;
  for (Ended (*run)(const std::string&) : {run_adult, run_housing}) {
    const Ended without = run("--model-dir " + folder.path() + "/m");
    EXPECT_EQ(without.status, 2);
    EXPECT_THAT(without.output, HasSubstr("there is no data: give --data-dir, or set SHOAL_DATA"));
    EXPECT_THAT(run("--data-dir " + folder.path() + " --model-dir " + folder.path() + "/m").output,
                HasSubstr("--data-dir names the folder of the data set"));
  }
}

}  // namespace
}  // namespace mnist
