// SPDX-License-Identifier: Apache-2.0
// Several clusters of threads in one process at the same time (CONTRACT IP-3).
#include <signal.h>

#include <latch>
#include <thread>

#include "jobs.h"

namespace shoal::testing {
namespace {

/// Two jobs without an end, each of which counts `training` down after some steps of its chief.
struct TwoJobs {
  Job jobs[2];
  std::latch training{2};

  JobSpec spec() {
    return {.size = {.ps = 1, .workers = 1},
            .max_steps = std::nullopt,
            .hooks = [this](const RunConfig& config) -> std::vector<std::shared_ptr<Hook>> {
              if (!config.is_chief()) return {};
              return {after_each_step([this](RunContext& run, const StepValues&) {
                if (run.iterations() == 5) training.count_down();
              })};
            },
            .handle_signals = true};
  }
};

TEST(ClustersAtOnce, ASignalEndsBothCleanly) {
  TwoJobs two;
  std::vector<std::jthread> threads;
  for (Job& job : two.jobs) threads.emplace_back([&] { run_job(job, two.spec()); });
  two.training.wait();
  ::raise(SIGINT);
  threads.clear();
  for (const Job& job : two.jobs) {
    job.expect_all_ended_well();
    EXPECT_EQ(job.outcomes.size(), 3u);
    const auto mark = end_mark(job.model_dir());
    ASSERT_TRUE(mark);
    EXPECT_EQ(mark->reason, checkpoint::EndReason::kInterrupted);
    EXPECT_EQ(job.counted_updates(), float(job.last_step()));
  }
}

}  // namespace
}  // namespace shoal::testing
