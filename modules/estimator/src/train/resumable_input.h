// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A trainer's input from its opening on: what types it has, and its moves to where the job says that this trainer was.
#include <optional>
#include <string>

#include "evaluate/evaluation.h"
#include "train/train_scope.h"
#include "train/training_loop.h"

namespace shoal {

/// It is used on the compute thread, but for the plain questions.
class ResumableInput {
 public:
  /// The input of trainer `replica` of those that this process computes for; 0 is the process's own.
  explicit ResumableInput(TrainScope& scope, int replica = 0);

  /// Opens the input and draws a first batch, which tells its types. An empty input has none, unless the request names
  /// another one that has (types_from). `bounded`: training ends at some step, whatever the input does.
  Result<void> open(bool bounded);
  /// The types; nothing if they are not known, since the input is empty.
  const std::optional<InputTypes>& types() const { return types_; }
  /// What symbols of the model's inputs are in the first batch; the smallest that can be for an empty input.
  Result<SymbolSizes> first_sizes(const BuiltModel& model) const;
  /// What the training loop draws from.
  TrainingInput& drawn() { return input_; }

  /// The input continues at `position`. Without one no batch of this trainer counts (yet, or any more), so it begins at the
  /// start. An input that cannot tell positions stays where it is.
  Result<void> move_to(const std::optional<std::string>& position);
  /// Begins again at the start, where nothing was trained on yet: the seed of the run is another one than it seemed.
  Result<void> reseed();
  /// The number of this start of the run, by which passes that begin where others have ended differ.
  void set_pass(int64_t pass) { pass_ = pass; }
  /// False if the input cannot say where it is: it begins anew with each process.
  bool tells_positions() const { return !start_position_.empty(); }
  /// Whether move_to() would go on at `position`, as far as that shows without the move.
  bool has_place(const std::string& position) const;
  /// True if it went on somewhere behind its start.
  bool is_resumed() const { return resumed_; }

 private:
  Result<void> learn_types_elsewhere();
  Result<void> begin_anew();
  Result<void> begin_new_pass();
  Result<void> begin_by(int64_t run_seed);

  TrainScope& scope_;
  const int replica_;
  const Estimator estimator_;  // The estimator as that trainer sees it.
  std::optional<data::Dataset> dataset_;
  TrainingInput input_;
  std::string start_position_;  // The position before anything was drawn; empty if the input cannot tell.
  bool resumed_ = false;
  int64_t pass_ = 0;
  std::optional<InputTypes> types_;
};

}  // namespace shoal
