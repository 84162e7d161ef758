// SPDX-License-Identifier: Apache-2.0
#include "shoal/cluster/identity.h"

#include "plans.h"
#include "shoal/cluster/model_identity.h"

namespace shoal::cluster {
namespace {

using testing::HasSubstr;
using testing::Not;
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

using Tasks = std::vector<std::pair<std::string, std::string>>;

/// From about 190 workers on, the text is cut short.
Tasks workers(int count) {
  Tasks tasks;
  for (int i = 0; i < count; ++i) tasks.emplace_back("worker", "host:" + std::to_string(1000 + i));
  return tasks;
}

TEST(JobText, TellsHugeClustersApart) {
  Tasks tasks = workers(1000);
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

TEST(JobDifference, OfAListCutShortNamesOnlyWhatItShows) {
  const ClusterSpec many = cluster_of(workers(1000)), more = cluster_of(workers(1001)), few = cluster_of(workers(10));
  EXPECT_EQ(difference(many, more), "the clusters of worker 0 and ps 1 differ in one of their many tasks");
  EXPECT_EQ(difference(many, few), "the cluster of worker 0 has worker 10, that of ps 1 has not");
  EXPECT_EQ(difference(few, many), "the cluster of ps 1 has worker 10, that of worker 0 has not");
  Tasks tasks = workers(1000);
  tasks[3].second = "elsewhere:1";
  EXPECT_EQ(difference(many, cluster_of(tasks)), "worker 3 is host:1003 for worker 0 and elsewhere:1 for ps 1");
}

TEST(JobDifference, ATaskBeyondTheCutIsNotMissing) {
  const std::string whole = job_text(cluster_of(workers(180)));  // The longest text that is not cut.
  ASSERT_THAT(whole, Not(HasSubstr("and more")));
  const std::string cut = whole.substr(0, whole.find("worker 90")) + "and more: 0\n";
  EXPECT_EQ(job_difference(cut, "worker 0", whole, "ps 1"),
            "the clusters of worker 0 and ps 1 differ in one of their many tasks");
  EXPECT_EQ(job_difference(whole, "worker 0", cut, "ps 1"),
            "the clusters of worker 0 and ps 1 differ in one of their many tasks");
  EXPECT_EQ(job_difference("ps 0: host:1\n" + cut, "worker 0", whole, "ps 1"),
            "the cluster of worker 0 has ps 0, that of ps 1 has not");
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

TEST(MeaningText, SaysWhatDiffers) {
  Meaning meaning;
  meaning.add("features/wood", {.kind = "hash", .values = {{"buckets", "10"}}});
  meaning.add("head", {.kind = "binary_head"});
  const std::string text = meaning_text(meaning, {{"learning_rate", "0.1"}});
  EXPECT_THAT(text, StartsWith("feature \"wood\": hash (buckets 10) #"));
  EXPECT_THAT(text, HasSubstr("\nlearning_rate: 0.1\n"));
  const auto with = [&](const Meaning& other, const std::map<std::string, std::string>& rest) {
    return meaning_text_difference(meaning_text(other, rest), "worker 1", text, "the chief");
  };
  EXPECT_EQ(with(meaning, {{"learning_rate", "0.1"}}), "");
  EXPECT_EQ(with(meaning, {{"learning_rate", "0.2"}}), "learning_rate is 0.2 for worker 1 and 0.1 for the chief");
  Meaning other = meaning.updated_by([] {
    Meaning changed;
    changed.add("features/wood", {.kind = "hash", .values = {{"buckets", "11"}}});
    return changed;
  }());
  EXPECT_THAT(with(other, {{"learning_rate", "0.1"}}), StartsWith("feature \"wood\" is hash (buckets 11) #"));
  EXPECT_EQ(with(meaning, {}), "the chief has learning_rate, and worker 1 has not");
  EXPECT_EQ(with(meaning, {{"learning_rate", "0.1"}, {"moment", "1"}}), "worker 1 has moment, and the chief has not");
  EXPECT_EQ(meaning_text_difference("", "worker 1", text, "the chief"), "");  // An older version says nothing.
}

TEST(MeaningText, IsBoundedAndALineASubject) {
  Meaning meaning;
  for (int i = 0; i < 500; ++i) meaning.add("features/a\nb" + std::to_string(i), {.kind = "numeric"});
  const std::string text = meaning_text(meaning, {});
  EXPECT_LE(text.size(), kIdentityBytesMax);
  EXPECT_THAT(text, StartsWith("feature \"a\\nb0\": numeric #"));
  EXPECT_EQ(meaning_text_difference(text, "worker 0", meaning_text({}, {{"rate", "1"}}), "the chief"),
            "worker 0 has feature \"a\\nb0\", and the chief has not");
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
