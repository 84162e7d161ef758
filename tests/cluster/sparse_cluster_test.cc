// SPDX-License-Identifier: Apache-2.0
// A cluster that lists only some members of a role trains like one without gaps (CONTRACT CL-9).
#include <thread>

#include "jobs.h"

namespace shoal::testing {
namespace {

/// Runs a job in the tasks that `cluster` lists, as threads.
void run_listed(Job& job, const cluster::ClusterSpec& cluster, const JobSpec& spec) {
  auto host = std::make_shared<TaskHost>();
  host->sink = job.log.sink();
  host->buffers = BufferPool::create();
  host->transports["inproc"] = transport::inproc_factory(std::make_shared<transport::InprocHub>());
  for (const auto& [role, nodes] : cluster.roles()) {
    for (const cluster::ClusterSpec::Node& node : nodes) {
      job.outcomes.push_back({role + " " + std::to_string(node.index), {}});
    }
  }
  std::vector<std::jthread> threads;
  auto outcome = job.outcomes.begin();
  for (const auto& [role, nodes] : cluster.roles()) {
    for (const cluster::ClusterSpec::Node& node : nodes) {
      cluster::TaskConfig task = value_or_raise(cluster::resolve_task(cluster, role, node.index));
      task.in_process = true;
      const RunConfig config = RunConfig(job_options(spec, job.model_dir()), std::move(task)).with_host(host);
      threads.emplace_back([&spec, config, result = &(outcome++)->result] {
        *result = call_user("the program", [&] { train_task_of(spec, config); });
      });
    }
  }
}

TEST(SparseCluster, TrainsEachExampleOnceAndEnds) {
  cluster::ClusterSpec cluster;
  for (const auto& [role, index] :
       std::vector<std::pair<std::string, int32_t>>{{"chief", 0}, {"ps", 2}, {"ps", 5}, {"worker", 1}, {"worker", 900}}) {
    ASSERT_TRUE(cluster.add(role, index, role + "-" + std::to_string(index) + ".sparse:1"));
  }
  const JobSpec spec{
      .size = {}, .max_steps = std::nullopt, .input = [](const InputContext& context) {
        return line({1, 2, 3, 4, 5, 6, 7}).shard(context.config.num_trainers(), context.config.trainer_index()).batch(1);
      }};
  Job job;
  run_listed(job, cluster, spec);
  job.expect_all_ended_well();
  EXPECT_EQ(job.last_step(), 7);  // The parts are 3 + 2 + 2.
  EXPECT_EQ(job.counted_updates(), 7.0f);
  EXPECT_EQ(end_mark(job.model_dir())->reason, checkpoint::EndReason::kEndOfInput);
  const auto reader =
      value_or_raise(checkpoint::Reader::open(*make_file_storage(), job.folder / ("m/" + job.last_checkpoint())));
  EXPECT_EQ(reader->manifest().info.positions.size(), 3u);
  EXPECT_TRUE(reader->manifest().info.positions.contains("2")) << "the second of the listed workers";
}

}  // namespace
}  // namespace shoal::testing
