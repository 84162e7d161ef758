// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Whether the job that a task belongs to has ended, by the mark in model_dir (CONTRACT JE-2).
#include <optional>
#include <string>

#include "shoal/base/environment.h"
#include "shoal/checkpoint/end_mark.h"
#include "shoal/estimator/run_config.h"

namespace shoal {

class EndOfJob {
 public:
  /// Whom a mark convinces that says nothing of this job but was not there when the task started.
  enum class NewMarks {
    kObeyed,  ///< The chief wrote it since, so it is this job's.
    /// A server doubts: a chief that was killed behind its mark comes back, and may want the server to train on.
    kDoubted,
  };

  /// `config`: the task's own, and so is `max_steps`. The clock of ready_timeout_secs starts here.
  EndOfJob(Environment& env, RunConfig config, std::string model_dir, std::optional<int64_t> max_steps, NewMarks new_marks);

  /// Reads the mark that ends this task; nothing: there is none, or it is of an earlier run. Such a mark is told of in the
  /// log, once, and obeyed only where no chief comes to remove it until ready_timeout_secs are over (but for two seconds: a
  /// wait for a peer that ends then is no error). What the first call finds was there when the task started. Errors: those
  /// of read_end_mark(). On the compute thread.
  Result<std::optional<checkpoint::EndMark>> look();

 private:
  bool obeys(const checkpoint::EndMark& mark);

  Environment& env_;
  const RunConfig config_;
  const std::string model_dir_;
  const std::optional<int64_t> max_steps_;
  const NewMarks new_marks_;
  const SteadyTime started_;
  bool looked_ = false;
  std::optional<checkpoint::EndMark> at_start_;
};

}  // namespace shoal
