// SPDX-License-Identifier: Apache-2.0
/// The place that a process reads from the variables of each engine. The tables have the variables as the engines set
/// them: Open MPI 4.1.4, MPICH 4.0.2 and Slurm 22.05.8 of Debian 12 were run; the others are from their documents and
/// sources.
#include "shoal/cluster/place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "shoal/cluster/tf_config.h"

namespace shoal::cluster {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

using Variables = std::map<std::string, std::string, std::less<>>;

GetEnv reader(Variables variables) {
  return [variables = std::move(variables)](std::string_view name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}
Variables with(Variables variables, const Variables& more) {
  for (const auto& [name, value] : more) variables[name] = value;
  return variables;
}
Variables without(Variables variables, const std::string& name) {
  variables.erase(name);
  return variables;
}

TaskConfig task_of(const Variables& variables) {
  const Result<TaskConfig> task = task_from_environment(reader(variables));
  EXPECT_TRUE(task) << (task ? "" : task.error().message());
  return task ? *task : TaskConfig{};
}
Place place_of(const Variables& variables) {
  const TaskConfig task = task_of(variables);
  EXPECT_TRUE(task.place.has_value());
  EXPECT_THAT(task.warnings, IsEmpty());
  return task.place.value_or(Place{});
}
std::string error_of(const Variables& variables) {
  const Result<TaskConfig> task = task_from_environment(reader(variables));
  if (task) return "none";
  EXPECT_EQ(task.error().kind(), ErrorKind::kInvalidArgument);
  return task.error().message();
}
/// "rank/size local_rank/local_size", with - for a local number that is not known.
std::string numbers(const Place& place) {
  const auto text = [](const std::optional<int32_t>& number) { return number ? std::to_string(*number) : "-"; };
  return std::to_string(place.rank) + "/" + std::to_string(place.size) + " " + text(place.local_rank) + "/" +
         text(place.local_size);
}

const Variables kOpenMpi{{"OMPI_APP_CTX_NUM_PROCS", "4"},
                         {"OMPI_COMM_WORLD_LOCAL_RANK", "3"},
                         {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                         {"OMPI_COMM_WORLD_NODE_RANK", "3"},
                         {"OMPI_COMM_WORLD_RANK", "3"},
                         {"OMPI_COMM_WORLD_SIZE", "4"},
                         {"OMPI_UNIVERSE_SIZE", "4"},
                         {"OMPI_MCA_ess_base_jobid", "1491730433"},
                         {"OMPI_MCA_orte_hnp_uri", "1491730432.0;tcp://192.0.2.2:48347;tcp6://[fd00::2]:41519"},
                         {"PMIX_HOSTNAME", "vm"},
                         {"PMIX_ID", "1491730433.3"},
                         {"PMIX_NAMESPACE", "1491730433"},
                         {"PMIX_RANK", "3"}};
const Variables kMpich{{"PMI_RANK", "1"},        {"PMI_SIZE", "2"},        {"PMI_FD", "8"},
                       {"MPI_LOCALNRANKS", "2"}, {"MPI_LOCALRANKID", "1"}, {"HYDI_CONTROL_FD", "7"}};
const Variables kTorchrun{{"RANK", "5"},
                          {"LOCAL_RANK", "1"},
                          {"WORLD_SIZE", "8"},
                          {"LOCAL_WORLD_SIZE", "4"},
                          {"GROUP_RANK", "1"},
                          {"ROLE_RANK", "5"},
                          {"MASTER_ADDR", "node-0.example.org"},
                          {"MASTER_PORT", "29500"},
                          {"TORCHELASTIC_RUN_ID", "a7"},
                          {"TORCHELASTIC_USE_AGENT_STORE", "False"}};
const Variables kTrainerTorch{{"PET_NNODES", "4"},
                              {"PET_NPROC_PER_NODE", "auto"},
                              {"PET_NODE_RANK", "2"},
                              {"PET_MASTER_ADDR", "job-node-0-0.job"},
                              {"PET_MASTER_PORT", "29400"}};
const Variables kTrainerJax{
    {"JAX_NUM_PROCESSES", "3"}, {"JAX_PROCESS_ID", "1"}, {"JAX_COORDINATOR_ADDRESS", "job-node-0-0.job:29500"}};
const Variables kTrainerXgboost{{"DMLC_TRACKER_URI", "job-node-0-0.job"},
                                {"DMLC_TRACKER_PORT", "29500"},
                                {"DMLC_TASK_ID", "2"},
                                {"DMLC_NUM_WORKER", "3"}};
const Variables kSlurm{{"SLURM_JOB_ID", "1234"},
                       {"SLURM_JOBID", "1234"},
                       {"SLURM_STEP_ID", "0"},
                       {"SLURM_STEPID", "0"},
                       {"SLURM_PROCID", "6"},
                       {"SLURM_LOCALID", "1"},
                       {"SLURM_NODEID", "1"},
                       {"SLURM_NTASKS", "17"},
                       {"SLURM_STEP_NUM_TASKS", "17"},
                       {"SLURM_STEP_NUM_NODES", "4"},
                       {"SLURM_STEP_NODELIST", "n[08-10],login"},
                       {"SLURM_STEP_TASKS_PER_NODE", "5,4(x3)"},
                       {"SLURMD_NODENAME", "n09"}};
const Variables kIndexedJob{{"JOB_COMPLETION_INDEX", "3"},
                            {"HOSTNAME", "train-3"},
                            {"KUBERNETES_SERVICE_HOST", "10.96.0.1"},
                            {"SHOAL_WORLD_SIZE", "6"},
                            {"SHOAL_SERVICE", "train-tasks"}};

TEST(Place, OfOpenMpi) {
  const Place place = place_of(kOpenMpi);
  EXPECT_EQ(place.source, ConfigSource::kOpenMpi);
  EXPECT_EQ(numbers(place), "3/4 3/4");
  EXPECT_EQ(place.run, "open-mpi 1491730433");
  // All ranks on one host: the loopback, with ports that follow from the job's name, the same for all ranks.
  EXPECT_THAT(place.rendezvous, SizeIs(4));
  for (const std::string& address : place.rendezvous) EXPECT_TRUE(is_loopback_address(address)) << address;
  EXPECT_EQ(place.rendezvous, place_of(with(kOpenMpi, {{"OMPI_COMM_WORLD_RANK", "0"}, {"PMIX_RANK", "0"}})).rendezvous);
  EXPECT_NE(place.rendezvous, place_of(with(kOpenMpi, {{"PMIX_NAMESPACE", "prterun-vm-77@1"}})).rendezvous);
}

TEST(Place, OfOpenMpiOnSeveralHostsHasToBeToldAnAddress) {
  const Variables two_hosts = with(kOpenMpi, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}});
  const TaskConfig task = task_of(two_hosts);
  EXPECT_THAT(task.place->rendezvous, IsEmpty());
  const Result<void> runnable = check_runnable(task);
  ASSERT_FALSE(runnable);
  EXPECT_THAT(runnable.error().message(),
              AllOf(HasSubstr("open-mpi"), HasSubstr("rank 3 of 4"), HasSubstr("SHOAL_RENDEZVOUS")));
  EXPECT_THAT(place_of(with(two_hosts, {{"SHOAL_RENDEZVOUS", "n1:4000"}})).rendezvous, ElementsAre("n1:4000"));
}

TEST(Place, OfMpich) {
  const TaskConfig task = task_of(kMpich);
  EXPECT_EQ(task.source, ConfigSource::kPmi);
  EXPECT_EQ(numbers(*task.place), "1/2 1/2");
  // MPICH's jobs have no names: two on one host could not be told apart.
  const Result<void> runnable = check_runnable(task);
  ASSERT_FALSE(runnable);
  EXPECT_THAT(runnable.error().message(), AllOf(HasSubstr("SHOAL_RUN"), HasSubstr("SHOAL_RENDEZVOUS")));
  EXPECT_THAT(place_of(with(kMpich, {{"SHOAL_RUN", "first"}})).rendezvous, SizeIs(4));
}

TEST(Place, OfPmiElsewhere) {
  // Cray, and srun --mpi=pmi2, whose step has the same numbers and knows the hosts.
  EXPECT_EQ(numbers(place_of({{"PMI_RANK", "9"},
                              {"PMI_SIZE", "16"},
                              {"PMI_LOCAL_RANK", "1"},
                              {"PMI_LOCAL_SIZE", "8"},
                              {"SHOAL_RENDEZVOUS", "n:1"}})),
            "9/16 1/8");
  const Place place = place_of(with(kSlurm, {{"PMI_RANK", "6"}, {"PMI_SIZE", "17"}, {"PMI_JOBID", "1234.0"}}));
  EXPECT_EQ(place.source, ConfigSource::kPmi);
  EXPECT_THAT(place.hosts, ElementsAre("n08", "n09", "n10", "login"));
  EXPECT_THAT(place.rendezvous.front(), StartsWith("n08:"));
}

TEST(Place, OfTorchrun) {
  const Place place = place_of(kTorchrun);
  EXPECT_EQ(place.source, ConfigSource::kTorchrun);
  EXPECT_EQ(numbers(place), "5/8 1/4");
  EXPECT_EQ(place.run, "a7");
  EXPECT_THAT(place.rendezvous, ElementsAre("node-0.example.org:29500"));
  // torchrun itself listens at that port then.
  EXPECT_THAT(place_of(with(kTorchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "True"}})).rendezvous,
              ElementsAre("node-0.example.org:29501", "node-0.example.org:29502", "node-0.example.org:29503",
                          "node-0.example.org:29504"));
  EXPECT_THAT(place_of(with(kTorchrun, {{"MASTER_ADDR", "fd00::2"}})).rendezvous, ElementsAre("[fd00::2]:29500"));
}

TEST(Place, OfKubeflowTrainer) {
  const Place torch = place_of(kTrainerTorch);
  EXPECT_EQ(torch.source, ConfigSource::kTorchrun);
  EXPECT_EQ(numbers(torch), "2/4 -/-");
  EXPECT_THAT(torch.rendezvous, ElementsAre("job-node-0-0.job:29400"));
  // Below torchrun both sets of variables are there, and those of the process count.
  EXPECT_EQ(numbers(place_of(with(kTrainerTorch, kTorchrun))), "5/8 1/4");
  const Place jax = place_of(kTrainerJax);
  EXPECT_EQ(jax.source, ConfigSource::kJax);
  EXPECT_EQ(numbers(jax), "1/3 -/-");
  EXPECT_THAT(jax.rendezvous, ElementsAre("job-node-0-0.job:29500"));
  const Place dmlc = place_of(kTrainerXgboost);
  EXPECT_EQ(dmlc.source, ConfigSource::kDmlc);
  EXPECT_EQ(numbers(dmlc), "2/3 -/-");
  EXPECT_THAT(dmlc.rendezvous, ElementsAre("job-node-0-0.job:29500"));
}

TEST(Place, OfASlurmStep) {
  const Place place = place_of(kSlurm);
  EXPECT_EQ(place.source, ConfigSource::kSlurm);
  EXPECT_EQ(numbers(place), "6/17 1/4");
  EXPECT_EQ(place.run, "slurm 1234.0");
  EXPECT_THAT(place.hosts, ElementsAre("n08", "n09", "n10", "login"));
  EXPECT_THAT(place.rendezvous, SizeIs(4));
  for (const std::string& address : place.rendezvous) EXPECT_THAT(address, StartsWith("n08:"));
  EXPECT_NE(place.rendezvous, place_of(with(kSlurm, {{"SLURM_STEP_ID", "1"}})).rendezvous);
  const Place one_node = place_of(with(kSlurm, {{"SLURM_STEP_NODELIST", "n08"}, {"SLURM_STEP_TASKS_PER_NODE", "17"}}));
  EXPECT_EQ(numbers(one_node), "6/17 1/17");
  EXPECT_TRUE(is_loopback_address(one_node.rendezvous.front()));
}

TEST(Place, OfAnIndexedJob) {
  const Place place = place_of(kIndexedJob);
  EXPECT_EQ(place.source, ConfigSource::kIndexedJob);
  EXPECT_EQ(numbers(place), "3/6 -/-");
  EXPECT_EQ(place.own_host, "train-3.train-tasks");
  EXPECT_THAT(place.rendezvous, ElementsAre("train-0.train-tasks:2222"));
  EXPECT_THAT(error_of(with(kIndexedJob, {{"HOSTNAME", "train-4"}})), AllOf(HasSubstr("HOSTNAME"), HasSubstr("\"-3\"")));
  const Variables named = with(without(kIndexedJob, "SHOAL_SERVICE"), {{"SHOAL_RENDEZVOUS", "a:1"}, {"SHOAL_HOST", "b"}});
  EXPECT_THAT(place_of(named).rendezvous, ElementsAre("a:1"));
  EXPECT_EQ(place_of(named).own_host, "b");
}

TEST(Place, OfExplicitNumbersComesFirst) {
  const Variables explicit_place{{"SHOAL_RANK", "1"}, {"SHOAL_WORLD_SIZE", "3"}, {"SHOAL_RENDEZVOUS", "h:1"}};
  Variables all = with(with(with(kSlurm, kOpenMpi), kIndexedJob), explicit_place);
  all["TF_CONFIG"] = "not even JSON";
  const Place place = place_of(all);
  EXPECT_EQ(place.source, ConfigSource::kOption);
  EXPECT_EQ(numbers(place), "1/3 -/-");
}

// The variables that Slurm 22.05.8 with two nodes has set, without those that no resolver reads.
const Variables kSlurmOfFive{{"SLURMD_NODENAME", "n2"},
                             {"SLURM_GTIDS", "3,4"},
                             {"SLURM_JOBID", "2"},
                             {"SLURM_JOB_ID", "2"},
                             {"SLURM_LOCALID", "1"},
                             {"SLURM_NNODES", "2"},
                             {"SLURM_NODEID", "1"},
                             {"SLURM_NODELIST", "n[1-2]"},
                             {"SLURM_NPROCS", "5"},
                             {"SLURM_NTASKS", "5"},
                             {"SLURM_PROCID", "4"},
                             {"SLURM_STEPID", "0"},
                             {"SLURM_STEP_ID", "0"},
                             {"SLURM_STEP_LAUNCHER_PORT", "34683"},
                             {"SLURM_STEP_NODELIST", "n[1-2]"},
                             {"SLURM_STEP_NUM_NODES", "2"},
                             {"SLURM_STEP_NUM_TASKS", "5"},
                             {"SLURM_STEP_TASKS_PER_NODE", "3,2"},
                             {"SLURM_TASKS_PER_NODE", "3,2"}};

TEST(Place, OfDebiansSlurm) {
  const Place place = place_of(kSlurmOfFive);
  EXPECT_EQ(numbers(place), "4/5 1/2");
  EXPECT_EQ(place.run, "slurm 2.0");
  EXPECT_THAT(place.hosts, ElementsAre("n1", "n2"));
  EXPECT_THAT(place.rendezvous.front(), StartsWith("n1:"));
  // srun --mpi=pmi2.
  const Place pmi =
      place_of(with(kSlurmOfFive, {{"PMI_FD", "11"}, {"PMI_JOBID", "2.0"}, {"PMI_RANK", "4"}, {"PMI_SIZE", "5"}}));
  EXPECT_EQ(pmi.source, ConfigSource::kPmi);
  EXPECT_EQ(numbers(pmi), "4/5 1/2");
  EXPECT_EQ(pmi.run, "pmi 2.0");
  EXPECT_THAT(pmi.rendezvous.front(), StartsWith("n1:"));
  // srun --pty sets the same variables for a shell.
  EXPECT_EQ(task_of(with(kSlurmOfFive, {{"SLURM_PTY_PORT", "45623"}, {"SLURM_PROCID", "0"}})).mode, TaskMode::kLocal);
}

/// mpirun in the shell of salloc runs its daemons, which start the ranks, as a step of two tasks.
TEST(Place, OfOpenMpiInASlurmJob) {
  const Variables rank{{"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
                       {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                       {"OMPI_COMM_WORLD_NODE_RANK", "0"},
                       {"OMPI_COMM_WORLD_RANK", "2"},
                       {"OMPI_COMM_WORLD_SIZE", "4"},
                       {"PMIX_NAMESPACE", "718602241"},
                       {"PMIX_RANK", "2"},
                       {"SLURM_JOB_ID", "7"},
                       {"SLURM_LOCALID", "0"},
                       {"SLURM_NODEID", "1"},
                       {"SLURM_NTASKS", "2"},
                       {"SLURM_NTASKS_PER_NODE", "1"},
                       {"SLURM_PROCID", "1"},
                       {"SLURM_STEP_ID", "0"},
                       {"SLURM_STEP_NODELIST", "n[1-2]"},
                       {"SLURM_STEP_NUM_NODES", "2"},
                       {"SLURM_STEP_NUM_TASKS", "2"},
                       {"SLURM_STEP_TASKS_PER_NODE", "1(x2)"}};
  const TaskConfig task = task_of(with(rank, {{"SHOAL_RENDEZVOUS", "n1:4000"}}));
  EXPECT_EQ(task.source, ConfigSource::kOpenMpi);
  EXPECT_EQ(numbers(*task.place), "2/4 0/2");
  EXPECT_THAT(task.place->rendezvous, ElementsAre("n1:4000"));
  EXPECT_THAT(task.warnings,
              ElementsAre(AllOf(HasSubstr("open-mpi says rank 2 of 4"), HasSubstr("slurm says rank 1 of 2"))));
}

/// A batch environment alone does not make a process part of a cluster.
TEST(Place, IsLocalOutsideOfAStep) {
  const Variables batch_script{{"SLURM_JOB_ID", "12"},
                               {"SLURM_PROCID", "0"},
                               {"SLURM_LOCALID", "0"},
                               {"SLURM_NODEID", "0"},
                               {"SLURM_NTASKS", "8"},
                               {"SLURM_JOB_NODELIST", "n[1-2]"},
                               {"SLURM_TASKS_PER_NODE", "4(x2)"}};
  const Variables salloc = without(without(batch_script, "SLURM_PROCID"), "SLURM_LOCALID");
  const Variables pty = with(kSlurm, {{"SLURM_PTY_PORT", "34889"}, {"SLURM_PTY_WIN_COL", "236"}});
  const Variables sweep = without(without(kIndexedJob, "SHOAL_WORLD_SIZE"), "SHOAL_SERVICE");
  const Variables left_over{{"RANK", "3"}};
  const Variables torch_habit{{"MASTER_ADDR", "localhost"}, {"MASTER_PORT", "29500"}};
  for (const Variables& variables : {batch_script, salloc, pty, sweep, left_over, torch_habit, Variables{}}) {
    const TaskConfig task = task_of(variables);
    EXPECT_EQ(task.source, ConfigSource::kLocal) << testing::PrintToString(variables);
    EXPECT_EQ(task.mode, TaskMode::kLocal);
    EXPECT_THAT(task.warnings, IsEmpty());
  }
}

TEST(Place, OfOneTaskIsLocal) {
  // The last one is the shell of salloc, which Slurm starts as a step of its own.
  const Variables interactive{{"SLURM_STEP_ID", "4294967290"}, {"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}};
  const std::vector<std::pair<ConfigSource, Variables>> cases{
      {ConfigSource::kOpenMpi, {{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}}},
      {ConfigSource::kPmi, {{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}}},
      {ConfigSource::kTorchrun, {{"RANK", "0"}, {"WORLD_SIZE", "1"}}},
      {ConfigSource::kTorchrun, {{"PET_NODE_RANK", "0"}, {"PET_NNODES", "1"}}},
      {ConfigSource::kJax, {{"JAX_PROCESS_ID", "0"}, {"JAX_NUM_PROCESSES", "1"}}},
      {ConfigSource::kDmlc, {{"DMLC_TASK_ID", "0"}, {"DMLC_NUM_WORKER", "1"}}},
      {ConfigSource::kOption, {{"SHOAL_RANK", "0"}, {"SHOAL_WORLD_SIZE", "1"}}},
      {ConfigSource::kSlurm, interactive}};
  for (const auto& [source, variables] : cases) {
    const TaskConfig task = task_of(variables);
    EXPECT_EQ(task.source, source);
    EXPECT_EQ(task.mode, TaskMode::kLocal) << to_string(source);
    EXPECT_TRUE(task.has_met());
    EXPECT_TRUE(check_runnable(task));
  }
}

TEST(Place, NamesTheVariableThatIsMissingOrGarbled) {
  struct Case {
    Variables variables;
    const char* name;
    const char* part;
  };
  const std::vector<Case> cases{
      {without(kOpenMpi, "OMPI_COMM_WORLD_RANK"), "OMPI_COMM_WORLD_RANK", "though OMPI_COMM_WORLD_SIZE is"},
      {without(kOpenMpi, "OMPI_COMM_WORLD_SIZE"), "OMPI_COMM_WORLD_SIZE", "not set"},
      {with(kOpenMpi, {{"OMPI_COMM_WORLD_RANK", "x"}}), "OMPI_COMM_WORLD_RANK", "\"x\" is no whole number"},
      {with(kOpenMpi, {{"OMPI_COMM_WORLD_RANK", "4"}}), "OMPI_COMM_WORLD_RANK", "not below"},
      {with(kOpenMpi, {{"OMPI_COMM_WORLD_SIZE", "0"}}), "OMPI_COMM_WORLD_SIZE", "from 1"},
      {with(kOpenMpi, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "5"}}), "OMPI_COMM_WORLD_LOCAL_SIZE", "from 1 to 4"},
      {with(kOpenMpi, {{"OMPI_COMM_WORLD_SIZE", "99999999999"}}), "OMPI_COMM_WORLD_SIZE", "no whole number"},
      {without(kMpich, "PMI_SIZE"), "PMI_SIZE", "not set"},
      {with(kMpich, {{"PMI_RANK", "-1"}}), "PMI_RANK", "no whole number"},
      {without(kTorchrun, "RANK"), "RANK", "not set"},
      {without(kTorchrun, "WORLD_SIZE"), "WORLD_SIZE", "not set"},
      {without(kTorchrun, "MASTER_ADDR"), "MASTER_ADDR", "not set"},
      {without(kTorchrun, "MASTER_PORT"), "MASTER_PORT", "not set"},
      {with(kTorchrun, {{"MASTER_PORT", "70000"}}), "MASTER_PORT", "to 65535"},
      {with(kTorchrun, {{"MASTER_ADDR", "a b"}}), "MASTER_ADDR", "blanks"},
      {with(kTorchrun, {{"MASTER_ADDR", "tcp://node-0"}}), "MASTER_ADDR",
       "\"tcp://node-0:29500\" is not host:port: it begins with a scheme; leave tcp:// out"},
      {with(kTorchrun, {{"MASTER_ADDR", "node-0:29500"}}), "MASTER_ADDR", "there are two ports"},
      {with(kTrainerTorch, {{"PET_MASTER_ADDR", "http://node-0"}}), "PET_MASTER_ADDR", "leave http:// out"},
      {with(kTrainerJax, {{"JAX_COORDINATOR_ADDRESS", "grpc://host:1"}}), "JAX_COORDINATOR_ADDRESS", "leave grpc:// out"},
      {with(kTrainerXgboost, {{"DMLC_TRACKER_URI", "tcp://host"}}), "DMLC_TRACKER_URI", "leave tcp:// out"},
      {with(kTorchrun, {{"SHOAL_RENDEZVOUS", "tcp://host:1"}}), "SHOAL_RENDEZVOUS", "leave tcp:// out"},
      {with(kTrainerTorch, {{"PET_NNODES", "1:4"}}), "PET_NNODES", "range"},
      {without(kTrainerTorch, "PET_NODE_RANK"), "PET_NODE_RANK", "not set"},
      {without(kTrainerTorch, "PET_MASTER_PORT"), "PET_MASTER_PORT", "not set"},
      {without(kTrainerJax, "JAX_COORDINATOR_ADDRESS"), "JAX_COORDINATOR_ADDRESS", "not set"},
      {with(kTrainerJax, {{"JAX_COORDINATOR_ADDRESS", "host"}}), "JAX_COORDINATOR_ADDRESS", "no port"},
      {without(kTrainerJax, "JAX_PROCESS_ID"), "JAX_PROCESS_ID", "not set"},
      {without(kTrainerXgboost, "DMLC_TRACKER_PORT"), "DMLC_TRACKER_PORT", "not set"},
      {without(kTrainerXgboost, "DMLC_NUM_WORKER"), "DMLC_NUM_WORKER", "not set"},
      {without(kSlurm, "SLURM_PROCID"), "SLURM_PROCID", "not set"},
      {without(kSlurm, "SLURM_STEP_NODELIST"), "SLURM_STEP_NODELIST", "not set"},
      {with(kSlurm, {{"SLURM_STEP_NODELIST", "n[1-"}}), "SLURM_STEP_NODELIST", "character 5"},
      {with(kSlurm, {{"SLURM_STEP_TASKS_PER_NODE", "5,4(x2)"}}), "SLURM_STEP_TASKS_PER_NODE", "makes 13 tasks"},
      {with(kSlurm, {{"SLURM_STEP_TASKS_PER_NODE", "5,four"}}), "SLURM_STEP_TASKS_PER_NODE", "\"four\""},
      {with(kSlurm, {{"SLURM_NODEID", "4"}}), "SLURM_NODEID", "from 0 to 3"},
      {with(kIndexedJob, {{"JOB_COMPLETION_INDEX", "6"}}), "JOB_COMPLETION_INDEX", "not below SHOAL_WORLD_SIZE"},
      {without(kIndexedJob, "HOSTNAME"), "HOSTNAME", "not set"},
      {{{"SHOAL_RANK", "0"}}, "SHOAL_WORLD_SIZE", "though SHOAL_RANK is"},
      {{{"SHOAL_RANK", "2"}, {"SHOAL_WORLD_SIZE", "2"}}, "SHOAL_RANK", "not below"},
      {with(kOpenMpi, {{"SHOAL_RENDEZVOUS", "here"}}), "SHOAL_RENDEZVOUS", "no port"},
      {with(kOpenMpi, {{"SHOAL_RENDEZVOUS", "here:0"}}), "SHOAL_RENDEZVOUS", "port 0"},
      {with(kOpenMpi, {{"SHOAL_HOST", "a b"}}), "SHOAL_HOST", "blanks"},
      {with(kOpenMpi, {{"SHOAL_PS", "two"}}), "SHOAL_PS", "no whole number"},
      {with(kOpenMpi, {{"SHOAL_EVALUATOR", "yes"}}), "SHOAL_EVALUATOR", "from 0 to 1"},
      {with(kOpenMpi, {{"SHOAL_SOURCE", "lsf"}}), "SHOAL_SOURCE", "none of option, TF_CONFIG"},
      {with(kOpenMpi, {{"SHOAL_SOURCE", "slurm"}}), "SHOAL_SOURCE", "not set here"},
      {with(kOpenMpi, {{"SHOAL_SOURCE", "option"}}), "SHOAL_RANK", "not set"},
      {with(kOpenMpi, {{"SHOAL_SOURCE", "TF_CONFIG"}}), "TF_CONFIG", "not set"}};
  for (const Case& one : cases) EXPECT_THAT(error_of(one.variables), AllOf(StartsWith(one.name), HasSubstr(one.part)));
}

TEST(Place, OfTheInnermostIsUsedAndAnotherIsAWarning) {
  // mpirun in a Slurm job starts its daemons as a step of its own.
  const TaskConfig nested = task_of(with(kSlurm, kOpenMpi));
  EXPECT_EQ(nested.source, ConfigSource::kOpenMpi);
  EXPECT_THAT(nested.warnings, ElementsAre(AllOf(HasSubstr("open-mpi says rank 3 of 4"),
                                                 HasSubstr("slurm says rank 6 of 17"), HasSubstr("SHOAL_SOURCE=slurm"))));
  // Garbled variables of an outer engine do not matter, but are a warning.
  const TaskConfig garbled = task_of(with(with(kSlurm, {{"SLURM_PROCID", "x"}}), kOpenMpi));
  EXPECT_EQ(garbled.source, ConfigSource::kOpenMpi);
  EXPECT_THAT(garbled.warnings, ElementsAre(AllOf(HasSubstr("SLURM_PROCID"), HasSubstr("not heeded"))));
  const TaskConfig chosen = task_of(with(with(kSlurm, kOpenMpi), {{"SHOAL_SOURCE", "slurm"}}));
  EXPECT_EQ(chosen.source, ConfigSource::kSlurm);
  EXPECT_THAT(chosen.warnings, IsEmpty());
  const TaskConfig local = task_of(with(with(kSlurm, kOpenMpi), {{"SHOAL_SOURCE", "local"}}));
  EXPECT_EQ(local.source, ConfigSource::kLocal);
}

TEST(Place, StandsBehindTfConfig) {
  const std::string cluster = R"({"cluster": {"chief": ["a:1"], "ps": ["b:1"]}, "task": {"type": "ps", "index": 0}})";
  const TaskConfig task = task_of(with(kSlurm, {{"TF_CONFIG", cluster}}));
  EXPECT_EQ(task.source, ConfigSource::kTfConfig);
  EXPECT_FALSE(task.place);
  EXPECT_THAT(task.warnings, IsEmpty());
  const TaskConfig alone = task_of(with(kSlurm, {{"TF_CONFIG", R"({"model_dir": "m"})"}}));
  EXPECT_EQ(alone.mode, TaskMode::kLocal);
  EXPECT_THAT(alone.warnings, ElementsAre(AllOf(HasSubstr("slurm"), HasSubstr("rank 6 of 17"))));
  EXPECT_EQ(task_of(with(kSlurm, {{"TF_CONFIG", " \n"}})).source, ConfigSource::kSlurm);
}

TEST(Place, SaysWhatIsHeededByNobody) {
  const TaskConfig task = task_of({{"SHOAL_PS", "2"}, {"SHOAL_RENDEZVOUS", "h:1"}});
  EXPECT_EQ(task.source, ConfigSource::kLocal);
  EXPECT_THAT(task.warnings, ElementsAre(AllOf(HasSubstr("SHOAL_RENDEZVOUS, SHOAL_PS"), HasSubstr("trains alone"))));
}

TEST(Plan, OfRanksIsAChiefServersWorkersAndAnEvaluator) {
  const ClusterSize plan = value_or_raise(plan_of(7, 2, true));
  EXPECT_EQ(to_string(plan), "ps:2,worker:3,evaluator");
  std::vector<std::string> seats;
  for (int32_t rank = 0; rank < 7; ++rank) seats.push_back(to_string(seat_of(plan, rank)));
  EXPECT_THAT(seats, ElementsAre("chief 0", "ps 0", "ps 1", "worker 0", "worker 1", "worker 2", "evaluator 0"));
}

TEST(Plan, HasOneServerForFourRanksUnlessToldOtherwise) {
  for (const auto& [ranks, ps] : std::map<int32_t, int32_t>{{1, 0}, {2, 1}, {3, 1}, {4, 1}, {7, 1}, {8, 2}, {16, 4}}) {
    EXPECT_EQ(value_or_raise(plan_of(ranks, {}, false)).ps, ps) << ranks;
  }
  EXPECT_EQ(value_or_raise(plan_of(9, {}, true)).ps, 2);
  EXPECT_EQ(to_string(value_or_raise(plan_of(2, {}, true))), "evaluator");
  EXPECT_EQ(to_string(value_or_raise(plan_of(2, 0, true))), "evaluator");
  EXPECT_THAT(plan_of(3, 0, false).error().message(), AllOf(HasSubstr("SHOAL_PS"), HasSubstr("no one to hold")));
  EXPECT_THAT(plan_of(3, 3, false).error().message(), AllOf(HasSubstr("3 ranks are too few"), HasSubstr("3 ps")));
  EXPECT_THAT(plan_of(1, 0, true).error().message(), HasSubstr("too few"));
}

TEST(TaskOfPlace, HasItsRoleBeforeItHasMetAnybody) {
  const Variables variables = with(kSlurm, {{"SHOAL_PS", "4"}, {"SHOAL_EVALUATOR", "1"}});
  const TaskConfig worker = task_of(variables);
  EXPECT_FALSE(worker.has_met());
  EXPECT_EQ(worker.name(), "worker 1");
  EXPECT_EQ(worker.mode, TaskMode::kDistributed);
  EXPECT_EQ(worker.num_ps, 4);
  EXPECT_EQ(worker.num_workers, 12);
  EXPECT_EQ(worker.global_id, 2);
  EXPECT_EQ(worker.rpc_address, "");
  const TaskConfig evaluator = task_of(with(variables, {{"SLURM_PROCID", "16"}}));
  EXPECT_EQ(evaluator.mode, TaskMode::kEvaluator);
  EXPECT_EQ(evaluator.num_workers, 0);
}

TEST(TaskOfPlace, IsThatOfTfConfigOnceItHasMet) {
  const TaskConfig before =
      task_of({{"SHOAL_RANK", "2"}, {"SHOAL_WORLD_SIZE", "4"}, {"SHOAL_EVALUATOR", "1"}, {"SHOAL_RENDEZVOUS", "a:9"}});
  const TaskConfig met = value_or_raise(with_addresses(before, {"a:1", "b:2", "c:3", ""}, {"x", "y", "y", "x"}));
  EXPECT_TRUE(met.has_met());
  EXPECT_EQ(met.source, ConfigSource::kOption);
  EXPECT_EQ(met.rpc_address, "c:3");
  EXPECT_EQ(met.tasks_on_host, 2);
  EXPECT_EQ(
      to_tf_config(met),
      to_tf_config(value_or_raise(parse_tf_config(
          R"({"cluster": {"chief": ["a:1"], "ps": ["b:2"], "worker": ["c:3"]}, "task": {"type": "worker", "index": 0}})"))));
  EXPECT_THAT(with_addresses(before, {"a:1", "b:2", "b:2", ""}, {"x", "y", "y", "x"}).error().message(),
              HasSubstr("given twice"));
}

TEST(ConfigSources, AreReadBackByTheirNames) {
  for (int i = 0; i <= int(ConfigSource::kLocal); ++i) {
    EXPECT_EQ(value_or_raise(parse_config_source(to_string(ConfigSource(i)))), ConfigSource(i));
  }
}

}  // namespace
}  // namespace shoal::cluster
