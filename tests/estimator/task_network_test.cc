// SPDX-License-Identifier: Apache-2.0
#include "task/task_network.h"

#include <gtest/gtest.h>

namespace shoal {
namespace {

TEST(TaskNetwork, EveryConnectionOfTheTaskHasItsHeartbeats) {
  const auto interval = [](std::optional<RuntimeOptions> runtime) {
    const RunConfig config = RunConfig({.runtime = runtime}).with_host(std::make_shared<TaskHost>());
    return value_or_raise(link_options(config)).heartbeat_interval;
  };
  EXPECT_EQ(interval({}), std::chrono::seconds(5));
  EXPECT_EQ(interval(RuntimeOptions{.threads = 1}), std::chrono::seconds(5));
  EXPECT_EQ(interval(RuntimeOptions{.heartbeat_secs = 0.25}), std::chrono::milliseconds(250));
}

/// Trainers wait for synchronous updates and compute beside asynchronous ones.
TEST(TaskNetwork, AServerHasTheCoresOfAHostWhereItsTrainersWait) {
  const auto threads = [](UpdateStrategyKind kind, int32_t servers, std::optional<int32_t> of_trainers = {}) {
    const auto tasks = cluster::in_process_tasks({.ps = servers, .workers = 2}, "test");
    const RunConfig config({.update_strategy = {.kind = kind}, .runtime = RuntimeOptions{.threads = of_trainers}},
                           tasks[0]);
    return update_threads(config, 16);
  };
  EXPECT_EQ(threads(UpdateStrategyKind::kAsync, 1), 4);
  EXPECT_EQ(threads(UpdateStrategyKind::kAsync, 1, 3), 3);
  EXPECT_EQ(threads(UpdateStrategyKind::kSync, 1), 16);
  EXPECT_EQ(threads(UpdateStrategyKind::kSync, 3), 5);
  EXPECT_EQ(threads(UpdateStrategyKind::kSync, 1, 3), 16);
  EXPECT_EQ(threads(UpdateStrategyKind::kSync, 20), 1);
}

/// Three servers on three machines, each with a trainer beside it. A server does not take a third of its machine, although
/// nothing tells which of the two tasks there is the server.
TEST(TaskNetwork, AServerSharesNoCoresWithThoseOfOtherHosts) {
  const char* const cluster = R"({"cluster": {"ps": ["a:1", "b:1", "c:1"], "chief": ["a:2"], "worker": ["b:2", "c:2"]},
                                  "task": {"type": "ps", "index": 1}})";
  const auto getenv = [cluster](std::string_view name) {
    return name == "TF_CONFIG" ? std::optional(std::string(cluster)) : std::nullopt;
  };
  const auto sync = RunConfig::from_environment({.update_strategy = {.kind = UpdateStrategyKind::kSync}}, getenv);
  EXPECT_GE(update_threads(sync, 16), 8);
}

}  // namespace
}  // namespace shoal
