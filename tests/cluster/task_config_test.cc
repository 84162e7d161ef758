// SPDX-License-Identifier: Apache-2.0
#include "shoal/cluster/tf_config.h"

#include <set>

#include "tf_config_texts.h"

namespace shoal::cluster {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

TEST(InProcessTasks, HoldTheSameAsTheirTfConfigWould) {
  const auto tasks = in_process_tasks({.ps = 2, .workers = 2, .evaluator = true}, "job-7");
  ASSERT_EQ(tasks.size(), 6u);
  std::vector<std::string> names;
  for (const TaskConfig& task : tasks) {
    names.push_back(task.name());
    EXPECT_TRUE(task.in_process);
    EXPECT_EQ(task.tasks_on_host, 6);
    EXPECT_EQ(task.source, ConfigSource::kOption);
    EXPECT_TRUE(check_runnable(task));
    const TaskConfig read = parsed(to_tf_config(task));
    EXPECT_EQ(read.job, task.job);
    EXPECT_EQ(read.global_id, task.global_id);
    EXPECT_EQ(read.rpc_address, task.rpc_address);
    EXPECT_EQ(read.num_workers, task.num_workers);
    EXPECT_EQ(read.is_chief, task.is_chief);
  }
  EXPECT_THAT(names, ElementsAre("chief 0", "ps 0", "ps 1", "worker 0", "worker 1", "evaluator 0"));
  EXPECT_EQ(tasks[4].rpc_address, "worker-1.job-7:1");
  EXPECT_NE(in_process_tasks({.ps = 1}, "a")[0].rpc_address, in_process_tasks({.ps = 1}, "b")[0].rpc_address);
  EXPECT_THAT(in_process_tasks({}, "a").at(0).warnings, Not(IsEmpty()));  // Nobody evaluates.
  EXPECT_THAT(in_process_tasks({.evaluator = true}, "a").at(0).warnings, IsEmpty());
}

TEST(InProcessTasks, MayHaveAMasterInTheChiefsPlace) {
  const auto tasks = in_process_tasks({.ps = 1, .workers = 1, .master = true}, "job-7");
  ASSERT_EQ(tasks.size(), 3u);
  EXPECT_EQ(tasks[0].name(), "master 0");
  EXPECT_TRUE(tasks[0].is_chief);
  EXPECT_EQ(tasks[0].rpc_address, "master-0.job-7:1");
  EXPECT_EQ(tasks[2].trainer_index(), 1);
  EXPECT_EQ(tasks[2].num_workers, 2);
  EXPECT_THAT(in_process_tasks({.master = true}, "a").at(0).warnings, IsEmpty());  // A master evaluates itself.
}

/// If each task had a description of its own, time and memory would grow with the square of the number of tasks.
TEST(InProcessTasks, ShareOneDescriptionOfTheirCluster) {
  const auto tasks = in_process_tasks({.ps = 2000, .workers = 2000, .evaluator = true}, "job-7");
  ASSERT_EQ(tasks.size(), 4002u);
  std::set<const ClusterSpec::Roles*> descriptions;
  for (const TaskConfig& task : tasks) {
    descriptions.insert(&task.job.roles());
    if (task.mode == TaskMode::kDistributed) descriptions.insert(&task.cluster.roles());
  }
  EXPECT_THAT(descriptions, SizeIs(1));
  EXPECT_EQ(tasks.back().type, "evaluator");
  EXPECT_TRUE(tasks.back().cluster.empty());
  EXPECT_EQ(tasks[4000].rpc_address, "worker-1999.job-7:1");
  EXPECT_EQ(tasks[4000].global_id, 2000);
  EXPECT_EQ(tasks[4000].cluster.node_count(), 4001);
  EXPECT_EQ(tasks[4000].tasks_on_host, 4002);
}

TEST(TaskConfig, HasOneDescriptionOfItsCluster) {
  const TaskConfig task = parsed(with_chief(R"("worker": ["h:2"], "ps": ["h:3"])"));
  EXPECT_EQ(&task.cluster.roles(), &task.job.roles());
}

TEST(TaskConfig, CountsTheTasksThatShareItsHost) {
  const std::string cluster = R"("worker": ["h:2", "g:1"], "ps": ["h:3"])";
  EXPECT_EQ(parsed(with_chief(cluster)).tasks_on_host, 3);
  EXPECT_EQ(parsed(with_chief(cluster, R"({"type": "worker", "index": 1})")).tasks_on_host, 1);
  EXPECT_EQ(parsed(with_chief(cluster, R"({"type": "evaluator", "index": 0})")).tasks_on_host, 1);
  EXPECT_EQ(
      parsed(R"({"cluster": {"chief": ["127.0.0.1:1"], "ps": ["127.0.0.1:2"]}, "task": {"type": "evaluator", "index": 0}})")
          .tasks_on_host,
      3);
  EXPECT_EQ(parsed("").tasks_on_host, 1);
}

TEST(TaskConfig, TellsWhetherShoalLaunchHasStartedTheTask) {
  const auto launched = [](const std::string& report_file) {
    const auto variables = [&report_file](std::string_view name) -> std::optional<std::string> {
      if (name == "TF_CONFIG") return R"({"cluster": {"chief": ["h:1"]}, "task": {"type": "evaluator", "index": 0}})";
      if (name == "SHOAL_SOURCE") return "TF_CONFIG";
      return name == "SHOAL_REPORT_FILE" ? std::optional(report_file) : std::nullopt;
    };
    const Result<TaskConfig> task = task_from_environment(variables);
    return task && task->launched;
  };
  EXPECT_TRUE(launched("/tmp/report"));
  EXPECT_FALSE(launched(""));
}

TEST(ResolveTask, ChecksLikeTheParser) {
  ClusterSpec cluster;
  ASSERT_TRUE(cluster.add("chief", 0, "h:1"));
  ASSERT_TRUE(cluster.add("ps", 0, "h:2"));
  EXPECT_EQ(resolve_task(cluster, "ps", 0)->rpc_address, "h:2");
  EXPECT_FALSE(resolve_task(cluster, "", 0));
  EXPECT_FALSE(resolve_task(cluster, "ps", std::nullopt));
  EXPECT_FALSE(resolve_task(cluster, "ps", -1));
  EXPECT_FALSE(resolve_task(cluster, "ps", 1));
  EXPECT_FALSE(resolve_task(ClusterSpec(), "ps", 0));
}

}  // namespace
}  // namespace shoal::cluster
