// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A PREDICT model with its weights, ready to compute predictions from features.
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
  /// `keys`: the wanted predictions; empty: all. InvalidArgument, listing keys and predictions, if no key is a prediction,
  /// or if keys are given for a lone prediction without a name.
  static Result<std::unique_ptr<Predictor>> make(std::unique_ptr<BuiltModel> model, LoadedVariables variables,
                                                 const std::vector<std::string>& keys, const NamedValues& fetches = {});

  /// Predicts for a batch. Each prediction has the batch as its first axis. `request` says what hooks feed and whether they
  /// fetch; fetched values go to `values`, which must be given then (views, valid until the next call).
  Result<data::TensorMap> predict(data::Batch& batch, const StepRequest& request = {}, StepValues* values = nullptr);
  /// Computes values for hooks once, from a batch that was predicted before.
  Result<std::vector<std::pair<std::string, Tensor>>> compute_once(const NamedValues& values, const data::Batch& batch);
  const BuiltModel& model() const { return *model_; }
  BuiltModel& model() { return *model_; }

 private:
  Predictor(std::unique_ptr<BuiltModel> model, LoadedVariables variables)
      : model_(std::move(model)), variables_(std::move(variables)) {}
  Result<void> choose(const std::vector<std::string>& keys, const NamedValues& fetches);

  std::unique_ptr<BuiltModel> model_;
  LoadedVariables variables_;
  std::vector<std::string> names_;  // The names of the fetched values, in order.
  std::vector<bool> wanted_;        // One flag per fetched value: false if it is fetched only to make a text from it.
  std::vector<const nn::TextPrediction*> texts_;
};

}  // namespace shoal
