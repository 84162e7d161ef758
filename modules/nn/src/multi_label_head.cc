// SPDX-License-Identifier: Apache-2.0
#include "logits_head.h"
#include "shoal/graph/ops.h"
#include "shoal/nn/binary_metrics.h"

namespace shoal::nn {
namespace {

class MultiLabelHead final : public LogitsHead {
 public:
  explicit MultiLabelHead(MultiLabelHeadOptions options)
      : LogitsHead({.kind = "multi_label_head",
                    .name = options.name,
                    .logits_dimension = options.n_classes,
                    .weight_column = options.weight_column,
                    .loss_reduction = options.loss_reduction}),
        thresholds_(std::move(options.thresholds)),
        classes_(std::move(options.classes_for_class_based_metrics)),
        labels_are_ids_(options.labels_are_ids) {
    if (options.n_classes < 2) refuse("n_classes is " + std::to_string(options.n_classes) + ", expected 2 or more");
    check_thresholds(thresholds_);
    for (const int64_t id : classes_) {
      if (id < 0 || id >= options.n_classes) {
        refuse("classes_for_class_based_metrics has " + std::to_string(id) + ", which is outside [0, " +
               std::to_string(options.n_classes) + ")");
      }
    }
    vocabulary_ = vocabulary_of(options.label_vocabulary, options.n_classes);
  }

 private:
  void add_meaning(MeaningFact& fact) const override {
    if (vocabulary_) fact.lists["classes"] = MeaningList::of(vocabulary_->names());
  }

  void add_predictions(HeadOutput& output, Value logits) const override {
    output.predictions = {{"logits", logits}, {"probabilities", ops::sigmoid(logits)}};
    output.text_predictions = {TextPrediction::of_positions("classes", "probabilities", vocabulary_)};
  }

  std::vector<ExportSignature> signatures() const override { return {classification("classes")}; }

  /// Returns float32 [..., n_classes], each 0 or 1.
  Value labels_of(Value labels, Value logits) const override {
    const bool lists = labels_are_ids_ || labels.dtype() == DType::kString;
    const Value numbers = numbers_of(labels, vocabulary_, {""});
    if (!lists) {
      if (numbers.shape() != logits.shape()) {
        refuse("labels are " + described(labels) + ", logits " + described(logits) +
               "; expected one label, 0 or 1, for each logit (for lists of ids set labels_are_ids)");
      }
      return as_floats(ops::check_range(numbers, {.low = 0, .high = 1, .whole = true, .what = "label"}));
    }
    const DimShape wanted = without_last(logits.shape());
    const bool fits = numbers.rank() == logits.rank() && without_last(numbers.shape()) == wanted;
    if (!fits || (numbers.dtype() != DType::kInt64 && numbers.dtype() != DType::kInt32)) {
      refuse("labels are " + described(labels) + ", logits " + described(logits) +
             "; expected ids (int64 or int32) of shape " + to_string(with_last(wanted, Dim::symbol("L"))) +
             ", or text of that shape with a label vocabulary");
    }
    return ops::minimum(ops::multi_hot(numbers, logits_dimension()), logits.graph().constant(1.0f));
  }

  Value losses_of(Value labels, Value logits) const override {
    return ops::reduce_mean(sigmoid_cross_entropy({.labels = labels, .logits = logits}), {.axes = {-1}});
  }

  std::vector<std::pair<std::string, Metric>> metrics_of(const Evaluated& evaluated) const override {
    const Value probabilities = evaluated.prediction("probabilities");
    // Areas under curves compare examples, and probabilities near 1 are equal in float32 where logits still differ.
    const Value logits = evaluated.prediction("logits");
    const LabelsAndLogits all{.labels = evaluated.labels, .logits = logits};
    const MetricOptions weights{.weights = evaluated.weights};
    std::vector<std::pair<std::string, Metric>> metrics{{"average_loss", mean(evaluated.losses, weights)},
                                                        {"auc", auc(all, weights)},
                                                        {"auc_precision_recall", auc_precision_recall(all, weights)}};
    add_threshold_metrics(metrics, thresholds_, evaluated.labels, probabilities, evaluated.weights);
    for (const int64_t id : classes_) {
      const std::string name = vocabulary_ ? vocabulary_->name(id) : "class" + std::to_string(id);
      const LabelsAndLogits of_class{.labels = column(evaluated.labels, id), .logits = column(logits, id)};
      metrics.emplace_back("probability_mean/" + name, mean(column(probabilities, id), weights));
      metrics.emplace_back("auc/" + name, auc(of_class, weights));
      metrics.emplace_back("auc_precision_recall/" + name, auc_precision_recall(of_class, weights));
    }
    return metrics;
  }

  /// Element `id` of the last axis. The result does not have that axis.
  static Value column(Value x, int64_t id) {
    std::vector<ops::SliceRange> ranges(size_t(x.rank()));
    ranges.back() = {.begin = id, .size = 1};
    return ops::reshape(ops::slice(x, ranges), without_last(x.shape()));
  }

  std::vector<double> thresholds_;
  std::vector<int64_t> classes_;
  bool labels_are_ids_;
  std::shared_ptr<const Vocabulary> vocabulary_;
};

}  // namespace

std::unique_ptr<Head> multi_label_head(MultiLabelHeadOptions options) {
  return std::make_unique<MultiLabelHead>(std::move(options));
}

}  // namespace shoal::nn
