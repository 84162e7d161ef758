// SPDX-License-Identifier: Apache-2.0
// Runs the example as a whole cluster inside one unit test. Model, digits and arithmetic are real; time, network, disks and
// the kill are simulated, so the same seed gives the same run.
#include <gtest/gtest.h>

#include "digits.h"
#include "model.h"
#include "shoal/checkpoint/directory.h"
#include "shoal/estimator/train_and_evaluate.h"
#include "shoal/testing/world.h"

namespace {
shoal::data::Dataset digits(int64_t count, uint64_t seed) {
  const mnist::Images images = mnist::draw_digits(count, seed);
  return shoal::data::Dataset::from_tensor_slices(images.pixels, images.labels);
}

void program(shoal::RunConfig config) {  // The same code as in the function that main() passes to shoal::run().
  const auto training = [] { return digits(100, 1).shuffle(100).repeat().batch(4); };
  const auto test = [] { return digits(20, 2).batch(10); };
  shoal::Estimator estimator(mnist::mlp, std::move(config), {{"learning_rate", 1e-3}, {"steps", int64_t(60)}});
  shoal::train_and_evaluate(estimator, {.input_fn = training, .max_steps = 60},
                            {.input_fn = test, .throttle_secs = 1, .start_delay_secs = 0});
}

TEST(MnistCluster, AKilledWorkerIsStartedAgain) {
  shoal::testing::World world({.seed = 7, .work = std::chrono::milliseconds(100)});
  world.add_cluster("ps:1,worker:2,evaluator", program, {.save_checkpoints_steps = 20});
  world.at_step(30, [&world] {
    world.kill("worker 1");
    world.after(std::chrono::milliseconds(500), [&world] { world.start("worker 1"); });
  });
  ASSERT_TRUE(world.run()) << world.report();
  for (const std::string& task : world.tasks()) EXPECT_EQ(world.exit_status(task), 0) << task << "\n" << world.report();
  EXPECT_EQ(world.count_log("worker 1: training finished"), 1u) << world.report();
  const auto last = shoal::value_or_raise(shoal::checkpoint::latest(world.shared(), "/shared/model"));
  const std::string step = last.value().substr(last->rfind('-') + 1);
  EXPECT_GE(std::stoi(step), 60);
  EXPECT_EQ(world.count_log("global_step = " + step), 1u) << world.report();  // The evaluator logs the last step once.
}
}  // namespace
