// SPDX-License-Identifier: Apache-2.0
// Interrupts that come while a trainer makes an element of its input: in virtual time, in the middle of a batch.
#include <gmock/gmock.h>

#include "shoal/checkpoint/directory.h"
#include "shoal/checkpoint/end_mark.h"
#include "shoal/checkpoint/reader.h"
#include "shoal/testing/world.h"
#include "small_job.h"

namespace shoal::testing {
namespace {

constexpr const char* kFolder = "/shared/model";
constexpr int64_t kInTheEleventhBatch = 84;  // Of batches of eight.

/// Elements that say when the one before which something shall happen is made.
data::Dataset told_of(int64_t element, int trainer, std::function<void()> act) {
  const auto make = [=](int64_t first) -> data::GeneratorFn {
    return [=, i = first](data::Element& made) mutable -> Result<bool> {
      if (trainer == 0 && i == element && act) act();
      RandomStream random(fold_in(fold_in(RandomKey(7), uint64_t(trainer)), uint64_t(i++)));
      const float x = random.next_float(), y = random.next_float();
      made = {Tensor::of<float>({2}, {x, y}), Tensor::scalar<int64_t>(x > y ? 1 : 0)};
      return true;
    };
  };
  return data::Dataset::from_resumable_generator(make, {.depends_on_trainer = true}).batch(8);
}

/// The program of every task; what trainer 0 does in its eleventh batch is `act`.
Program program_that(std::function<void()> act) {
  return [act](RunConfig config) {
    Estimator estimator(small_model, std::move(config));
    const InputFn input = [act](const InputContext& context) {
      return told_of(kInTheEleventhBatch, context.config.trainer_index(), act);
    };
    train_and_evaluate(estimator, {.input_fn = input, .max_steps = 40}, {.input_fn = test_data, .throttle_secs = 0});
  };
}

RunConfigOptions in_step() {
  RunConfigOptions config = every_steps(100);
  config.model_dir = kFolder;
  config.update_strategy.kind = UpdateStrategyKind::kSync;
  return config;
}

/// All bytes of the newest checkpoint, by variable.
std::map<std::string, std::string> weights_in(World& world) {
  const auto prefix = value_or_raise(checkpoint::latest(world.shared(), kFolder));
  const auto reader = value_or_raise(checkpoint::Reader::open(world.shared(), prefix.value()));
  std::map<std::string, std::string> all;
  for (const auto& entry : reader->manifest().tensors) {
    const Tensor tensor = value_or_raise(reader->read_tensor(entry.name));
    all[entry.name].assign(reinterpret_cast<const char*>(tensor.view().data), tensor.bytes());
  }
  return all;
}

/// Runs the job to step 40, over as many starts as that takes.
std::map<std::string, std::string> trained(const std::string& size, bool gives_way) {
  World world({.seed = 5});
  bool armed = gives_way;
  const std::string leader = size.empty() ? "alone" : "chief 0";
  const Program program = program_that([&world, &armed, leader] {
    if (std::exchange(armed, false)) world.leave(leader);
  });
  if (size.empty()) {
    world.add_process("alone", program, in_step());
  } else {
    world.add_cluster(size, program, in_step());
  }
  if (gives_way) {
    world.at(std::chrono::seconds(30), [&world, leader] {
      EXPECT_EQ(world.exit_status(leader), 143) << world.report();
      world.start(leader);
    });
  }
  EXPECT_TRUE(world.run()) << world.report();
  for (const std::string& task : world.tasks()) EXPECT_EQ(world.exit_status(task), 0) << task << "\n" << world.report();
  EXPECT_EQ(world.count_log("gave way at global step 10"), size_t(gives_way)) << world.report();
  EXPECT_EQ(world.count_log("begins anew"), 0u) << world.report();
  EXPECT_EQ(world.global_step(), 40u);
  return weights_in(world);
}

TEST(CancelledElement, IsMadeAgainByTheNextStartOfATaskThatGaveWay) {
  EXPECT_EQ(trained("", true), trained("", false));
  EXPECT_EQ(trained("ps:2,worker:1", true), trained("ps:2,worker:1", false));
}

TEST(CancelledElement, EndsTheJobWithWhatWasTrained) {
  World world({.seed = 5});
  world.add_cluster("ps:2,worker:1,evaluator", program_that([&world] { world.interrupt("chief 0"); }), in_step());
  ASSERT_TRUE(world.run()) << world.report();
  for (const std::string& task : world.tasks()) EXPECT_EQ(world.exit_status(task), 0) << task << "\n" << world.report();
  const auto mark = value_or_raise(checkpoint::read_end_mark(world.shared(), kFolder));
  ASSERT_TRUE(mark);
  EXPECT_EQ(mark->reason, checkpoint::EndReason::kInterrupted);
  EXPECT_EQ(mark->checkpoint, "model.ckpt-10");
  EXPECT_TRUE(world.leftovers().empty());
}

}  // namespace
}  // namespace shoal::testing
