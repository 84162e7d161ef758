// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Ends the training of one task: tells the servers, and writes to model_dir and to the log.
#include <memory>
#include <optional>
#include <string>

#include "shoal/cluster/remote_store.h"
#include "train/train_setup.h"
#include "train/trainer_folder.h"

namespace shoal {

inline constexpr auto kLeaveTimeout = std::chrono::seconds(10);  // The time for the last messages to servers.

/// Has one function for each way in which a training ends.
class TrainEnd {
 public:
  TrainEnd(TrainScope& scope, TrainerFolder& folder) : scope_(scope), folder_(folder) {}

  /// For a chief, before it writes to its folder: asks all servers to let it lead, and waits for those that are not there
  /// yet. Unavailable if another chief leads one of them, and is alive; the error names it. The servers keep the place for
  /// this process until give_up_claim().
  Task<Result<void>> claim_servers();
  /// Shows the servers that claim_servers() asked, until `stop`, that this process is alive.
  Task<Result<void>> keep_claim(StopToken stop);
  /// Called once the connections of the set-up lead the servers, or have failed to.
  void give_up_claim();
  /// Called after the set-up. From then on this object also tells the servers, if there are any, that the task ends.
  /// `setup` outlives this object.
  void take(TrainSetup& setup) { setup_ = &setup; }
  /// True if servers know this task, so that the task has to tell them of its end.
  bool has_servers() const { return servers() != nullptr; }
  /// Records how far training came. `input_resumed`: true if the input began at a later position than its start.
  void reached(const LoopEnd& end, bool input_resumed);
  void ends_for(checkpoint::EndReason reason) { end_.reason = reason; }
  checkpoint::EndReason reason() const { return end_.reason; }

  /// Ends the job after its last step and its last checkpoint.
  Task<Result<void>> finish();
  /// For a task with nothing to train, because the newest checkpoint is at max_steps or the run has ended: tells servers
  /// that the job has ended. input_fn is not called.
  Task<Result<void>> nothing_to_do();
  /// Ends a task whose training input is empty and has unknown types, so that no model can be built. Returns
  /// InvalidArgument. Only a local Estimator::train() in a folder with a checkpoint logs a warning instead.
  /// `evaluation_too`: true if the evaluation input is empty as well.
  Result<void> without_input(bool evaluation_too);
  /// For a task that is to be started again, and then to continue: closes files, and tells the servers that this trainer
  /// has not finished.
  Task<void> give_way();
  /// For a task that arrived after the end of the job: only logs that.
  void came_too_late();
  /// Tells the other tasks of the error `why` if a restart of this task would lead to the same error. Does nothing for
  /// other errors.
  Task<void> fail(Error why);
  /// Ends the job after an interrupt that came while there were no servers. `began`: training had begun before.
  Task<Result<void>> interrupted(bool began);

  TrainOutcome outcome() const;

 private:
  cluster::RemoteStore* servers() const { return setup_ ? setup_->servers : alone_.get(); }
  cluster::JobEnd clean_end() const { return {.failed = false, .reason = std::string(checkpoint::to_string(end_.reason))}; }
  std::string last_checkpoint() const;
  Result<void> close_events();
  Result<void> tell_session_end(monitor::SessionStatus status);
  Result<void> tell_failed_session();
  Result<void> finish_folder();
  Result<void> write_end_mark();
  Result<void> make_store_without_plan(Duration patience);
  Task<Result<void>> announce(cluster::JobEnd end, Duration patience);
  Task<void> leave();
  void warn_that_no_step_was_made(bool input_resumed);
  void say_how_it_ended();

  TrainScope& scope_;
  TrainerFolder& folder_;
  TrainSetup* setup_ = nullptr;  // Null before take(): training may end before its set-up.
  // Connections without a model. Used if setup_ is null: they claim the servers, and tell them of the end.
  std::unique_ptr<cluster::RemoteStore> alone_;
  LoopEnd end_;
};

}  // namespace shoal
