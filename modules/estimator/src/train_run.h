#pragma once
/// Training itself, from the moment that everything is set up: the model is made ready, steps are made, servers are lost
/// and found again, and the job is brought to its end.
#include "resumable_input.h"
#include "train_end.h"
#include "train_setup.h"
#include "trainer_folder.h"
#include "training_loop.h"

namespace shoal {

class TrainRun {
 public:
  /// All but the set-up outlive this.
  TrainRun(TrainScope& scope, TrainerFolder& folder, ResumableInput& input, TrainEnd& end, TrainSetup setup);

  /// To the clean end, or the error that ends it.
  Task<Result<void>> run();
  /// A step may have been made.
  bool has_begun() const { return begun_; }

 private:
  LoopOptions loop_options();
  Task<Result<cluster::Ready>> make_ready();
  Task<Result<cluster::Ready>> recover();
  Task<Result<void>> train(cluster::Ready ready);
  Task<Result<void>> close(TrainingLoop& loop);

  TrainScope& scope_;
  Environment& env_;
  TrainerFolder& folder_;
  ResumableInput& input_;
  TrainEnd& end_;
  TrainSetup setup_;
  bool begun_ = false;
};

}  // namespace shoal
