// SPDX-License-Identifier: Apache-2.0
#include "shoal/cluster/tf_config.h"

#include "tf_config_texts.h"

namespace shoal::cluster {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// CL-2, CL-4, CL-5, CL-7: the derived properties.

TEST(TfConfig, DerivesEveryPropertyOfEveryRoleOfTheExample) {
  const struct {
    const char* type;
    int index;
    bool is_chief;
    int global_id;
    const char* rpc_address;
    int trainer_index;
  } rows[] = {
      {"chief", 0, true, 0, "host0:2222", 0},   {"worker", 0, false, 1, "host1:2222", 1},
      {"worker", 1, false, 2, "host2:2222", 2}, {"worker", 2, false, 3, "host3:2222", 3},
      {"ps", 0, false, 4, "host4:2222", 0},     {"ps", 1, false, 5, "host5:2222", 0},
  };
  for (const auto& row : rows) {
    const TaskConfig task =
        parsed(example(R"({"type": ")" + std::string(row.type) + R"(", "index": )" + std::to_string(row.index) + "}"));
    EXPECT_EQ(task.source, ConfigSource::kTfConfig);
    EXPECT_EQ(task.mode, TaskMode::kDistributed);
    EXPECT_EQ(task.type, row.type);
    EXPECT_EQ(task.index, row.index);
    EXPECT_EQ(task.is_chief, row.is_chief);
    EXPECT_EQ(task.num_ps, 2);
    EXPECT_EQ(task.num_workers, 4);
    EXPECT_EQ(task.global_id, row.global_id);
    EXPECT_EQ(task.rpc_address, row.rpc_address);
    EXPECT_EQ(task.cluster.count("worker"), 3);
    EXPECT_EQ(*task.cluster.address("ps", 1), "host5:2222");
    EXPECT_EQ(task.trainer_index(), row.trainer_index);
    EXPECT_EQ(task.num_trainers(), 4);
    EXPECT_EQ(task.name(), std::string(row.type) + " " + std::to_string(row.index));
    EXPECT_THAT(task.warnings, IsEmpty());
  }
}

TEST(TfConfig, TheEvaluatorIsNoMember) {
  const TaskConfig task = parsed(example(R"({"type": "evaluator", "index": 12})"));
  EXPECT_EQ(task.mode, TaskMode::kEvaluator);
  EXPECT_EQ(task.index, 12);
  EXPECT_TRUE(task.cluster.empty());
  EXPECT_EQ(task.job.node_count(), 6);
  EXPECT_EQ(task.num_ps, 0);
  EXPECT_EQ(task.num_workers, 0);
  EXPECT_FALSE(task.is_chief);
  EXPECT_EQ(task.global_id, std::nullopt);
  EXPECT_EQ(task.rpc_address, "");
  EXPECT_EQ(task.trainer_index(), 0);
  EXPECT_EQ(task.num_trainers(), 1);
}

TEST(TfConfig, AMasterTakesTheChiefsPlace) {
  const std::string cluster = R"({"cluster": {"master": ["m:1"], "worker": ["w:1"], "ps": ["p:1"]}, "task": )";
  const TaskConfig master = parsed(cluster + R"({"type": "master", "index": 0}})");
  EXPECT_TRUE(master.is_chief);
  EXPECT_EQ(master.global_id, 0);
  EXPECT_EQ(master.num_workers, 2);
  EXPECT_EQ(master.trainer_index(), 0);
  const TaskConfig worker = parsed(cluster + R"({"type": "worker", "index": 0}})");
  EXPECT_FALSE(worker.is_chief);
  EXPECT_EQ(worker.global_id, 1);
  expect_invalid(cluster + R"({"type": "chief", "index": 0}})", {"\"chief\"", "master, ps, worker"});
}

TEST(TfConfig, ExtraRolesParseAndGetGlobalIds) {
  const std::string cluster = R"("worker": ["w:1"], "ps": ["p:1"], "other_type": ["o:1", "o:2"])";
  const TaskConfig other = parsed(with_chief(cluster, R"({"type": "other_type", "index": 1})"));
  EXPECT_EQ(other.global_id, 2);
  EXPECT_EQ(other.num_workers, 2);
  EXPECT_EQ(other.num_ps, 1);
  EXPECT_FALSE(other.is_chief);
  EXPECT_EQ(other.rpc_address, "o:2");
  EXPECT_EQ(parsed(with_chief(cluster, R"({"type": "worker", "index": 0})")).global_id, 3);
  EXPECT_EQ(parsed(with_chief(cluster, R"({"type": "ps", "index": 0})")).global_id, 4);
}

TEST(TfConfig, AClusterOfOneNodeHasNoAddressAndAWarning) {
  for (const char* more : {"", R"(, "worker": [], "ps": [])"}) {
    const TaskConfig task =
        parsed(std::string(R"({"cluster": {"chief": ["h:1"])") + more + R"(}, "task": {"type": "chief", "index": 0}})");
    EXPECT_EQ(task.mode, TaskMode::kDistributed);
    EXPECT_EQ(task.rpc_address, "");
    EXPECT_EQ(task.num_workers, 1);
    EXPECT_THAT(task.warnings, ElementsAre(HasSubstr("no evaluation")));
  }
  const TaskConfig master = parsed(R"({"cluster": {"master": ["h:1"]}, "task": {"type": "master", "index": 0}})");
  EXPECT_EQ(master.rpc_address, "");
  EXPECT_THAT(master.warnings, IsEmpty());  // The master evaluates itself.
}

// CL-6.

TEST(TfConfig, LocalTasksMaySayWorkerZeroOrNothing) {
  for (const char* task : {"{}", R"({"type": "worker"})", R"({"index": 0})", R"({"type": "worker", "index": 0})",
                           R"({"type": null, "index": null})", R"({"type": "", "index": "0"})"}) {
    expect_local(parsed(std::string(R"({"task": )") + task + "}"));
  }
  expect_invalid(R"({"task": {"type": "evaluator", "index": 0}})", {"evaluator", "cluster"});
  expect_invalid(R"({"task": {"type": "chief"}})", {"\"chief\"", "cluster"});
  expect_invalid(R"({"task": {"type": "local"}})", {"leave `cluster` and `task` out"});
  expect_invalid(R"({"task": {"type": "worker", "index": 1}})", {"task.index", "1"});
  expect_mismatch(R"({"task": {"type": 1}})", {"task.type"});
  expect_mismatch(R"({"task": {"index": "x"}})", {"task.index"});
}

// CL-8.

TEST(TfConfig, ReadsWholeNumbersHoweverWritten) {
  for (const char* index : {"1", "1.0", "1e0", "10e-1", "\"1\"", "\"01\""})
    EXPECT_EQ(parsed(with_index(index)).index, 1) << index;
  for (const char* index : {"0", "-0", "-0.0", "\"0\"", "\"-0\""}) EXPECT_EQ(parsed(with_index(index)).index, 0) << index;
  for (const char* index :
       {"1.5", "true", "false", "\"\"", "\"x\"", "\"1.0\"", "\" 1\"", "\"1 \"", "\"+1\"", "\"1e0\"", "[]", "[1]", "{}"}) {
    expect_mismatch(with_index(index), {"task.index"});
  }
  for (const char* index : {"2147483648", "99999999999999999999", "18446744073709551615", "1e300", "\"2147483648\"",
                            "\"99999999999999999999\""}) {
    expect_invalid(with_index(index), {"task.index", "int32"});
  }
  for (const char* index : {"-2147483649", "-99999999999999999999", "-1e300", "\"-99999999999999999999\""}) {
    expect_invalid(with_index(index), {"task.index", "negative"});
  }
}

// CL-9, CL-12.

TEST(TfConfig, ReadsTheSparseForm) {
  const std::string cluster = R"("worker": {"10": "w:10", "9": "w:9", "1": "w:1"}, "ps": {"0": "p:0"})";
  const TaskConfig task = parsed(with_chief(cluster, R"({"type": "worker", "index": 9})"));
  EXPECT_EQ(task.num_workers, 4);
  EXPECT_EQ(task.rpc_address, "w:9");
  EXPECT_EQ(task.global_id, 10);
  EXPECT_EQ(task.trainer_index(), 2);  // The worker is the second one that is listed.
  EXPECT_EQ(parsed(with_chief(cluster, R"({"type": "worker", "index": 1})")).trainer_index(), 1);
  EXPECT_EQ(parsed(with_chief(cluster, R"({"type": "worker", "index": 10})")).trainer_index(), 3);
  EXPECT_EQ(parsed(with_chief(cluster, R"({"type": "ps", "index": 0})")).global_id, 12);
  expect_invalid(with_chief(cluster, R"({"type": "worker", "index": 0})"), {"\"worker\"", "0", "3 addresses"});
  expect_invalid(with_chief(cluster, R"({"type": "worker", "index": 2})"), {"not listed"});
}

/// TF_CONFIG as the controller of TFJob (Kubeflow's training-operator) writes it with dynamic workers: the task itself,
/// and only some of its peers.
TEST(TfConfig, OfATFJobWithDynamicWorkersIsRefused) {
  const std::string worker = R"({"sparseCluster":{"worker":{"0":"train-worker-0.default.svc:2222"},)"
                             R"("ps":["train-ps-0.default.svc:2222"]},"task":{"type":"worker","index":0}})";
  const std::string chief = R"({"sparseCluster":{"worker":{},"ps":[]},"task":{"type":"chief","index":0}})";
  for (const std::string& text : {worker, chief}) expect_invalid(text, {"sparseCluster", "enableDynamicWorker"});
  const TaskConfig both = parsed(
      R"({"cluster": {"chief": ["c:1"], "worker": ["w:1"]}, "sparseCluster": {}, "task": {"type": "chief", "index": 0}})");
  EXPECT_EQ(both.num_workers, 2) << "a cluster counts";
}

/// The same controller without dynamic workers.
TEST(TfConfig, OfATFJob) {
  const TaskConfig task =
      parsed(R"({"cluster":{"chief":["train-chief-0.default.svc:2222"],)"
             R"("ps":["train-ps-0.default.svc:2222"],"worker":["train-worker-0.default.svc:2222",)"
             R"("train-worker-1.default.svc:2222"]},"task":{"type":"worker","index":1},"environment":"cloud"})");
  EXPECT_EQ(task.trainer_index(), 2);
  EXPECT_EQ(task.rpc_address, "train-worker-1.default.svc:2222");
}

TEST(TfConfig, TheLastOfTwoEqualKeysCounts) {
  EXPECT_EQ(parsed(R"({"model_dir": "a", "model_dir": "b"})").model_dir, "b");
  const TaskConfig task = parsed(R"({"cluster": {"worker": 1}, "task": 5, "cluster": {"chief": ["x"], "chief": ["h:1"],
      "worker": {"0": "a:1", "0": "b:1"}}, "task": {"type": "ps", "type": "worker", "index": 4, "index": 0}})");
  EXPECT_EQ(task.type, "worker");
  EXPECT_EQ(task.rpc_address, "b:1");
}

TEST(TfConfig, KeepsNonAsciiNamesByteForByte) {
  const std::string role = "\xC3\xA9quipe\xF0\x9F\x90\x9F";
  const TaskConfig task =
      parsed(with_chief("\"" + role + "\": [\"h\xC3\xB6st:1\"]", R"({"index": 0, "type": ")" + role + "\"}"));
  EXPECT_EQ(task.type, role);
  EXPECT_EQ(task.rpc_address, "h\xC3\xB6st:1");
  EXPECT_EQ(parsed(R"({"model_dir": "\u00e9\ud83d\udc1f"})").model_dir, "\xC3\xA9\xF0\x9F\x90\x9F");
}

TEST(TfConfig, IgnoresWhatItDoesNotKnow) {
  const TaskConfig task = parsed(R"({"environment": "cloud", "job": {"cluster": 1, "task": [{"type": []}]}, "": null,
      "task": {"cloud": {"index": 9}, "trial": "17"}, "Cluster": {"chief": 1}})");
  expect_local(task);
  EXPECT_EQ(task.trial, "17");
  expect_mismatch(R"({"task": {"trial": 17}})", {"task.trial"});
}

// CL-11, CL-14: the tasks that can run.

TEST(TfConfig, SaysWhatTrainAndEvaluateWillRefuse) {
  const auto runnable = [](const std::string& text) { return check_runnable(parsed(text)); };
  EXPECT_TRUE(runnable(""));
  for (const char* type : {"chief", "worker", "ps", "evaluator"}) {
    EXPECT_TRUE(runnable(example(R"({"index": 0, "type": ")" + std::string(type) + "\"}"))) << type;
  }
  EXPECT_TRUE(runnable(R"({"cluster": {"master": ["h:1"]}, "task": {"type": "master", "index": 0}})"));

  const auto message = [&](const std::string& text) {
    const Result<void> result = runnable(text);
    EXPECT_FALSE(result);
    return result ? std::string() : result.error().message();
  };
  EXPECT_THAT(message(example(R"({"type": "evaluator", "index": 1})")), HasSubstr("only one evaluator"));
  EXPECT_THAT(message(with_chief(R"("helper": ["x:1"])", R"({"type": "helper", "index": 0})")),
              HasSubstr("chief, worker, ps, evaluator, master"));
  EXPECT_THAT(message(with_chief(R"("local": ["x:1"])", R"({"type": "local", "index": 0})")),
              HasSubstr("leave `cluster` and `task` out"));
  EXPECT_THAT(message(with_chief(R"("worker": ["x:1"])")), HasSubstr("no ps"));
  EXPECT_THAT(message(with_chief(R"("worker": ["x:1"])", R"({"type": "worker", "index": 0})")), HasSubstr("no ps"));
}

// to_tf_config(), and descriptions from other sources.

TEST(TfConfig, WritesWhatItReads) {
  for (const std::string& text :
       {with_index("1"), example(R"({"type": "evaluator", "index": 0, "trial": "9"})"), std::string("{}"),
        std::string(R"({"model_dir": "m", "service": {"a": [1]}, "task": {"trial": "x"}})"),
        with_chief(R"("worker": {"3": "w:3"})", R"({"type": "worker", "index": 3})")}) {
    const TaskConfig task = parsed(text);
    const TaskConfig again = parsed(to_tf_config(task));
    EXPECT_EQ(again.mode, task.mode);
    EXPECT_EQ(again.type, task.type);
    EXPECT_EQ(again.index, task.index);
    EXPECT_EQ(again.job, task.job);
    EXPECT_EQ(again.cluster, task.cluster);
    EXPECT_EQ(again.global_id, task.global_id);
    EXPECT_EQ(again.model_dir, task.model_dir);
    EXPECT_EQ(again.service, task.service);
    EXPECT_EQ(again.trial, task.trial);
  }
}

TEST(TfConfig, ComesFromTheEnvironmentItIsGiven) {
  const auto none = [](std::string_view) { return std::optional<std::string>(); };
  const auto task = task_from_environment(none);
  ASSERT_TRUE(task);
  EXPECT_EQ(task->source, ConfigSource::kLocal);
  const auto some = [](std::string_view name) {
    return name == "TF_CONFIG" ? std::optional(with_index("2")) : std::nullopt;
  };
  EXPECT_EQ(task_from_environment(some)->rpc_address, "host3:2222");
}

}  // namespace
}  // namespace shoal::cluster
