#include "checkpoint_saver.h"

#include "fixture.h"
#include "shoal/base/production.h"
#include "shoal/cluster/local_store.h"

namespace shoal {
namespace {

TEST(CheckpointSaver, AStateThatOthersHaveBroughtToTheLastStepIsLeftToTheEnd) {
  TemporaryFolder folder;
  const auto env = make_production_environment({.sink = [](const LogRecord&) {}});
  const cluster::VariableSpec w{
      .name = "w", .shape = Shape{4}, .initialiser = {Initialiser::Kind::kConstant, 1, 0}, .rule = {}};
  const auto store = cluster::make_local_store(*env, value_or_raise(cluster::plan_shards({w}, 1, 0)));
  ASSERT_TRUE(env->run(store->prepare(nullptr, kNoDeadline)));  // at step 0
  LoopContext context(*env);
  CheckpointSaver saver(*env, RunConfig({.model_dir = folder / "m"}), {.model_dir = folder / "m"});
  ASSERT_TRUE(env->run(saver.save(*store, context, {}, 0)));
  EXPECT_EQ(saver.last_name(), "");
  ASSERT_TRUE(env->run(saver.save(*store, context, {}, 1)));
  EXPECT_EQ(saver.last_name(), "model.ckpt-0");
  CheckpointSaver last(*env, RunConfig({.model_dir = folder / "m"}), {.model_dir = folder / "m"});
  ASSERT_TRUE(env->run(last.save_at_end(*store, context, {})));
  EXPECT_EQ(last.last_name(), "model.ckpt-0");
}

}  // namespace
}  // namespace shoal
