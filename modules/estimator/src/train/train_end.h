// SPDX-License-Identifier: Apache-2.0
#pragma once
/// How the training of one task ends: what is said to servers, in model_dir and in the log.
#include <memory>
#include <optional>
#include <string>

#include "shoal/cluster/remote_store.h"
#include "train/train_setup.h"
#include "train/trainer_folder.h"

namespace shoal {

inline constexpr auto kLeaveTimeout = std::chrono::seconds(10);  // The time for what is said to servers when leaving.

/// Each way in which a training ends is a function here.
class TrainEnd {
 public:
  TrainEnd(TrainScope& scope, TrainerFolder& folder) : scope_(scope), folder_(folder) {}

  /// From now on there are servers that can be told, and perhaps checkpoints of this run. `setup` outlives this.
  void take(TrainSetup& setup) { setup_ = &setup; }
  /// Servers know this task, so that they are to be told what becomes of it.
  bool has_servers() const { return servers() != nullptr; }
  /// How far training came. `input_resumed`: its input had gone on behind its start.
  void reached(const LoopEnd& end, bool input_resumed);
  void ends_for(checkpoint::EndReason reason) { end_.reason = reason; }
  checkpoint::EndReason reason() const { return end_.reason; }

  /// Called after the last step and the last checkpoint.
  Task<Result<void>> finish();
  /// The newest checkpoint is at max_steps already, or the run had ended before this task came back: servers are only
  /// told. input_fn is not called.
  Task<Result<void>> nothing_to_do();
  /// Nobody can train: the input is empty, and its types are not known.
  Task<Result<void>> without_input();
  /// The task gives way, and its next process goes on: files are closed, and servers do not take the trainer for done.
  Task<void> give_way();
  /// This task came when the job had ended.
  void came_too_late();
  /// Tells the other tasks of an error that a restart of this task would meet again. Does nothing for other errors.
  Task<void> fail(Error why);
  /// An interrupt while there were no servers. `began`: it had trained before.
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
  TrainSetup* setup_ = nullptr;                  // Null if the end comes before there is a set-up.
  std::unique_ptr<cluster::RemoteStore> alone_;  // Servers of a chief that has nothing to train, and so no set-up.
  LoopEnd end_;
};

}  // namespace shoal
