// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The training run after the set-up: makes the model ready, trains, recovers from lost servers, and brings the job to its
/// end.
#include "train/resumable_input.h"
#include "train/train_end.h"
#include "train/train_setup.h"
#include "train/trainer_folder.h"
#include "train/training_loop.h"

namespace shoal {

class TrainRun {
 public:
  /// All arguments but `setup` outlive the object.
  TrainRun(TrainScope& scope, TrainerFolder& folder, const std::vector<std::unique_ptr<ResumableInput>>& inputs,
           TrainEnd& end, TrainSetup setup);

  /// Runs to a clean end, or returns the error that ends the run.
  Task<Result<void>> run();
  /// True if training may have made a step.
  bool has_begun() const { return begun_; }
  /// True if run() failed with `error` since the job has ended without this task: a server, or the end mark in model_dir,
  /// says so.
  bool ends_with_the_job(const Error& error) const;
  /// The last weights, after a clean end of run(); null unless they were asked for (TrainRequest::keep_weights).
  std::shared_ptr<const TrainedWeights> weights() const { return weights_; }

 private:
  LoopOptions loop_options();
  Result<void> adopt_run(const cluster::RunIdentity& run);
  Result<void> move_inputs(const cluster::Ready& ready);
  Task<Result<cluster::Ready>> make_ready();
  Task<Result<cluster::Ready>> recover();
  Task<Result<void>> train(cluster::Ready ready);
  Task<Result<void>> close(TrainingLoop& loop);
  Task<Result<bool>> give_way(TrainingLoop& loop);
  Task<Result<void>> rest();
  void forget_void_ends(CheckpointSource& checkpoint);

  TrainScope& scope_;
  Environment& env_;
  TrainerFolder& folder_;
  const std::vector<std::unique_ptr<ResumableInput>>& inputs_;  // One input for each replica.
  TrainEnd& end_;
  TrainSetup setup_;
  bool begun_ = false;
  bool job_is_over_ = false;  // True if this worker lost the servers and then learned that the job has ended.
  std::shared_ptr<const TrainedWeights> weights_;
  SteadyTime made_ready_{};  // When the servers last had a model that is ready for training: at the start or a recovery.
};

}  // namespace shoal
