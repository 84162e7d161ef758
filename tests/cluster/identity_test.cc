#include "shoal/cluster/identity.h"

#include "plans.h"

namespace shoal::cluster {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

ClusterSpec cluster_of(const std::vector<std::pair<std::string, std::string>>& tasks) {
  ClusterSpec cluster;
  std::map<std::string, int32_t> next;
  for (const auto& [role, address] : tasks) value_or_raise(cluster.add(role, next[role]++, address));
  return cluster;
}

std::string difference(const ClusterSpec& one, const ClusterSpec& other) {
  return job_difference(job_text(one), "worker 0", job_text(other), "ps 1");
}

TEST(JobText, NamesEveryTask) {
  const ClusterSpec cluster = cluster_of({{"chief", "a:1"}, {"ps", "b:1"}, {"ps", "[::1]:2"}});
  EXPECT_EQ(job_text(cluster), "chief 0: a:1\nps 0: b:1\nps 1: [::1]:2\n");
}

TEST(JobText, TellsHugeClustersApart) {
  std::vector<std::pair<std::string, std::string>> tasks;
  for (int i = 0; i < 1000; ++i) tasks.emplace_back("worker", "host:" + std::to_string(1000 + i));
  const ClusterSpec one = cluster_of(tasks);
  tasks.back().second = "elsewhere:1";
  const ClusterSpec other = cluster_of(tasks);
  EXPECT_LE(job_text(one).size(), kIdentityBytesMax);
  EXPECT_NE(job_text(one), job_text(other));
  EXPECT_EQ(difference(one, other), "the clusters of worker 0 and ps 1 differ in one of their many tasks");
}

TEST(JobDifference, SaysWhichTaskDiffers) {
  const ClusterSpec cluster = cluster_of({{"chief", "a:1"}, {"ps", "b:1"}, {"ps", "c:1"}});
  EXPECT_EQ(difference(cluster, cluster_of({{"chief", "a:1"}, {"ps", "b:1"}, {"ps", "c:2"}})),
            "ps 1 is c:1 for worker 0 and c:2 for ps 1");
  EXPECT_EQ(difference(cluster, cluster_of({{"chief", "a:1"}, {"ps", "b:1"}})),
            "the cluster of worker 0 has ps 1, that of ps 1 has not");
  EXPECT_EQ(difference(cluster, cluster_of({{"chief", "a:1"}, {"ps", "b:1"}, {"ps", "c:1"}, {"worker", "d:1"}})),
            "the cluster of ps 1 has worker 0, that of worker 0 has not");
  EXPECT_THAT(job_difference("no such text", "worker 0", job_text(cluster), "ps 1"), HasSubstr("worker 0"));
}

TEST(VariablesDifference, SaysWhichVariableDiffers) {
  const ShardSpec held = plan_of({variable("kernel", {4, 3}), variable("bias", {3})}, 1).shards[0];
  const auto with = [&](const std::vector<VariableSpec>& variables) {
    return variables_difference(variables_text(variables), "worker 0", held, "ps 0");
  };
  EXPECT_EQ(with({variable("bias", {3}), variable("kernel", {4, 3}), variable("elsewhere", {9})}), "");
  EXPECT_EQ(with({variable("kernel", {4, 5}), variable("bias", {3})}),
            "variable kernel is float32 [4, 5] in the model of worker 0 and float32 [4, 3] on ps 0");
  EXPECT_EQ(with({variable("kernel", {4, 3})}), "the model of worker 0 has no variable bias, which is on ps 0");
}

TEST(VariablesDifference, SaysNothingOfWhatALongListLeavesOut) {
  std::vector<VariableSpec> variables{variable("z", {2})};
  const ShardSpec held = plan_of(variables, 1).shards[0];
  for (int i = 0; i < 500; ++i) variables.push_back(variable("layer" + std::to_string(i), {1}));
  const std::string text = variables_text(variables);
  EXPECT_LE(text.size(), kIdentityBytesMax);
  EXPECT_THAT(text, StartsWith("layer0: float32 [1]\n"));
  EXPECT_EQ(variables_difference(text, "worker 0", held, "ps 0"), "");
}

}  // namespace
}  // namespace shoal::cluster
