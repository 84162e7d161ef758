// SPDX-License-Identifier: Apache-2.0
#include "evaluate/predictor.h"

#include <algorithm>
#include <cstring>

#include "shoal/base/names_text.h"
#include "shoal/base/nearest_text.h"

namespace shoal {

namespace {

/// The error for keys that name no prediction.
Error unknown_keys(const std::vector<std::string>& keys, const std::vector<std::string>& available) {
  return invalid_argument("predict: there is no prediction " + comma_separated(keys) + did_you_mean(keys[0], available) +
                          "; there are: " + comma_separated(available));
}

}  // namespace

Result<std::unique_ptr<Predictor>> Predictor::make(std::unique_ptr<BuiltModel> model, LoadedVariables variables,
                                                   const std::vector<std::string>& keys, const NamedValues& fetches) {
  std::unique_ptr<Predictor> predictor(new Predictor(std::move(model), std::move(variables)));
  SHOAL_TRY_VOID(predictor->choose(keys, fetches));
  return predictor;
}

Result<void> Predictor::choose(const std::vector<std::string>& keys, const NamedValues& fetches) {
  const EstimatorSpec& spec = model_->spec();
  const bool lone = spec.predictions.size() == 1 && spec.predictions[0].first.empty();
  if (lone && !keys.empty())
    return invalid_argument("predict: the model predicts one tensor without a name; leave keys out");
  std::vector<std::string> available;
  const auto asked = [&keys](const std::string& name) {
    return keys.empty() || std::find(keys.begin(), keys.end(), name) != keys.end();
  };
  std::vector<Value> values;
  for (const auto& [name, value] : spec.predictions) {
    available.push_back(name);
    const bool source =
        std::any_of(spec.text_predictions.begin(), spec.text_predictions.end(),
                    [&, &name = name](const auto& text) { return text.source() == name && asked(text.key()); });
    if (!asked(name) && !source) continue;
    values.push_back(value);
    names_.push_back(name);
    wanted_.push_back(asked(name));
  }
  for (const nn::TextPrediction& text : spec.text_predictions) {
    available.push_back(text.key());
    if (asked(text.key())) texts_.push_back(&text);
  }
  if (values.empty()) return unknown_keys(keys, available);
  std::vector<Value> sometimes;
  for (const auto& [name, value] : fetches) sometimes.push_back(value);
  model_->set_values(std::move(values), std::move(sometimes), {});
  return {};
}

Result<std::vector<std::pair<std::string, Tensor>>> Predictor::compute_once(const NamedValues& values,
                                                                            const data::Batch& batch) {
  const auto bind = [this](const backends::Program& program) { return variables_.bind(program); };
  return model_->compute_once(values, batch, bind, {});
}

Result<data::TensorMap> Predictor::predict(data::Batch& batch, const StepRequest& request, StepValues* hook_values) {
  batch.labels = {};
  SHOAL_TRY(const int64_t size, batch_size(batch));
  SHOAL_TRY(const SymbolSizes sizes, model_->sizes_of(batch));
  SHOAL_TRY(BoundProgram * program, model_->program(sizes, request.fetches()));
  SHOAL_TRY_VOID(model_->check_feeds(*program, request.feeds()));
  SHOAL_TRY_VOID(model_->feed(*program, batch, request.feeds()));
  SHOAL_TRY(const std::vector<backends::Pieces> variables, variables_.bind(*program->program));
  SHOAL_TRY_VOID(program->program->run({.inputs = program->inputs,
                                        .variables = variables,
                                        .updates = {},
                                        .weights = {1, 1},
                                        .key = {},
                                        .observer = request.observer()}));
  data::TensorMap results;
  const std::span<const TensorView> fetched = program->program->fetched();
  for (size_t i = 0; i < names_.size(); ++i) {
    if (!wanted_[i]) continue;
    Tensor copy(fetched[i].dtype, fetched[i].shape);
    if (copy.bytes() > 0) std::memcpy(copy.mutable_view().data, fetched[i].data, copy.bytes());
    results.set(names_[i], std::move(copy));
  }
  for (const nn::TextPrediction* text : texts_) {
    const size_t source = size_t(std::find(names_.begin(), names_.end(), text->source()) - names_.begin());
    SHOAL_CHECK(source < names_.size());
    SHOAL_TRY(Tensor words, text->map(fetched[source]));
    results.set(text->key(), std::move(words));
  }
  if (hook_values) {
    hook_values->set(0, size, fetched.size() > names_.size());
    for (size_t i = names_.size(); i < fetched.size(); ++i) hook_values->values()[i - names_.size()].second = fetched[i];
  }
  return results;
}

}  // namespace shoal
