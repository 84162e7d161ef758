// SPDX-License-Identifier: Apache-2.0
#include "train/checkpoint_saver.h"

#include "fixture.h"
#include "shoal/base/production.h"
#include "shoal/base/virtual.h"
#include "shoal/cluster/local_store.h"
#include "shoal/testing/simulated_disk.h"

namespace shoal {
namespace {

TEST(CheckpointSaver, AStateThatOthersHaveBroughtToTheLastStepIsLeftToTheEnd) {
  TemporaryFolder folder;
  std::filesystem::create_directory(folder / "m");
  const auto env = make_production_environment({.sink = [](const LogRecord&) {}});
  const cluster::VariableSpec w{
      .name = "w", .shape = Shape{4}, .initializer = {Initializer::Kind::kConstant, 1, 0}, .rule = {}};
  const auto store = cluster::make_local_store(*env, value_or_raise(cluster::plan_shards({w}, 1, 0)));
  ASSERT_TRUE(env->run(store->prepare(nullptr, kNoDeadline)));  // The store begins at step 0.
  LoopContext context(*env);
  CheckpointSaver saver(*env, RunConfig({.model_dir = folder / "m"}), {.model_dir = folder / "m"});
  ASSERT_TRUE(env->run(saver.save_when_due(*store, context, {}, 0)));
  EXPECT_EQ(saver.last_name(), "");
  ASSERT_TRUE(env->run(saver.save_when_due(*store, context, {}, 1)));
  EXPECT_EQ(saver.last_name(), "model.ckpt-0");
  CheckpointSaver last(*env, RunConfig({.model_dir = folder / "m"}), {.model_dir = folder / "m"});
  ASSERT_TRUE(env->run(last.save_at_end(*store, context, {})));
  EXPECT_EQ(last.last_name(), "model.ckpt-0");
}

/// A store whose server is lost at the moment when it is asked to release its snapshot.
class LostAtRelease final : public cluster::Store {
 public:
  explicit LostAtRelease(std::unique_ptr<cluster::Store> store) : store_(std::move(store)) {}
  Task<Result<std::unique_ptr<cluster::Snapshot>>> snapshot(cluster::Positions own_positions) override {
    SHOAL_CO_TRY(auto held, co_await store_->snapshot(std::move(own_positions)));
    co_return std::unique_ptr<cluster::Snapshot>(new Held(std::move(held)));
  }
  Task<Result<cluster::Ready>> prepare(cluster::RestoreSource* from, Deadline by) override {
    return store_->prepare(from, by);
  }
  Task<Result<cluster::Ready>> attach(Deadline by) override { return store_->attach(by); }
  Result<void> bind(const std::vector<std::string>&, const std::vector<std::string>&,
                    const std::vector<std::string>&) override {
    return {};
  }
  Task<Result<cluster::Step>> begin(StopToken stop) override { return store_->begin(std::move(stop)); }
  Result<void> start(cluster::Step&, uint64_t, std::string_view) override { return {}; }
  Result<void> add_rows(cluster::Step&, std::span<const cluster::RowGradients>) override { return {}; }
  Result<void> next_replica(std::span<const double>) override { return {}; }
  Task<Result<cluster::Outcome>> commit(cluster::Step step, std::span<const double> scalars) override {
    return store_->commit(step, scalars);
  }
  bool wants_positions() const override { return false; }
  Task<Result<void>> check_lease() override { return store_->check_lease(); }
  Task<Result<void>> stay(StopToken stop) override { return store_->stay(std::move(stop)); }
  bool lost() const override { return false; }
  Task<Result<uint64_t>> global_step() override { return store_->global_step(); }
  const cluster::ShardPlan& plan() const override { return store_->plan(); }

 private:
  class Held final : public cluster::Snapshot {
   public:
    explicit Held(std::unique_ptr<cluster::Snapshot> held) : held_(std::move(held)) {}
    const cluster::StateInfo& info() const override { return held_->info(); }
    const cluster::ShardPlan& plan() const override { return held_->plan(); }
    Task<Result<Part>> read(int shard, cluster::ArenaIndex arena, uint64_t offset, uint64_t bytes) override {
      return held_->read(shard, arena, offset, bytes);
    }
    Task<Result<void>> release() override { co_return unavailable("the server is lost"); }

   private:
    std::unique_ptr<cluster::Snapshot> held_;
  };
  std::unique_ptr<cluster::Store> store_;
};

TEST(CheckpointSaver, WhatIsPublishedIsToldAlsoWhereAServerIsLostThen) {
  struct Saves final : CheckpointListener {
    bool after_save(RunContext&, uint64_t step, const std::string&) override { return saved.push_back(step), false; }
    std::vector<uint64_t> saved;
  };
  const auto saves = std::make_shared<Saves>();
  TemporaryFolder folder;
  std::filesystem::create_directory(folder / "m");
  const auto env = make_production_environment({.sink = [](const LogRecord&) {}});
  const cluster::VariableSpec w{
      .name = "w", .shape = Shape{4}, .initializer = {Initializer::Kind::kConstant, 1, 0}, .rule = {}};
  LostAtRelease store(cluster::make_local_store(*env, value_or_raise(cluster::plan_shards({w}, 1, 0))));
  ASSERT_TRUE(env->run(store.prepare(nullptr, kNoDeadline)));
  LoopContext context(*env);
  SaverOptions options{.model_dir = folder / "m"};
  options.listeners = {saves};
  CheckpointSaver saver(*env, RunConfig({.model_dir = folder / "m"}), std::move(options));
  const Result<void> saved = env->run(saver.save_when_due(store, context, {}));
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().kind(), ErrorKind::kUnavailable);
  EXPECT_EQ(saver.last_name(), "model.ckpt-0");
  EXPECT_THAT(saves->saved, ::testing::ElementsAre(0u));
}

/// A local job in virtual time whose wall clock jumps by years, and a saver over it.
class HoursRuleRun {
 public:
  HoursRuleRun(std::shared_ptr<shoal::testing::SimulatedDisk> disk, std::optional<double> hours)
      : env_(world_.add_task({.task = "local", .storage = std::move(disk), .wall_clock = jumping_clock})),
        config_({.model_dir = "m", .keep_checkpoint_max = 2, .keep_checkpoint_every_n_hours = hours}),
        saver_(env_, config_, {.model_dir = "m"}),
        store_(cluster::make_local_store(env_, value_or_raise(cluster::plan_shards({kVariable}, 1, 0)))) {
    value_or_raise(store_->bind({"w"}, {}));
  }
  /// Continues from `step`, and saves every 30 minutes for `how_long`.
  void train(uint64_t step, Duration how_long) {
    Start start(step);
    value_or_raise(env_.run(store_->prepare(step > 0 ? &start : nullptr, kNoDeadline)));
    value_or_raise(env_.run(saver_.save_at_start(*store_, context_, {})));
    for (Duration past{}; past < how_long; past += std::chrono::minutes(30)) {
      world_.run_for(std::chrono::minutes(30));
      value_or_raise(env_.run(step_and_save()));
    }
  }

 private:
  static inline const cluster::VariableSpec kVariable{
      .name = "w", .shape = Shape{4}, .initializer = {Initializer::Kind::kConstant, 1, 0}, .rule = {}};
  struct Start final : cluster::RestoreSource {
    explicit Start(uint64_t step) { state.global_step = step, state.shards.resize(1); }
    const cluster::StateInfo& info() const override { return state; }
    Result<void> read(const cluster::Segment&, cluster::ArenaIndex, std::span<std::byte>) override { return {}; }
    cluster::StateInfo state;
  };
  Task<Result<void>> step_and_save() {
    SHOAL_CO_TRY(cluster::Step step, co_await store_->begin({}));
    SHOAL_CO_TRY_VOID(store_->start(step, 1, {}));
    SHOAL_CO_TRY(const cluster::Outcome outcome, co_await store_->commit(step, {}));
    static_cast<void>(outcome);
    co_return co_await saver_.save_when_due(*store_, context_, {});
  }

  static WallTime jumping_clock(SteadyTime now) {
    const bool late = now.time_since_epoch() / std::chrono::hours(5) % 2 == 1;
    return WallTime(now.time_since_epoch() + std::chrono::hours(24 * 365 * (late ? 60 : 50)));
  }

  VirtualWorld world_;
  Environment& env_;
  RunConfig config_;
  LoopContext context_{env_};
  CheckpointSaver saver_;
  std::unique_ptr<cluster::Store> store_;
};

/// Steps of the checkpoints on `disk`, ascending.
std::vector<int64_t> steps_on(const shoal::testing::SimulatedDisk& disk) {
  std::vector<int64_t> steps;
  for (const std::string& path : disk.paths()) {
    if (path.ends_with(".index")) steps.push_back(*checkpoint::step_of(path.substr(2, path.size() - 8)));
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

TEST(CheckpointSaver, OneMorePerSoManyHoursStaysOnDisk) {
  const auto disk = std::make_shared<shoal::testing::SimulatedDisk>(shoal::testing::SimulatedDiskOptions{.folders = {"m"}});
  HoursRuleRun(disk, 2).train(0, std::chrono::hours(48));
  // Step i is saved after i / 2 hours. The first one after 2 h is 5; then the limit is 4 h, and so on.
  std::vector<int64_t> expected;
  for (int64_t step = 5; step < 95; step += 4) expected.push_back(step);
  expected.insert(expected.end(), {95, 96});  // The checkpoints in the list.
  EXPECT_EQ(steps_on(*disk), expected);
  EXPECT_THAT((*checkpoint::read_pointer(*disk, "m"))->retained, ::testing::ElementsAre("model.ckpt-95", "model.ckpt-96"));

  // A second run counts its hours from its own start. Checkpoints that the first run kept for good stay; those in its list
  // do not.
  HoursRuleRun(disk, 2).train(96, std::chrono::hours(6));
  expected.resize(expected.size() - 2);
  expected.insert(expected.end(), {101, 105, 107, 108});
  EXPECT_EQ(steps_on(*disk), expected);
}

TEST(CheckpointSaver, TheDefaultHoursAndNoneKeepNothingMore) {
  for (const std::optional<double> hours : {RunConfigOptions().keep_checkpoint_every_n_hours, std::optional<double>()}) {
    const auto disk =
        std::make_shared<shoal::testing::SimulatedDisk>(shoal::testing::SimulatedDiskOptions{.folders = {"m"}});
    HoursRuleRun(disk, hours).train(0, std::chrono::hours(240));
    EXPECT_EQ(steps_on(*disk), (std::vector<int64_t>{479, 480}));
  }
}

}  // namespace
}  // namespace shoal
