// SPDX-License-Identifier: Apache-2.0
// shoal config: CONTRACT IN-1 and the sources of LA-3.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "fixture.h"
#include "shoal/base/process_info.h"
#include "shoal/cluster/named_size.h"

namespace shoal::cli::testing {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Config : public ::testing::Test {
 protected:
  void SetUp() override { TearDown(); }
  void TearDown() override {
    for (const char* name : {"TF_CONFIG",
                             "SHOAL_RANK",
                             "SHOAL_WORLD_SIZE",
                             "SHOAL_RENDEZVOUS",
                             "SHOAL_PS",
                             "SHOAL_RUN",
                             "SHOAL_EVALUATOR",
                             "SHOAL_SOURCE",
                             "SHOAL_HOST",
                             "SHOAL_TRIAL",
                             "PMI_RANK",
                             "PMI_SIZE",
                             "RANK",
                             "WORLD_SIZE",
                             "OMPI_COMM_WORLD_RANK",
                             "OMPI_COMM_WORLD_SIZE",
                             "JAX_PROCESS_ID",
                             "JAX_NUM_PROCESSES",
                             "PET_NNODES",
                             "PET_NODE_RANK",
                             "DMLC_TASK_ID",
                             "DMLC_NUM_WORKER"}) {
      unsetenv(name);
    }
    for (const auto& [name, value] : slurm_step()) unsetenv(name);
  }
  static std::vector<std::pair<const char*, const char*>> slurm_step() {
    return {{"SLURM_JOB_ID", "77"},
            {"SLURM_STEP_ID", "0"},
            {"SLURM_PROCID", "3"},
            {"SLURM_LOCALID", "1"},
            {"SLURM_NODEID", "1"},
            {"SLURM_STEP_NUM_TASKS", "4"},
            {"SLURM_STEP_NODELIST", "n[1-2]"},
            {"SLURM_STEP_TASKS_PER_NODE", "2(x2)"}};
  }

  static Output run(std::vector<const char*> arguments = {}) {
    arguments.insert(arguments.begin(), {"shoal", "config"});
    return run_program(arguments);
  }
  static Output run_with(const char* tf_config, std::vector<const char*> arguments = {}) {
    setenv("TF_CONFIG", tf_config, 1);
    return run(std::move(arguments));
  }
};

TEST_F(Config, PrintsLocalModeWhereThereIsNothing) {
  const Output outcome = run();
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.err, IsEmpty());
  EXPECT_THAT(outcome.lines(),
              ElementsAre(json::parse(R"({"source": "local", "mode": "local", "task_type": "worker", "task_id": 0,
      "is_chief": true, "num_ps": 0, "num_workers": 1, "global_id": 0, "rpc_address": "", "rank": null, "size": null,
      "rendezvous": [], "model_dir": null, "service": null, "trial": null, "warnings": []})")));
}

TEST_F(Config, PrintsTheResolvedTask) {
  const Output outcome =
      run_with(R"({"cluster": {"chief": ["a:1"], "worker": ["b:1", "c:1"], "ps": ["d:1"]}, "model_dir": "m",
      "task": {"type": "worker", "index": 1, "trial": "7"}, "service": {"x": [1, 2]}})");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.lines(),
              ElementsAre(json::parse(R"({"source": "TF_CONFIG", "mode": "distributed", "task_type": "worker",
      "task_id": 1, "is_chief": false, "num_ps": 1, "num_workers": 3, "global_id": 2, "rpc_address": "c:1", "rank": null,
      "size": null, "rendezvous": [], "model_dir": "m", "service": {"x": [1, 2]}, "trial": "7", "warnings": []})")));
}

TEST_F(Config, PrintsTheTrialThatTheEnvironmentNames) {
  setenv("SHOAL_TRIAL", " 12 ", 1);
  EXPECT_EQ(run().lines().at(0)["trial"], "12");
  const Output threads = run({"--cluster", "ps:1,worker:1"});
  ASSERT_EQ(threads.lines().size(), 3u);
  for (const auto& line : threads.lines()) EXPECT_EQ(line["trial"], "12");
  EXPECT_EQ(run_with(R"({"task": {"trial": "12"}})").lines().at(0)["trial"], "12");
  const Output contradicted = run_with(R"({"task": {"trial": "13"}})");
  EXPECT_EQ(contradicted.status, 2);
  EXPECT_THAT(contradicted.lines(), IsEmpty());
  EXPECT_THAT(contradicted.err,
              ::testing::AllOf(HasSubstr(R"(SHOAL_TRIAL: is "12")"), HasSubstr(R"(task.trial of TF_CONFIG is "13")")));
}

TEST_F(Config, ShowsANamedClusterAsThisMachineRunsIt) {
  const auto fitted = cluster::parse_cluster_size("premium", cluster::room_on_cores(read_process_info().usable_cores));
  const auto lines = run({"--cluster", "premium"}).lines();
  ASSERT_EQ(lines.size(), size_t(fitted->size.tasks()));
  for (const auto& line : lines) EXPECT_EQ(line["warnings"].size(), fitted->warning ? 1u : 0u);
}

TEST_F(Config, PrintsTheEvaluatorWithoutAPlace) {
  const Output outcome = run_with(R"({"cluster": {"chief": ["a:1"]}, "task": {"type": "evaluator", "index": 0}})");
  ASSERT_EQ(outcome.lines().size(), 1u);
  EXPECT_EQ(outcome.lines()[0]["mode"], "evaluator");
  EXPECT_EQ(outcome.lines()[0]["global_id"], nullptr);
  EXPECT_EQ(outcome.lines()[0]["num_workers"], 0);
}

/// The command does not use the network: no host has these names.
TEST_F(Config, NamesWhatStartedThisProcessWithRankAndSize) {
  for (const auto& [name, value] : slurm_step()) setenv(name, value, 1);
  setenv("SHOAL_RENDEZVOUS", "n1:4000", 1);
  const Output outcome = run();
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.lines(), ElementsAre(json::parse(R"({"source": "slurm", "mode": "distributed", "task_type": "worker",
      "task_id": 1, "is_chief": false, "num_ps": 1, "num_workers": 3, "global_id": 2, "rpc_address": "", "rank": 3, "size": 4,
      "rendezvous": ["n1:4000"], "model_dir": null, "service": null, "trial": null, "warnings": []})")));
  unsetenv("SLURM_STEP_NODELIST");
  const Output wrong = run();
  EXPECT_EQ(wrong.status, 2);
  EXPECT_THAT(wrong.err, HasSubstr("SLURM_STEP_NODELIST: is not set"));
  setenv("SHOAL_SOURCE", "local", 1);
  EXPECT_EQ(run().lines().at(0)["source"], "local");
}

TEST_F(Config, WarnsOfAnEnvironmentThatNamesNoAddress) {
  setenv("PMI_RANK", "0", 1);
  setenv("PMI_SIZE", "2", 1);
  const Output outcome = run();
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.lines().at(0)["source"], "pmi");
  EXPECT_THAT(outcome.lines().at(0)["warnings"], ElementsAre(HasSubstr("SHOAL_RENDEZVOUS")));
}

TEST_F(Config, WarnsOfWhatWillBeDroppedOrRefused) {
  const Output dropped = run_with(R"({"cluster": {"chief": ["a:1"], "evaluator": ["e:1"], "ps": ["p:1"]},
      "task": {"type": "chief", "index": 0}})");
  EXPECT_EQ(dropped.status, 0);
  EXPECT_THAT(dropped.lines().at(0)["warnings"], ElementsAre(HasSubstr("evaluator")));
  const Output refused =
      run_with(R"({"cluster": {"chief": ["a:1"], "worker": ["b:1"]}, "task": {"type": "chief", "index": 0}})");
  EXPECT_EQ(refused.status, 0);
  EXPECT_THAT(refused.lines().at(0)["warnings"], ElementsAre(HasSubstr("no ps")));
}

TEST_F(Config, TellsWhatIsWrongWithStatusTwo) {
  for (const char* text :
       {"[]", "{", R"({"cluster": 1})", R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 0}})",
        R"({"service": "x"})"}) {
    const Output outcome = run_with(text);
    EXPECT_EQ(outcome.status, 2) << text;
    EXPECT_THAT(outcome.lines(), IsEmpty()) << text;
    EXPECT_THAT(outcome.err, HasSubstr("TF_CONFIG: ")) << text;
  }
}

TEST_F(Config, ComparesTheModelDirs) {
  EXPECT_EQ(run({"--model-dir", "a"}).lines().at(0)["model_dir"], "a");
  EXPECT_EQ(run_with(R"({"model_dir": "a"})", {"--model-dir", "a"}).status, 0);
  const Output outcome = run_with(R"({"model_dir": "a"})", {"--model-dir", "b"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, ::testing::AllOf(HasSubstr("\"a\""), HasSubstr("\"b\"")));
  const Output empty = run({"--model-dir", ""});
  EXPECT_EQ(empty.status, 2);
  EXPECT_THAT(empty.err, HasSubstr("--model-dir: is the empty string; give a path"));
}

TEST_F(Config, PrintsEachTaskOfAClusterSizeWhateverTheEnvironmentSays) {
  const Output outcome = run_with("not even json", {"--cluster", "ps:1,worker:1,evaluator"});
  EXPECT_EQ(outcome.status, 0);
  std::vector<std::string> tasks;
  for (const json& line : outcome.lines()) {
    EXPECT_EQ(line["source"], "option");
    tasks.push_back(line["task_type"].get<std::string>() + " " + line["mode"].get<std::string>());
  }
  EXPECT_THAT(tasks, ElementsAre("chief distributed", "ps distributed", "worker distributed", "evaluator evaluator"));
  const Output wrong = run({"--cluster", "gpu:8"});
  EXPECT_EQ(wrong.status, 2);
  EXPECT_THAT(wrong.err, HasSubstr("--cluster"));
}

}  // namespace
}  // namespace shoal::cli::testing
