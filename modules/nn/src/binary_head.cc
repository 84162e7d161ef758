// SPDX-License-Identifier: Apache-2.0
#include "logits_head.h"
#include "shoal/graph/ops.h"
#include "shoal/nn/binary_metrics.h"

namespace shoal::nn {
namespace {

class BinaryHead final : public LogitsHead {
 public:
  explicit BinaryHead(BinaryHeadOptions options)
      : LogitsHead({.kind = "binary_head",
                    .name = options.name,
                    .logits_dimension = 1,
                    .weight_column = options.weight_column,
                    .loss_reduction = options.loss_reduction}),
        thresholds_(std::move(options.thresholds)),
        class_weights_(std::move(options.class_weights)) {
    check_thresholds(thresholds_);
    check_class_weights(class_weights_, 2);
    vocabulary_ = vocabulary_of(options.label_vocabulary, 2);
  }

 private:
  void add_meaning(MeaningFact& fact) const override {
    if (vocabulary_) fact.lists["classes"] = MeaningList::of(vocabulary_->names());
  }

  void add_predictions(HeadOutput& output, Value logits) const override {
    const Value logistic = ops::sigmoid(logits);
    // Compares the probability and not the logit, since the two round differently; a tie is class 0.
    const Value class_ids = ops::cast(ops::greater(logistic, logits.graph().constant(0.5f)), DType::kInt64);
    output.predictions = {{"logits", logits},
                          {"logistic", logistic},
                          {"probabilities", ops::concat({ops::sigmoid(-logits), logistic}, -1)},
                          {"class_ids", class_ids},
                          {"all_class_ids", all_class_ids(class_ids, 2)}};
    output.text_predictions = {{"classes", "class_ids", vocabulary_}, {"all_classes", "all_class_ids", vocabulary_}};
  }

  std::vector<ExportSignature> signatures() const override {
    return {classification("all_classes"), {.name = "regression", .outputs = {{"outputs", "logistic"}}}};
  }

  Value labels_of(Value labels, Value logits) const override {
    const Value ids = per_example("labels", numbers_of(labels, vocabulary_, {}), logits);
    return as_floats(ops::check_range(ids, {.low = 0, .high = 1, .whole = true, .what = "label"}));
  }

  Value losses_of(Value labels, Value logits) const override {
    return sigmoid_cross_entropy({.labels = labels, .logits = ops::reshape(logits, labels.shape())});
  }
  Value class_weights_of(Value labels) const override {
    return class_weights_.empty() ? Value() : looked_up(class_weights_, ops::cast(labels, DType::kInt64));
  }

  std::vector<std::pair<std::string, Metric>> metrics_of(const Evaluated& evaluated) const override {
    const Value labels = evaluated.labels;
    const Value logistic = ops::reshape(evaluated.prediction("logistic"), labels.shape());
    const LabelsAndPredictions pair{.labels = labels, .predictions = logistic};
    // Areas under curves compare examples, and probabilities near 1 are equal in float32 where logits still differ.
    const LabelsAndLogits by_logits{.labels = labels,
                                    .logits = ops::reshape(evaluated.prediction("logits"), labels.shape())};
    const MetricOptions weights{.weights = evaluated.weights};
    const BinaryMetricOptions options{.weights = evaluated.weights};
    std::vector<std::pair<std::string, Metric>> metrics{{"average_loss", mean(evaluated.losses, weights)},
                                                        {"accuracy", binary_accuracy(pair, options)},
                                                        {"precision", precision(pair, options)},
                                                        {"recall", recall(pair, options)},
                                                        {"auc", auc(by_logits, weights)},
                                                        {"auc_precision_recall", auc_precision_recall(by_logits, weights)},
                                                        {"accuracy_baseline", accuracy_baseline(labels, weights)},
                                                        {"label/mean", mean(labels, weights)},
                                                        {"prediction/mean", mean(logistic, weights)}};
    add_threshold_metrics(metrics, thresholds_, labels, logistic, evaluated.weights);
    return metrics;
  }

  std::vector<double> thresholds_;
  std::vector<double> class_weights_;
  std::shared_ptr<const Vocabulary> vocabulary_;
};

}  // namespace

std::unique_ptr<Head> binary_head(BinaryHeadOptions options) { return std::make_unique<BinaryHead>(std::move(options)); }

}  // namespace shoal::nn
