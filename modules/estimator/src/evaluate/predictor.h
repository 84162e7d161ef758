// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A built PREDICT model with its weights: from features to named predictions.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "evaluate/evaluation.h"
#include "model/model.h"
#include "shoal/base/environment.h"

namespace shoal {

class Predictor {
 public:
  /// `keys`: the predictions wanted; empty: all. InvalidArgument naming them, and what there is, if none is a prediction, or
  /// keys are given for a lone prediction.
  static Result<std::unique_ptr<Predictor>> make(std::unique_ptr<BuiltModel> model, LoadedVariables variables,
                                                 const std::vector<std::string>& keys, const NamedValues& fetches = {});

  /// Predictions of the batch, each with the batch as first size. `request`: what hooks feed and whether they fetch;
  /// what is fetched goes to `values` (views, valid until the next call), which must be given then.
  Result<data::TensorMap> predict(data::Batch& batch, const StepRequest& request = {}, StepValues* values = nullptr);
  /// Values of hooks, once, from a batch that was predicted for.
  Result<std::vector<std::pair<std::string, Tensor>>> compute_once(const NamedValues& values, const data::Batch& batch);
  const BuiltModel& model() const { return *model_; }
  BuiltModel& model() { return *model_; }

 private:
  Predictor(std::unique_ptr<BuiltModel> model, LoadedVariables variables)
      : model_(std::move(model)), variables_(std::move(variables)) {}
  Result<void> choose(const std::vector<std::string>& keys, const NamedValues& fetches);

  std::unique_ptr<BuiltModel> model_;
  LoadedVariables variables_;
  std::vector<std::string> names_;  // Names of what is fetched, in order.
  std::vector<bool> wanted_;        // False for what is fetched only as a source of texts.
  std::vector<const nn::TextPrediction*> texts_;
};

}  // namespace shoal
