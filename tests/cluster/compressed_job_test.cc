/// Whole jobs that compress with top-k: what it keeps back is part of their checkpoints.
#include <algorithm>
#include <latch>

#include "jobs.h"

namespace shoal::testing {
namespace {

JobSpec compressed(int32_t servers, int64_t steps) {
  return {.size = {.ps = servers},
          .model = split_model,
          .max_steps = steps,
          .input = wide_line,
          .compression = value_or_raise(cluster::parse_compression("top-k:0.05"))};
}

bool has_values(const std::string& tensor) {
  return std::ranges::any_of(tensor, [](char byte) { return byte != 0; });
}

TEST(CompressedJob, GoesOnBitByBit) {
  Job whole, in_parts;
  run_job(whole, compressed(2, 50));
  for (const int64_t steps : {17, 30, 50}) run_job(in_parts, compressed(2, steps));
  in_parts.expect_all_ended_well();
  const auto expected = whole.last_tensors();
  ASSERT_EQ(expected.size(), 16u);  // There are four variables, each with m, v and a residual.
  EXPECT_TRUE(has_values(expected.at("hidden/kernel/residual/0")));
  EXPECT_EQ(in_parts.last_checkpoint(), "model.ckpt-50");
  EXPECT_EQ(in_parts.last_tensors(), expected);
}

TEST(CompressedJob, GoesOnWithAnotherNumberOfServersAndOfTrainers) {
  Job job;
  JobSpec spec = compressed(3, 20);
  spec.size.workers = 2;
  // All wait before any has pushed: a checkpoint would wait for the residual of one that stands still.
  std::latch all_train(3);
  spec.hooks = [&all_train](const RunConfig&) -> std::vector<std::shared_ptr<Hook>> {
    const auto together = std::make_shared<FunctionHook>();
    together->before = [&all_train](RunContext& run, StepRequest&) {
      if (run.iterations() == 0) all_train.arrive_and_wait();
    };
    return {together};
  };
  run_job(job, spec);
  job.expect_all_ended_well();
  const auto tensors = job.last_tensors();
  for (const std::string trainer : {"0", "1", "2"}) {  // Each has trained, and said at its end what it kept.
    const auto found = tensors.find("hidden/kernel/residual/" + trainer);
    ASSERT_NE(found, tensors.end()) << trainer;
    EXPECT_TRUE(has_values(found->second)) << trainer;
  }
  spec = compressed(2, 40);
  run_job(job, spec);
  job.expect_all_ended_well();
  EXPECT_EQ(job.last_step(), 40);
  spec.compression = {};
  spec.max_steps = 50;
  run_job(job, spec);  // The residuals are of no use without compression.
  job.expect_all_ended_well();
  EXPECT_EQ(job.last_tensors().size(), 12u);
}

}  // namespace
}  // namespace shoal::testing
