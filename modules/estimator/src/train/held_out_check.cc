// SPDX-License-Identifier: Apache-2.0
#include "train/held_out_check.h"

#include <memory>
#include <optional>

namespace shoal {
namespace {

/// Keeps the datasets of training and evaluation until both are known and compared. Then drops them, since they may hold
/// large tensors. Has no mutex, because train_and_evaluate() opens one input after the other.
class BothInputs {
 public:
  explicit BothInputs(Environment& env) : env_(env) {}

  void see(Mode mode, const data::Dataset& dataset) {
    if (compared_) return;
    (mode == Mode::kTrain ? training_ : evaluation_) = dataset;
    if (!training_ || !evaluation_) return;
    if (training_->overlaps_by_shuffle(*evaluation_)) {
      env_.log().warning(
          "the evaluation may measure elements that were trained on: both inputs take or skip elements behind the same "
          "shuffle, "
          "whose order is another one each time; take and skip (or split) first, and shuffle the training part behind "
          "that");
    }
    compared_ = true;
    training_.reset();
    evaluation_.reset();
  }

 private:
  Environment& env_;
  bool compared_ = false;
  std::optional<data::Dataset> training_, evaluation_;
};

InputFn seen_by(std::shared_ptr<BothInputs> inputs, Mode mode, InputFn input) {
  return [inputs = std::move(inputs), mode, input = std::move(input)](const InputContext& context) {
    data::Dataset dataset = input(context);
    inputs->see(mode, dataset);
    return dataset;
  };
}

}  // namespace

void warn_if_not_held_out(Environment& env, InputFn& training, InputFn& evaluation) {
  const auto inputs = std::make_shared<BothInputs>(env);
  training = seen_by(inputs, Mode::kTrain, std::move(training));
  evaluation = seen_by(inputs, Mode::kEval, std::move(evaluation));
}

}  // namespace shoal
