// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A trainer's input: opens it, learns its types, and moves it to the position that the job has recorded for this trainer.
#include <optional>
#include <string>

#include "evaluate/evaluation.h"
#include "train/train_scope.h"
#include "train/training_loop.h"

namespace shoal {

/// The compute thread uses the object; other threads may call only the getters.
class ResumableInput {
 public:
  /// `replica`: the number of a trainer among those that this process computes for; 0 is the process's own trainer.
  explicit ResumableInput(TrainScope& scope, int replica = 0);

  /// Opens the input and draws a first batch to learn the types. If the input is empty, learns them from an element that
  /// the input leaves out (Dataset::typical_element()), or from the other input that the request names (types_from). If
  /// neither has an element, the types stay unknown. `bounded`: training ends at some step, whether or not the input does.
  Result<void> open(bool bounded);
  /// The types; nothing if they are unknown because the input is empty.
  const std::optional<InputTypes>& types() const { return types_; }
  /// True if the input named by the request (types_from) was asked for the types, and is empty, too.
  bool types_from_is_empty() const { return types_from_is_empty_; }
  /// The sizes of the symbols in the first batch; for an empty input the smallest possible ones.
  Result<SymbolSizes> first_sizes(const BuiltModel& model) const;
  /// The input that the training loop draws from.
  TrainingInput& drawn() { return input_; }

  /// Moves the input to `position`. If there is none, moves the input to its start, because the model then contains no
  /// update from this trainer's batches. An input that cannot tell its position stays where it is.
  Result<void> move_to(const std::optional<std::string>& position);
  /// Begins again at the start of the input, for a worker that has just learned the run's seed and not trained yet.
  Result<void> reseed();
  /// Sets the number of this start of the run. A new pass, which begins after the end of the input, takes its order from
  /// this number and so has another order than earlier passes.
  void set_pass(int64_t pass) { pass_ = pass; }
  /// False if the input cannot tell its position. Then each new process of the trainer reads from the start of the input.
  bool tells_positions() const { return !start_position_.empty(); }
  /// Whether move_to() could resume at `position`, as far as this can be seen without moving the input.
  bool has_place(const std::string& position) const;
  /// True if the input was moved to a position after its start.
  bool is_resumed() const { return resumed_; }

 private:
  Result<void> learn_types_elsewhere();
  Result<void> begin_anew();
  Result<void> begin_new_pass();
  Result<void> begin_by(int64_t run_seed);

  TrainScope& scope_;
  const int replica_;
  const Estimator estimator_;  // The estimator, with the config of this input's trainer.
  std::optional<data::Dataset> dataset_;
  TrainingInput input_;
  std::string start_position_;  // The position before anything was drawn; empty if the input cannot tell.
  bool resumed_ = false;
  int64_t pass_ = 0;
  std::optional<InputTypes> types_;
  bool types_from_is_empty_ = false;
};

}  // namespace shoal
