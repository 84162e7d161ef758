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
  /// `keys`: the names of the predictions to compute; empty: all. InvalidArgument if none of `keys` is the name of a
  /// prediction (the error lists the keys and the predictions), or if there are keys although the model's only prediction
  /// has no name.
  static Result<std::unique_ptr<Predictor>> make(std::unique_ptr<BuiltModel> model, LoadedVariables variables,
                                                 const std::vector<std::string>& keys, const NamedValues& fetches = {});

  /// Computes the predictions for a batch; the first axis of each prediction is the batch. `request` has the values that
  /// hooks feed, and says whether they fetch values. If they do, `values` must be given. It receives the fetched values as
  /// views, which are valid until the next call.
  Result<data::TensorMap> predict(data::Batch& batch, const StepRequest& request = {}, StepValues* values = nullptr);
  /// Computes `values` of the model from `batch`, with a program that is compiled for this call only.
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
  std::vector<bool> wanted_;        // For each fetched value: false if only a text prediction is made from it.
  std::vector<const nn::TextPrediction*> texts_;
};

}  // namespace shoal
