// SPDX-License-Identifier: Apache-2.0
#include "logits_head.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "shoal/base/format.h"
#include "shoal/graph/ops.h"
#include "shoal/graph/text_ids.h"
#include "shoal/nn/binary_metrics.h"

namespace shoal::nn {

Value all_class_ids(Value class_ids, int64_t classes) {
  std::vector<float> ids(static_cast<size_t>(classes));
  std::iota(ids.begin(), ids.end(), 0.0f);  // A float is exact for the ids of up to 2^24 classes.
  const Value row = class_ids.graph().constant(Tensor::of<float>(Shape{classes}, std::span<const float>(ids)));
  return ops::cast(ops::add(ops::scale(as_floats(class_ids), 0), row), DType::kInt64);
}

ExportSignature classification(std::string classes) {
  return {.name = "classification", .outputs = {{"scores", "probabilities"}, {"classes", std::move(classes)}}};
}

ExportSignature predict_signature(const HeadOutput& output) {
  ExportSignature all{.name = "predict", .outputs = {}};
  for (const auto& [key, value] : output.predictions) all.outputs.emplace_back(key, key);
  for (const TextPrediction& text : output.text_predictions) all.outputs.emplace_back(text.key(), text.key());
  return all;
}

void add_threshold_metrics(std::vector<std::pair<std::string, Metric>>& metrics, const std::vector<double>& thresholds,
                           Value labels, Value probabilities, Value weights) {
  for (const double threshold : thresholds) {
    const std::string at = "/positive_threshold_" + shortest_text(threshold);
    const LabelsAndPredictions pair{.labels = labels, .predictions = probabilities};
    const BinaryMetricOptions options{.weights = weights, .threshold = threshold};
    metrics.emplace_back("accuracy" + at, binary_accuracy(pair, options));
    metrics.emplace_back("precision" + at, precision(pair, options));
    metrics.emplace_back("recall" + at, recall(pair, options));
  }
}

Value LogitsHead::Evaluated::prediction(std::string_view key) const {
  const auto at =
      std::find_if(predictions.begin(), predictions.end(), [&](const auto& entry) { return entry.first == key; });
  SHOAL_CHECK(at != predictions.end());
  return at->second;
}

Value LogitsHead::class_weights_of(Value) const { return {}; }

void LogitsHead::check_logits(Value logits) const {
  const bool fits = logits.valid() && logits.rank() >= 2 && logits.dtype() == DType::kFloat32 &&
                    logits.shape()[logits.rank() - 1] == Dim(common_.logits_dimension);
  if (fits) return;
  refuse("logits are " + described(logits) + ", expected float32 [batch, ..., " + std::to_string(common_.logits_dimension) +
         "]");
}

Value LogitsHead::per_example(std::string_view what, Value value, Value logits) const {
  const DimShape wanted = without_last(logits.shape());
  if (value.shape() == wanted) return value;
  if (value.shape() == with_last(wanted, Dim(1))) return ops::reshape(value, wanted);
  refuse(std::string(what) + " are " + described(value) + ", logits " + described(logits) + "; expected " +
         std::string(what) + " of shape " + to_string(wanted) + " or " + to_string(with_last(wanted, Dim(1))));
}

Value LogitsHead::single_labels(const HeadInput& input) const {
  if (input.labels.empty()) {
    refuse("there are no labels in mode " + std::string(to_string(input.mode)) +
           "; check that input_fn returns (features, labels) pairs and that model_fn passes them on");
  }
  if (input.labels.size() != 1) {
    refuse("expected one tensor of labels, but they have names: " + input.labels.names() + "; give the head one of them");
  }
  const Value labels = input.labels.begin()->second;
  if (!labels.valid()) refuse("the labels are no value of a graph");
  return labels;
}

Value LogitsHead::weights_of(const HeadInput& input) const {
  if (common_.weight_column.empty()) return {};
  const Value* const column = input.features.find(common_.weight_column);
  if (column == nullptr) {
    refuse("there is no feature \"" + common_.weight_column +
           "\" to take example weights from; features: " + input.features.names());
  }
  if (!column->valid() || column->dtype() == DType::kString) {
    refuse("feature \"" + common_.weight_column + "\" is " + described(*column) + "; example weights are numbers");
  }
  if (common_.weights_per_logit && column->shape() == input.logits.shape()) return as_floats(*column);
  return as_floats(per_example("weights", *column, input.logits));
}

std::shared_ptr<const Vocabulary> LogitsHead::vocabulary_of(const std::vector<std::string>& names, int64_t classes) const {
  if (names.empty()) return nullptr;
  auto vocabulary = Vocabulary::make(names);
  if (!vocabulary) raise(std::move(vocabulary).error().with_context(who()));
  if (vocabulary->size() != classes) {
    refuse("the label vocabulary has " + std::to_string(vocabulary->size()) + " names, and there are " +
           std::to_string(classes) + " classes");
  }
  return std::make_shared<const Vocabulary>(std::move(*vocabulary));
}

Value LogitsHead::numbers_of(Value labels, const std::shared_ptr<const Vocabulary>& vocabulary,
                             std::vector<std::string> missing) const {
  const bool text = labels.dtype() == DType::kString;
  if (text && !vocabulary) {
    refuse("labels are text, but the head has no label_vocabulary to turn them into class ids; give it one");
  }
  if (!text && vocabulary) {
    refuse("labels are " + described(labels) +
           ", but the head has a label vocabulary: give the names as text, or leave the vocabulary out");
  }
  if (!text) return labels;
  return text_ids(labels, {.vocabulary = vocabulary, .refuse_unknown = true, .missing = std::move(missing)});
}

void LogitsHead::check_thresholds(const std::vector<double>& thresholds) const {
  for (const double threshold : thresholds) {
    if (!(threshold > 0 && threshold < 1)) refuse("threshold " + shortest_text(threshold) + " is not in (0, 1)");
  }
}

void LogitsHead::check_class_weights(const std::vector<double>& weights, int64_t classes) const {
  if (weights.empty()) return;
  if (int64_t(weights.size()) != classes) {
    refuse("there are " + std::to_string(weights.size()) + " class_weights for " + std::to_string(classes) + " classes");
  }
  for (const double weight : weights) {
    if (!(weight >= 0 && std::isfinite(weight)))
      refuse("class weight " + shortest_text(weight) + " is not a finite number >= 0");
  }
}

Value LogitsHead::looked_up(const std::vector<double>& weights, Value ids) {
  if (weights.empty()) return {};
  const std::vector<float> values(weights.begin(), weights.end());
  const Shape shape{int64_t(values.size())};
  return ops::gather(ids.graph().constant(Tensor::of<float>(shape, std::span<const float>(values))), ids);
}

namespace {

/// Multiplies losses by `weights`, if there are any. The shape of `weights` is that of the losses, or the same without the
/// losses' last axis; then one weight is for all losses along that axis.
Value weighted(Value losses, Value weights) {
  if (!weights.valid()) return losses;
  const bool per_loss = weights.shape() == losses.shape();
  return ops::mul(losses, per_loss ? weights : ops::reshape(weights, with_last(weights.shape(), Dim(1))));
}

}  // namespace

HeadOutput LogitsHead::describe(const HeadInput& input) const {
  check_logits(input.logits);
  Graph& graph = input.logits.graph();
  const auto scope = graph.scope(common_.name.empty() ? "head" : common_.name);
  MeaningFact fact{.kind = common_.kind, .values = {{"logits", std::to_string(common_.logits_dimension)}}};
  add_meaning(fact);
  graph.meaning().add(common_.name.empty() ? "head" : "head/" + common_.name, std::move(fact));
  HeadOutput output;
  add_predictions(output, input.logits);
  if (input.mode == Mode::kPredict) {
    output.signatures = signatures();
    SHOAL_CHECK(!output.signatures.empty());
    output.signatures.insert(output.signatures.begin(), {std::string(kDefaultSignature), output.signatures[0].outputs});
    output.signatures.push_back(predict_signature(output));
    return output;
  }

  const Value labels = labels_of(single_labels(input), input.logits);
  const Value weights = weights_of(input);
  const Value losses = losses_of(labels, input.logits);
  output.loss =
      reduce_loss(weighted(weighted(losses, weights), class_weights_of(labels)), {.reduction = common_.loss_reduction});
  if (input.mode != Mode::kEval) return output;
  for (auto& [key, metric] : metrics_of({output.predictions, labels, losses, weights})) {
    output.metrics.emplace_back(common_.name.empty() ? key : key + "/" + common_.name, std::move(metric));
  }
  return output;
}

}  // namespace shoal::nn
