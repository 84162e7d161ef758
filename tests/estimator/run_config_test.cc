// SPDX-License-Identifier: Apache-2.0
#include "shoal/estimator/run_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <thread>

#include "shoal/estimator/task_host.h"

namespace shoal {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

template <class Fn>
std::string refusal(Fn&& fn, ErrorKind kind = ErrorKind::kInvalidArgument) {
  try {
    fn();
  } catch (const Exception& e) {
    EXPECT_EQ(e.kind(), kind);
    return e.what();
  }
  ADD_FAILURE() << "not refused";
  return "";
}
std::string construction_refusal(RunConfigOptions options) {
  return refusal([&] { RunConfig config(std::move(options)); });
}

cluster::GetEnv environment(std::string tf_config) {
  return [tf_config](std::string_view name) { return name == "TF_CONFIG" ? std::optional(tf_config) : std::nullopt; };
}

/// "steps/secs", with "-" for None, as in the tables of RC-6 and RC-7.
std::string cadence(const RunConfig& config) {
  const auto text = [](const auto& value) { return value ? std::to_string(int64_t(*value)) : "-"; };
  return text(config.save_checkpoints_steps()) + "/" + text(config.save_checkpoints_secs());
}

TEST(RunConfig, ShowsEveryDefault) {
  const RunConfig config;
  EXPECT_EQ(config.model_dir(), std::nullopt);
  EXPECT_EQ(config.save_checkpoints_steps(), std::nullopt);
  EXPECT_EQ(config.save_checkpoints_secs(), 600);
  EXPECT_TRUE(config.saves_checkpoints());
  EXPECT_EQ(config.save_summary_steps(), 100);
  EXPECT_EQ(config.log_step_count_steps(), 100);
  EXPECT_EQ(config.keep_checkpoint_max(), 5);
  EXPECT_EQ(config.keep_checkpoint_every_n_hours(), 10000);
  EXPECT_EQ(config.random_seed(), std::nullopt);
  EXPECT_EQ(config.max_worker_delay_secs(), std::nullopt);
  EXPECT_EQ(config.ready_timeout_secs(), 7200);
  EXPECT_TRUE(config.save_model_description());
  EXPECT_FALSE(config.accept_changed_model());
  EXPECT_FALSE(config.allow_non_finite());
  EXPECT_EQ(config.update_strategy().kind, UpdateStrategyKind::kAsync);
  EXPECT_EQ(config.on_sigterm(), OnSigterm::kEnd);
  EXPECT_FALSE(config.placement());
  EXPECT_EQ(config.runtime(), std::nullopt);
  EXPECT_EQ(config.compute_threads(8), 8);
  EXPECT_EQ(config.compute_threads_text({.usable_cores = 1}), "1 compute thread, for 1 usable core");
  EXPECT_EQ(config.compute_threads_text({.usable_cores = 2, .usable_processors = 4}),
            "2 compute threads, for 2 usable cores (4 hyper-threads)");
  EXPECT_EQ(config.compute_threads_text({.usable_cores = 1, .core_quota = 0.5}),
            "1 compute thread, for a quota of 0.5 cores");
  EXPECT_EQ(config.compute_threads_text({.usable_cores = 2, .slow_cores = 4, .slowed_by_heat = true}),
            "2 compute threads, for 2 usable cores and none of 4 slow cores (which have less than half the capacity), "
            "slowed down by heat "
            "at the moment");
  EXPECT_EQ(config.memory_limit(), std::nullopt);
  EXPECT_EQ(config.transport(), "tcp");
  EXPECT_EQ(config.backend(), std::nullopt);
  EXPECT_EQ(config.replicas(), 1);
  EXPECT_EQ(config.heartbeat_secs(), 5);
  // CL-6: a local place.
  EXPECT_EQ(config.task_type(), "worker");
  EXPECT_EQ(config.task_id(), 0);
  EXPECT_TRUE(config.is_chief());
  EXPECT_EQ(config.num_ps_replicas(), 0);
  EXPECT_EQ(config.num_worker_replicas(), 1);
  EXPECT_EQ(config.global_id(), 0);
  EXPECT_EQ(config.rpc_address(), "");
  EXPECT_TRUE(config.cluster().empty());
  EXPECT_EQ(config.service(), std::nullopt);
  EXPECT_EQ(config.trial(), std::nullopt);
  EXPECT_EQ(config.trainer_index(), 0);
  EXPECT_EQ(config.num_trainers(), 1);
}

TEST(RunConfig, TakesEveryField) {
  const RunConfig config(
      {.model_dir = "m",
       .save_checkpoints_steps = 7,
       .save_summary_steps = 8,
       .log_step_count_steps = 9,
       .keep_checkpoint_max = 10,
       .keep_checkpoint_every_n_hours = 0.5,
       .random_seed = std::numeric_limits<int64_t>::min(),
       .max_worker_delay_secs = 11,
       .ready_timeout_secs = 0.25,
       .save_model_description = false,
       .accept_changed_model = true,
       .allow_non_finite = true,
       .placement = [](const PlacementRequest& request) { return request.num_ps - 1; },
       .runtime = RuntimeOptions{
           .threads = 3, .transport = "shm", .backend = "reference", .replicas = 2, .heartbeat_secs = 0.25}});
  EXPECT_EQ(config.model_dir(), "m");
  EXPECT_EQ(cadence(config), "7/-");
  EXPECT_EQ(config.save_summary_steps(), 8);
  EXPECT_EQ(config.log_step_count_steps(), 9);
  EXPECT_EQ(config.keep_checkpoint_max(), 10);
  EXPECT_EQ(config.keep_checkpoint_every_n_hours(), 0.5);
  EXPECT_EQ(config.random_seed(), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(config.max_worker_delay_secs(), 11);
  EXPECT_EQ(config.ready_timeout_secs(), 0.25);
  EXPECT_FALSE(config.save_model_description());
  EXPECT_TRUE(config.accept_changed_model());
  EXPECT_TRUE(config.allow_non_finite());
  EXPECT_EQ(config.placement()({.variable = "w", .num_ps = 4}), 3);
  EXPECT_EQ(config.compute_threads(64), 3);
  EXPECT_EQ(config.compute_threads_text({.usable_cores = 64}), "3 compute threads, as this program set it");
  EXPECT_EQ(config.transport(), "shm");
  EXPECT_EQ(config.backend(), "reference");
  EXPECT_EQ(config.replicas(), 2);
  EXPECT_EQ(config.heartbeat_secs(), 0.25);
}

TEST(RunConfig, AcceptsTheEdgesOfEachRange) {
  EXPECT_EQ(cadence(RunConfig({.save_checkpoints_steps = 0})), "0/-");
  EXPECT_FALSE(RunConfig({.save_checkpoints_steps = 0}).saves_checkpoints());
  EXPECT_EQ(cadence(RunConfig({.save_checkpoints_secs = 0})), "-/0");
  EXPECT_FALSE(RunConfig({.save_checkpoints_secs = 0}).saves_checkpoints());
  EXPECT_TRUE(RunConfig({.save_checkpoints_secs = 0.001}).saves_checkpoints());
  EXPECT_EQ(RunConfig({.save_summary_steps = 0}).save_summary_steps(), 0);
  EXPECT_EQ(RunConfig({.save_summary_steps = std::nullopt}).save_summary_steps(), std::nullopt);
  EXPECT_EQ(RunConfig({.log_step_count_steps = 1}).log_step_count_steps(), 1);
  EXPECT_EQ(RunConfig({.log_step_count_steps = std::nullopt}).log_step_count_steps(), std::nullopt);
  EXPECT_EQ(RunConfig({.keep_checkpoint_max = 0}).keep_checkpoint_max(), 0);
  EXPECT_EQ(RunConfig({.keep_checkpoint_max = std::nullopt}).keep_checkpoint_max(), std::nullopt);
  EXPECT_EQ(RunConfig({.keep_checkpoint_every_n_hours = 1e-9}).keep_checkpoint_every_n_hours(), 1e-9);
  EXPECT_EQ(RunConfig({.max_worker_delay_secs = 0}).max_worker_delay_secs(), 0);
  EXPECT_EQ(RunConfig({.runtime = RuntimeOptions{.heartbeat_secs = 65}}).heartbeat_secs(), 65);
  EXPECT_EQ(RunConfig({.runtime = RuntimeOptions{.heartbeat_secs = 1e-6}}).heartbeat_secs(), 1e-6);
}

TEST(RunConfig, RefusesEachValueOutOfRangeByName) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  const struct {
    RunConfigOptions options;
    const char* field;
    const char* accepted;
  } cases[] = {
      {{.save_checkpoints_steps = -1}, "save_checkpoints_steps: -1", ">= 0"},
      {{.save_checkpoints_secs = -0.5}, "save_checkpoints_secs: -0.5", ">= 0"},
      {{.save_checkpoints_secs = nan}, "save_checkpoints_secs", ">= 0"},
      {{.save_checkpoints_secs = infinity}, "save_checkpoints_secs", ">= 0"},
      {{.save_summary_steps = -1}, "save_summary_steps: -1", ">= 0"},
      {{.log_step_count_steps = 0}, "log_step_count_steps: 0", "> 0"},
      {{.log_step_count_steps = -1}, "log_step_count_steps: -1", "> 0"},
      {{.keep_checkpoint_max = -1}, "keep_checkpoint_max: -1", ">= 0"},
      {{.keep_checkpoint_every_n_hours = 0}, "keep_checkpoint_every_n_hours: 0.0", "> 0"},
      {{.keep_checkpoint_every_n_hours = -1}, "keep_checkpoint_every_n_hours: -1.0", "> 0"},
      {{.max_worker_delay_secs = -1}, "max_worker_delay_secs: -1", ">= 0"},
      {{.ready_timeout_secs = 0}, "ready_timeout_secs: 0.0", "> 0"},
      {{.ready_timeout_secs = -3}, "ready_timeout_secs: -3.0", "> 0"},
      {{.ready_timeout_secs = nan}, "ready_timeout_secs", "> 0"},
      {{.runtime = RuntimeOptions{.threads = 0}}, "runtime.threads: 0", ">= 1"},
      {{.runtime = RuntimeOptions{.replicas = 0}}, "runtime.replicas: 0", ">= 1"},
      {{.runtime = RuntimeOptions{.heartbeat_secs = 0}}, "runtime.heartbeat_secs: 0.0", "> 0 and <= 65"},
      {{.runtime = RuntimeOptions{.heartbeat_secs = -1}}, "runtime.heartbeat_secs: -1.0", "> 0 and <= 65"},
      {{.runtime = RuntimeOptions{.heartbeat_secs = 65.5}}, "runtime.heartbeat_secs: 65.5", "> 0 and <= 65"},
      {{.runtime = RuntimeOptions{.heartbeat_secs = nan}}, "runtime.heartbeat_secs", "> 0 and <= 65"},
      {{.runtime = RuntimeOptions{.heartbeat_secs = infinity}}, "runtime.heartbeat_secs", "> 0 and <= 65"},
      {{.runtime = RuntimeOptions{.compute_dtype = DType::kFloat16}}, "runtime.compute_dtype: float16", "bfloat16"},
      {{.runtime = RuntimeOptions{.compression = {.gradients = transport::Encoding::kTopK, .fraction = 0}}},
       "runtime.compression: top-k:0",
       "parse_compression"},
      {{.runtime = RuntimeOptions{.compression = {.weights = transport::Encoding::kTopK}}},
       "runtime.compression",
       "parse_compression"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(construction_refusal(c.options), AllOf(HasSubstr(c.field), HasSubstr(c.accepted)));
  }
  EXPECT_THAT(construction_refusal({.model_dir = ""}), AllOf(HasSubstr("model_dir"), HasSubstr("empty string")));
  EXPECT_THAT(construction_refusal({.model_dir = "gs://bucket/m"}),
              AllOf(HasSubstr("model_dir: gs://bucket/m"), HasSubstr("mount")));
  EXPECT_THAT(construction_refusal({.model_dir = "~/m"}), AllOf(HasSubstr("model_dir: ~/m"), HasSubstr("$HOME/m")));
  EXPECT_THAT(construction_refusal({.runtime = RuntimeOptions{.transport = ""}}), HasSubstr("runtime.transport"));
  EXPECT_THAT(construction_refusal({.runtime = RuntimeOptions{.backend = ""}}), HasSubstr("runtime.backend"));
}

TEST(RunConfig, RefusesWrongValuesInReplaceToo) {
  const RunConfig config;
  const auto replacing = [&](RunConfigChanges changes) { return refusal([&] { (void)config.replace(changes); }); };
  EXPECT_THAT(replacing({.model_dir = ""}), HasSubstr("model_dir"));
  EXPECT_THAT(replacing({.save_checkpoints_steps = -1}), HasSubstr("save_checkpoints_steps"));
  EXPECT_THAT(replacing({.save_checkpoints_secs = -1}), HasSubstr("save_checkpoints_secs"));
  EXPECT_THAT(replacing({.save_summary_steps = -1}), HasSubstr("save_summary_steps"));
  EXPECT_THAT(replacing({.log_step_count_steps = 0}), HasSubstr("log_step_count_steps"));
  EXPECT_THAT(replacing({.keep_checkpoint_max = -1}), HasSubstr("keep_checkpoint_max"));
  EXPECT_THAT(replacing({.keep_checkpoint_every_n_hours = 0}), HasSubstr("keep_checkpoint_every_n_hours"));
  EXPECT_THAT(replacing({.max_worker_delay_secs = -1}), HasSubstr("max_worker_delay_secs"));
  EXPECT_THAT(replacing({.ready_timeout_secs = 0}), HasSubstr("ready_timeout_secs"));
  EXPECT_THAT(replacing({.ready_timeout_secs = std::nullopt}), HasSubstr("ready_timeout_secs: cannot be None"));
  EXPECT_THAT(replacing({.save_model_description = std::nullopt}), HasSubstr("save_model_description: cannot be None"));
  EXPECT_THAT(replacing({.allow_non_finite = std::nullopt}), HasSubstr("allow_non_finite: cannot be None"));
  EXPECT_THAT(replacing({.update_strategy = std::nullopt}), HasSubstr("update_strategy: cannot be None"));
  EXPECT_THAT(replacing({.runtime = RuntimeOptions{.threads = 0}}), HasSubstr("runtime.threads"));
  EXPECT_THAT(replacing({.runtime = RuntimeOptions{.heartbeat_secs = 0}}), HasSubstr("runtime.heartbeat_secs"));
}

TEST(RunConfig, RefusesUpdateStrategiesThatAreNotBuilt) {
  const auto kind = UpdateStrategyKind::kBoundedStaleness;
  EXPECT_THAT(construction_refusal({.update_strategy = {.kind = kind}}),
              AllOf(HasSubstr("update_strategy"), HasSubstr(std::string(to_string(kind)))));
  for (const auto any : {UpdateStrategyKind::kAsync, UpdateStrategyKind::kSync, kind}) {
    EXPECT_EQ(*parse_update_strategy(to_string(any)), any);
  }
  EXPECT_EQ(*parse_update_strategy("async"), UpdateStrategyKind::kAsync);
  const auto wrong = parse_update_strategy("Async");
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message(), HasSubstr("is none of async, sync"));
}

/// CONTRACT SY-1, SY-5 to SY-7.
TEST(RunConfig, BringsSynchronousUpdatesAndTrainersTogether) {
  const auto with = [](int32_t trainers, std::optional<int64_t> aggregated, std::optional<int64_t> total) {
    cluster::TaskConfig task;
    task.mode = cluster::TaskMode::kDistributed;
    task.type = "chief";
    task.num_workers = trainers;
    const UpdateStrategyOptions sync{
        .kind = UpdateStrategyKind::kSync, .replicas_to_aggregate = aggregated, .total_replicas = total};
    return RunConfig({.update_strategy = sync}, task);
  };
  for (const int64_t fits : {1, 2, 3, 6, 9}) EXPECT_EQ(with(3, fits, 3).update_strategy().replicas_to_aggregate, fits);
  EXPECT_EQ(with(3, std::nullopt, std::nullopt).update_strategy().kind, UpdateStrategyKind::kSync);
  for (const int64_t does_not : {4, 5, 7, 0, -1}) {
    EXPECT_THAT(refusal([&] { (void)with(3, does_not, {}); }), HasSubstr("replicas_to_aggregate")) << does_not;
  }
  for (const int64_t does_not : {2, 4}) {
    EXPECT_THAT(refusal([&] { (void)with(3, 3, does_not); }), HasSubstr("total_replicas")) << does_not;
  }
  EXPECT_THAT(construction_refusal({.update_strategy = {.replicas_to_aggregate = 2}}), HasSubstr("sync"));
  const RunConfig named = RunConfig().replace({{"update_strategy", "sync"}, {"replicas_to_aggregate", "4"}});
  EXPECT_EQ(named.update_strategy().replicas_to_aggregate, 4);
  EXPECT_EQ(named.replace({{"replicas_to_aggregate", "none"}}).update_strategy().replicas_to_aggregate, std::nullopt);
  EXPECT_EQ(named.update_strategy().kind, UpdateStrategyKind::kSync);
}

TEST(RunConfig, ResolvesTheCadenceByTheTable) {
  const auto none = std::nullopt;
  EXPECT_EQ(cadence(RunConfig()), "-/600");
  EXPECT_EQ(cadence(RunConfig({.save_checkpoints_steps = 5})), "5/-");
  EXPECT_EQ(cadence(RunConfig({.save_checkpoints_secs = 7})), "-/7");
  EXPECT_EQ(cadence(RunConfig({.save_checkpoints_steps = none})), "-/-");
  EXPECT_EQ(cadence(RunConfig({.save_checkpoints_secs = none})), "-/-");
  EXPECT_EQ(cadence(RunConfig({.save_checkpoints_steps = 5, .save_checkpoints_secs = none})), "5/-");
  EXPECT_EQ(cadence(RunConfig({.save_checkpoints_steps = none, .save_checkpoints_secs = 7})), "-/7");
  EXPECT_EQ(cadence(RunConfig({.save_checkpoints_steps = none, .save_checkpoints_secs = none})), "-/-");
  EXPECT_FALSE(RunConfig({.save_checkpoints_steps = none}).saves_checkpoints());
  EXPECT_THAT(construction_refusal({.save_checkpoints_steps = 5, .save_checkpoints_secs = 7}),
              HasSubstr("cannot both be set"));
  EXPECT_THAT(construction_refusal({.save_checkpoints_steps = 0, .save_checkpoints_secs = 0}),
              HasSubstr("cannot both be set"));
}

TEST(RunConfig, ReplacesTheCadenceByTheFiveRules) {
  const auto none = std::nullopt;
  const RunConfig steps({.save_checkpoints_steps = 5});
  const RunConfig secs({.save_checkpoints_secs = 7});
  EXPECT_EQ(cadence(secs.replace({.save_checkpoints_steps = 9})), "9/-");
  EXPECT_EQ(cadence(steps.replace({.save_checkpoints_secs = 9})), "-/9");
  EXPECT_EQ(cadence(steps.replace({.save_checkpoints_secs = none})), "5/-");
  EXPECT_EQ(cadence(steps.replace({.save_checkpoints_steps = none})), "-/-");
  EXPECT_EQ(cadence(secs.replace({.save_checkpoints_steps = none})), "-/7");
  EXPECT_EQ(cadence(secs.replace({.save_checkpoints_secs = none})), "-/-");
  EXPECT_EQ(cadence(steps.replace({.save_checkpoints_steps = none, .save_checkpoints_secs = none})), "-/-");
  EXPECT_EQ(cadence(steps.replace({.save_checkpoints_steps = none, .save_checkpoints_secs = 3})), "-/3");
  EXPECT_THAT(refusal([&] { (void)steps.replace({.save_checkpoints_steps = 1, .save_checkpoints_secs = 1}); }),
              HasSubstr("cannot both be set"));
  // Steps, then secs, then steps.
  EXPECT_EQ(cadence(RunConfig()
                        .replace({.save_checkpoints_steps = 1})
                        .replace({.save_checkpoints_secs = 2})
                        .replace({.save_checkpoints_steps = 3})),
            "3/-");
  EXPECT_EQ(cadence(RunConfig().replace({.save_checkpoints_steps = 1}).replace({.save_checkpoints_steps = none})), "-/-");
  EXPECT_EQ(cadence(RunConfig().replace({.save_summary_steps = 1})), "-/600");
}

TEST(RunConfig, ReplaceLeavesTheOriginalUntouched) {
  const RunConfig config({.model_dir = "a", .random_seed = 3});
  const RunConfig changed = config.replace({.model_dir = "b", .random_seed = std::nullopt, .ready_timeout_secs = 5});
  EXPECT_EQ(changed.model_dir(), "b");
  EXPECT_EQ(changed.random_seed(), std::nullopt);
  EXPECT_EQ(changed.ready_timeout_secs(), 5);
  EXPECT_EQ(changed.keep_checkpoint_max(), 5);
  EXPECT_EQ(config.model_dir(), "a");
  EXPECT_EQ(config.random_seed(), 3);
  EXPECT_EQ(config.ready_timeout_secs(), 7200);
  EXPECT_EQ(config.replace({.model_dir = std::nullopt}).model_dir(), std::nullopt);
}

TEST(RunConfig, ReplacesByName) {
  const RunConfig config = RunConfig().replace({{"model_dir", "m"},
                                                {"save_checkpoints_steps", "50"},
                                                {"save_summary_steps", "none"},
                                                {"log_step_count_steps", "7"},
                                                {"keep_checkpoint_max", "0"},
                                                {"keep_checkpoint_every_n_hours", "0.5"},
                                                {"random_seed", "-9223372036854775808"},
                                                {"max_worker_delay_secs", "60"},
                                                {"ready_timeout_secs", "1.5"},
                                                {"save_model_description", "false"},
                                                {"accept_changed_model", "true"},
                                                {"allow_non_finite", "true"},
                                                {"update_strategy", "async"},
                                                {"on_sigterm", "leave"},
                                                {"placement", "none"},
                                                {"runtime.threads", "2"},
                                                {"runtime.transport", "inproc"},
                                                {"runtime.backend", "reference"},
                                                {"runtime.compute_dtype", "bfloat16"},
                                                {"runtime.compression", "int8"},
                                                {"runtime.replicas", "3"},
                                                {"runtime.heartbeat_secs", "1.5"}});
  EXPECT_EQ(config.model_dir(), "m");
  EXPECT_EQ(cadence(config), "50/-");
  EXPECT_EQ(config.save_summary_steps(), std::nullopt);
  EXPECT_EQ(config.log_step_count_steps(), 7);
  EXPECT_EQ(config.keep_checkpoint_max(), 0);
  EXPECT_EQ(config.keep_checkpoint_every_n_hours(), 0.5);
  EXPECT_EQ(config.random_seed(), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(config.max_worker_delay_secs(), 60);
  EXPECT_EQ(config.ready_timeout_secs(), 1.5);
  EXPECT_FALSE(config.save_model_description());
  EXPECT_TRUE(config.accept_changed_model());
  EXPECT_EQ(config.on_sigterm(), OnSigterm::kLeave);
  EXPECT_EQ(config.replace({.on_sigterm = OnSigterm::kEnd}).on_sigterm(), OnSigterm::kEnd);
  EXPECT_TRUE(config.allow_non_finite());
  EXPECT_EQ(config.runtime(),
            (RuntimeOptions{.threads = 2,
                            .transport = "inproc",
                            .backend = "reference",
                            .compute_dtype = DType::kBFloat16,
                            .compression = {.gradients = transport::Encoding::kInt8, .weights = transport::Encoding::kInt8},
                            .replicas = 3,
                            .heartbeat_secs = 1.5}));
  // A change of one part of runtime leaves the other parts; None for runtime resets all.
  EXPECT_EQ(
      config.replace({{"runtime.threads", "none"}, {"runtime.compute_dtype", "float32"}, {"runtime.compression", "none"}})
          .runtime(),
      (RuntimeOptions{.transport = "inproc", .backend = "reference", .replicas = 3, .heartbeat_secs = 1.5}));
  EXPECT_EQ(config.replace({{"runtime", "none"}}).runtime(), std::nullopt);
  EXPECT_EQ(config.replace({{"runtime", "none"}, {"runtime.threads", "4"}}).runtime(), RuntimeOptions{.threads = 4});
  EXPECT_EQ(cadence(config.replace({{"save_checkpoints_secs", "2.5"}})), "-/2");
  EXPECT_EQ(cadence(config.replace({})), "50/-");
}

TEST(RunConfig, LinesGoToTheSinkThatIsSetOrReplaced) {
  std::vector<std::string> first, second;
  const auto into = [](std::vector<std::string>& lines) {
    return [&lines](const LogRecord& record) { lines.emplace_back(record.message); };
  };
  const RunConfig config(RunConfigOptions{.log_sink = into(first)});
  const auto say = [](const RunConfig& where) { make_call_environment(where)->log().info("hello"); };
  say(config);
  say(config.replace({.log_sink = into(second)}));
  EXPECT_THAT(first, ElementsAre("hello"));
  EXPECT_THAT(second, ElementsAre("hello"));
}

TEST(RunConfig, RefusesUnknownNamesListingTheAllowedOnes) {
  const RunConfig config;
  for (const char* name : {"task_type", "cluster", "", "Model_dir", "runtime.", "save_checkpoint_steps"}) {
    const std::string message = refusal([&] { (void)config.replace({{name, "1"}}); });
    EXPECT_THAT(message, HasSubstr("\"" + std::string(name) + "\""));
    for (const char* field :
         {"model_dir", "save_checkpoints_steps", "save_checkpoints_secs", "save_summary_steps", "log_step_count_steps",
          "keep_checkpoint_max", "keep_checkpoint_every_n_hours", "random_seed", "max_worker_delay_secs",
          "ready_timeout_secs", "save_model_description", "accept_changed_model", "allow_non_finite", "update_strategy",
          "on_sigterm", "placement", "runtime"}) {
      EXPECT_THAT(message, HasSubstr(field));
    }
  }
}

TEST(RunConfig, RefusesValuesByNameThatDoNotRead) {
  const RunConfig config;
  const std::pair<const char*, const char*> cases[] = {
      {"save_summary_steps", "ten"},
      {"save_summary_steps", ""},
      {"save_summary_steps", "1.5"},
      {"save_summary_steps", "1 "},
      {"save_summary_steps", "-1"},
      {"random_seed", "9223372036854775808"},
      {"ready_timeout_secs", "soon"},
      {"ready_timeout_secs", "none"},
      {"ready_timeout_secs", "nan"},
      {"ready_timeout_secs", "inf"},
      {"save_model_description", "maybe"},
      {"update_strategy", "eager"},
      {"on_sigterm", "stop"},
      {"on_sigterm", "none"},
      {"on_sigterm", ""},
      {"update_strategy", "none"},
      {"placement", "round_robin"},
      {"runtime", "fast"},
      {"replicas_to_aggregate", "0"},
      {"replicas_to_aggregate", "all"},
      {"total_replicas", "-1"},
      {"replicas_to_aggregate", "2"},
      {"runtime.lost_grace_secs", "0"},
      {"runtime.lost_grace_secs", "none"},
      {"runtime.threads", "0"},
      {"runtime.replicas", "none"},
      {"model_dir", ""},
      {"runtime.heartbeat_secs", "none"},
      {"runtime.heartbeat_secs", "0"},
      {"runtime.heartbeat_secs", "often"},
      {"accept_changed_model", "none"},
      {"accept_changed_model", "perhaps"},
      {"runtime.compute_dtype", "half"},
      {"runtime.compute_dtype", "int32"},
      {"runtime.compression", "zip"},
  };
  for (const auto& [name, value] : cases) {
    EXPECT_THAT(refusal([&] { (void)config.replace({{name, value}}); }), HasSubstr(name)) << value;
  }
  EXPECT_THAT(refusal([&] {
                (void)config.replace({{"save_checkpoints_steps", "1"}, {"save_checkpoints_secs", "1"}});
              }),
              HasSubstr("cannot both be set"));
}

TEST(RunConfig, UnitesModelDirFromBothPlaces) {
  const auto from = [](std::optional<std::string> option, const std::string& tf_config) {
    return RunConfig::from_environment({.model_dir = std::move(option)}, environment(tf_config)).model_dir();
  };
  EXPECT_EQ(from("a", ""), "a");
  EXPECT_EQ(from(std::nullopt, R"({"model_dir": "b"})"), "b");
  EXPECT_EQ(from("a", R"({"model_dir": "a"})"), "a");
  EXPECT_EQ(from(std::nullopt, "{}"), std::nullopt);
  EXPECT_THAT(refusal([&] { (void)from("a", R"({"model_dir": "b"})"); }), AllOf(HasSubstr("\"a\""), HasSubstr("\"b\"")));
  EXPECT_THAT(refusal([&] { (void)from("", R"({"model_dir": "b"})"); }), HasSubstr("RunConfig: model_dir: is the empty"));
  EXPECT_THAT(refusal([&] { (void)from("a", R"({"model_dir": ""})"); }), HasSubstr("TF_CONFIG: model_dir: is the empty"));
  // The same check works for a description that did not come through the parser.
  cluster::TaskConfig task;
  task.model_dir = "b";
  EXPECT_EQ(RunConfig({}, task).model_dir(), "b");
  EXPECT_THAT(refusal([&] { RunConfig config({.model_dir = "a"}, task); }), AllOf(HasSubstr("\"a\""), HasSubstr("\"b\"")));
}

constexpr const char* kWorker1 = R"({"cluster": {"chief": ["h0:1"], "worker": ["h1:1", "h2:1"], "ps": ["h3:1"]},
    "task": {"type": "worker", "index": 1, "trial": "4"}, "service": {"x": 1}, "model_dir": "m"})";

TEST(RunConfig, TakesItsPlaceFromTheEnvironment) {
  const RunConfig config = RunConfig::from_environment({}, environment(kWorker1));
  EXPECT_EQ(config.task_type(), "worker");
  EXPECT_EQ(config.task_id(), 1);
  EXPECT_FALSE(config.is_chief());
  EXPECT_EQ(config.num_ps_replicas(), 1);
  EXPECT_EQ(config.num_worker_replicas(), 3);
  EXPECT_EQ(config.global_id(), 2);
  EXPECT_EQ(config.rpc_address(), "h2:1");
  EXPECT_EQ(config.cluster().node_count(), 4);
  EXPECT_EQ(config.service(), R"({"x":1})");
  EXPECT_EQ(config.trial(), "4");
  EXPECT_EQ(config.trainer_index(), 2);
  EXPECT_EQ(config.num_trainers(), 3);
  // A changed copy keeps its place.
  EXPECT_EQ(config.replace({.random_seed = 1}).rpc_address(), "h2:1");
  EXPECT_THAT(refusal([] { (void)RunConfig::from_environment({}, environment("[]")); }), HasSubstr("not a JSON object"));
  EXPECT_THAT(
      refusal([] { (void)RunConfig::from_environment({}, environment(R"({"task": 1})")); }, ErrorKind::kTypeMismatch),
      HasSubstr("task"));
}

TEST(RunConfig, LogsTheResolvedTfConfigOnceWhereThereIsOne) {
  std::vector<std::string> lines;
  const auto construct = [&](const std::string& tf_config) {
    lines.clear();
    Logger log(
        [&](const LogRecord& record) {
          lines.push_back(std::string(to_string(record.level)) + " " + std::string(record.message));
        },
        "", [] { return WallTime(); });
    (void)RunConfig::from_environment({}, environment(tf_config), &log);
  };
  construct(kWorker1);
  EXPECT_THAT(lines, ElementsAre(AllOf(HasSubstr("TF_CONFIG"), HasSubstr("h2:1"),
                                       HasSubstr(std::string(to_string(LogLevel::kInfo))))));
  construct("");
  EXPECT_THAT(lines, ElementsAre());
  construct(R"({"cluster": {"chief": ["h:1"]}, "task": {"type": "chief", "index": 0}})");
  EXPECT_THAT(lines, ElementsAre(HasSubstr("TF_CONFIG"),
                                 AllOf(HasSubstr("no evaluation"), HasSubstr(std::string(to_string(LogLevel::kWarning))))));
}

TEST(RunConfig, SharesTheCoresOfAHost) {
  const auto tasks = cluster::in_process_tasks({.ps = 1, .workers = 1, .evaluator = true}, "test");
  const RunConfig chief({}, tasks[0]);
  EXPECT_EQ(chief.compute_threads(16), 4);
  EXPECT_EQ(chief.compute_threads(7), 1);
  EXPECT_EQ(chief.compute_threads(2), 1);
  EXPECT_EQ(chief.compute_threads_text({.usable_cores = 16}),
            "4 compute threads, for 16 usable cores and 4 tasks on this host");
  EXPECT_EQ(chief.transport(), "inproc");
  EXPECT_EQ(RunConfig({.runtime = RuntimeOptions{.threads = 5, .transport = "tcp"}}, tasks[0]).compute_threads(16), 5);
}

TEST(RunConfig, IsReadByManyThreadsAtOnce) {
  const RunConfig config = RunConfig::from_environment({.save_checkpoints_steps = 5}, environment(kWorker1));
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&config, &wrong, i] {
      for (int round = 0; round < 1000; ++round) {
        const RunConfig changed = config.replace({.model_dir = std::nullopt, .save_checkpoints_secs = i + 1});
        const RunConfig copy = config;  // NOLINT: copying is what is tested
        if (cadence(changed) != "-/" + std::to_string(i + 1) || cadence(copy) != "5/-" || config.rpc_address() != "h2:1")
          ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace shoal
