// SPDX-License-Identifier: Apache-2.0
#include "logits_head.h"
#include "shoal/graph/ops.h"

namespace shoal::nn {
namespace {

class MultiClassHead final : public LogitsHead {
 public:
  explicit MultiClassHead(MultiClassHeadOptions options)
      : LogitsHead({.kind = "multi_class_head",
                    .name = options.name,
                    .logits_dimension = options.n_classes,
                    .weight_column = options.weight_column,
                    .loss_reduction = options.loss_reduction}),
        class_weights_(std::move(options.class_weights)) {
    if (options.n_classes <= 2) {
      refuse("n_classes is " + std::to_string(options.n_classes) +
             ", expected more than 2; two classes are a binary head's");
    }
    check_class_weights(class_weights_, options.n_classes);
    vocabulary_ = vocabulary_of(options.label_vocabulary, options.n_classes);
  }

 private:
  void add_meaning(MeaningFact& fact) const override {
    if (vocabulary_) fact.lists["classes"] = MeaningList::of(vocabulary_->names());
  }

  void add_predictions(HeadOutput& output, Value logits) const override {
    const Value column = ops::reshape(ops::argmax(logits), with_last(without_last(logits.shape()), Dim(1)));
    output.predictions = {{"logits", logits},
                          {"probabilities", ops::softmax(logits)},
                          {"class_ids", column},
                          {"all_class_ids", all_class_ids(column, logits_dimension())}};
    output.text_predictions = {{"classes", "class_ids", vocabulary_}, {"all_classes", "all_class_ids", vocabulary_}};
  }

  std::vector<ExportSignature> signatures() const override { return {classification("all_classes")}; }

  /// Labels of type float32 are soft: a probability of each class.
  static bool is_soft(Value labels) { return labels.dtype() == DType::kFloat32; }

  Value labels_of(Value labels, Value logits) const override {
    if (is_soft(labels)) {
      if (labels.shape() != logits.shape()) {
        refuse("labels are float32 " + to_string(labels.shape()) +
               "; class ids have type int64, int32 or uint8 (ops::cast converts them), and probabilities of type float32 "
               "have the shape of the logits, " +
               to_string(logits.shape()));
      }
      if (!class_weights_.empty()) refuse("class_weights need labels that are ids, and these are probabilities");
      return labels;
    }
    const Value ids = per_example("labels", numbers_of(labels, vocabulary_, {}), logits);
    const DType dtype = ids.dtype();
    if (dtype == DType::kInt64) return ids;
    // Checks ids before their conversion to int64. Only an error about the batch's own tensor, and not about a converted
    // one, can say from where a row was read.
    if (dtype == DType::kInt32) {
      const auto highest = double(logits_dimension() - 1);
      return ops::cast(ops::check_range(ids, {.low = 0, .high = highest, .whole = true, .what = "label"}), DType::kInt64);
    }
    if (dtype == DType::kUInt8) return ops::cast(ids, DType::kInt64);
    refuse("labels are " + std::string(to_string(dtype)) +
           ", expected class ids of type int64, int32 or uint8, or probabilities of type float32");
  }

  Value losses_of(Value labels, Value logits) const override {
    return softmax_cross_entropy({.labels = labels, .logits = logits});
  }
  Value class_weights_of(Value labels) const override {
    return is_soft(labels) ? Value() : looked_up(class_weights_, labels);
  }

  std::vector<std::pair<std::string, Metric>> metrics_of(const Evaluated& evaluated) const override {
    const Value ids = is_soft(evaluated.labels) ? ops::argmax(evaluated.labels) : evaluated.labels;
    const Value class_ids = ops::reshape(evaluated.prediction("class_ids"), ids.shape());
    const MetricOptions weights{.weights = evaluated.weights};
    const LabelsAndPredictions pair{.labels = ids, .predictions = class_ids};
    constexpr int64_t kShownMax = 100;  // A confusion matrix of more classes is too large to be read as a picture.
    const int64_t classes = logits_dimension();
    return {{"average_loss", mean(evaluated.losses, weights)},
            {"accuracy", classes <= kShownMax ? class_accuracy(pair, {.classes = classes, .weights = evaluated.weights})
                                              : accuracy(pair, weights)}};
  }

  std::vector<double> class_weights_;
  std::shared_ptr<const Vocabulary> vocabulary_;
};

}  // namespace

std::unique_ptr<Head> multi_class_head(MultiClassHeadOptions options) {
  return std::make_unique<MultiClassHead>(std::move(options));
}

}  // namespace shoal::nn
