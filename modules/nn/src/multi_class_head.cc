#include <numeric>

#include "example_values.h"
#include "shoal/graph/ops.h"
#include "shoal/nn/head.h"

namespace shoal::nn {
namespace {

class MultiClassHead final : public Head {
 public:
  explicit MultiClassHead(MultiClassHeadOptions options);
  std::string_view name() const override { return options_.name; }
  int64_t logits_dimension() const override { return options_.n_classes; }
  HeadOutput build(const HeadInput& input) const override;

 private:
  std::string who() const { return options_.name.empty() ? "multi_class_head" : "multi_class_head " + options_.name; }
  std::string tagged(std::string key) const { return options_.name.empty() ? key : key + "/" + options_.name; }
  void check_logits(Value logits) const;
  Value labels_of(const HeadInput& input) const;
  Value weights_of(const HeadInput& input) const;
  void add_predictions(HeadOutput& output, Value logits, Value class_ids) const;
  void add_metrics(HeadOutput& output, Value losses, Value labels, Value class_ids, Value weights) const;
  TrainOp train_op_of(const HeadInput& input, Value loss) const;

  MultiClassHeadOptions options_;
  std::shared_ptr<const Vocabulary> vocabulary_;
};

MultiClassHead::MultiClassHead(MultiClassHeadOptions options) : options_(std::move(options)) {
  if (options_.n_classes <= 2) {
    raise(invalid_argument(who() + ": n_classes is " + std::to_string(options_.n_classes) +
                           ", expected more than 2; two classes are a binary head's"));
  }
  if (options_.label_vocabulary.empty()) return;
  auto vocabulary = Vocabulary::make(options_.label_vocabulary);
  if (!vocabulary) raise(std::move(vocabulary).error().with_context(who()));
  if (vocabulary->size() != options_.n_classes) {
    raise(invalid_argument(who() + ": the label vocabulary has " + std::to_string(vocabulary->size()) +
                           " names, n_classes is " + std::to_string(options_.n_classes)));
  }
  vocabulary_ = std::make_shared<const Vocabulary>(std::move(*vocabulary));
}

void MultiClassHead::check_logits(Value logits) const {
  if (!logits.valid()) raise(invalid_argument(who() + ": the logits are no value of a graph"));
  const bool fits = logits.rank() == 2 && logits.shape()[1] == Dim(options_.n_classes) && logits.dtype() == DType::kFloat32;
  if (fits) return;
  raise(invalid_argument(who() + ": logits are " + std::string(to_string(logits.dtype())) + " " + to_string(logits.shape()) +
                         ", expected float32 [batch, " + std::to_string(options_.n_classes) +
                         "]: one logit for each class"));
}

Value MultiClassHead::labels_of(const HeadInput& input) const {
  if (input.labels.empty()) {
    raise(invalid_argument(who() + ": there are no labels in mode " + std::string(to_string(input.mode)) +
                           "; check that input_fn returns (features, labels) pairs and that model_fn passes them on"));
  }
  if (!input.labels.is_single()) {
    raise(invalid_argument(who() + ": expected one tensor of labels, but they have names: " + input.labels.names() +
                           "; give the head one of them"));
  }
  const Value labels = per_example(who(), "labels", input.labels.single(), "logits", input.logits);
  const DType dtype = labels.dtype();
  if (dtype == DType::kInt64) return labels;
  if (dtype == DType::kInt32 || dtype == DType::kUInt8) return ops::cast(labels, DType::kInt64);
  raise(invalid_argument(who() + ": labels are " + std::string(to_string(dtype)) +
                         ", expected class ids of type int64, int32 or uint8"));
}

/// Float32 [batch], or an invalid Value where there is no weight column.
Value MultiClassHead::weights_of(const HeadInput& input) const {
  if (options_.weight_column.empty()) return {};
  const Value* const column = input.features.find(options_.weight_column);
  if (column == nullptr) {
    raise(invalid_argument(who() + ": there is no feature \"" + options_.weight_column +
                           "\" to take example weights from; features: " + input.features.names()));
  }
  const Value weights = per_example(who(), "weights", *column, "logits", input.logits);
  return weights.dtype() == DType::kFloat32 ? weights : ops::cast(weights, DType::kFloat32);
}

/// [batch, classes], each row 0, 1, ..., classes - 1. The catalogue has no broadcasting yet, so it is a dense layer whose
/// kernel is 0 and whose bias counts; exact up to 2^24 classes.
Value all_class_ids(Value class_ids, int64_t class_count) {
  Graph& graph = class_ids.graph();
  std::vector<float> ids(static_cast<size_t>(class_count));
  std::iota(ids.begin(), ids.end(), 0.0f);
  const Value kernel = graph.constant(Tensor::zeros(DType::kFloat32, Shape{class_count, 1}));
  const Value bias = graph.constant(Tensor::of<float>(Shape{class_count}, std::span<const float>(ids)));
  return ops::cast(ops::dense(ops::cast(class_ids, DType::kFloat32), kernel, bias), DType::kInt64);
}

void MultiClassHead::add_predictions(HeadOutput& output, Value logits, Value class_ids) const {
  const Value column = ops::reshape(class_ids, DimShape{class_ids.shape()[0], 1});
  output.predictions = {{"logits", logits},
                        {"probabilities", ops::softmax(logits)},
                        {"class_ids", column},
                        {"all_class_ids", all_class_ids(column, options_.n_classes)}};
  output.text_predictions = {{"classes", "class_ids", vocabulary_}, {"all_classes", "all_class_ids", vocabulary_}};
}

void MultiClassHead::add_metrics(HeadOutput& output, Value losses, Value labels, Value class_ids, Value weights) const {
  output.metrics.emplace_back(tagged("average_loss"), mean(losses, weights));
  output.metrics.emplace_back(tagged("accuracy"), accuracy(labels, class_ids, weights));
  if (const Value penalty = regularization_loss(losses.graph()); penalty.valid()) {
    output.metrics.emplace_back(tagged("regularization_loss"), mean(penalty));
  }
}

TrainOp MultiClassHead::train_op_of(const HeadInput& input, Value loss) const {
  if (input.optimizer.has_value() == bool(input.train_op)) {
    raise(invalid_argument(who() + ": training needs an optimizer or a train_op function, " +
                           (input.optimizer ? "not both" : "and neither was given")));
  }
  return input.optimizer ? input.optimizer->minimize(loss) : train_op(input.train_op(loss));
}

HeadOutput MultiClassHead::build(const HeadInput& input) const {
  check_logits(input.logits);
  const auto scope = input.logits.graph().scope(options_.name.empty() ? "head" : options_.name);
  const Value class_ids = ops::argmax(input.logits);
  HeadOutput output;
  output.mode = input.mode;
  output.label_mapping = LabelMapping(vocabulary_);
  add_predictions(output, input.logits, class_ids);
  if (input.mode == Mode::kPredict) return output;

  const Value labels = labels_of(input);
  const Value weights = weights_of(input);
  const Value losses = softmax_cross_entropy(input.logits, labels);
  output.loss = reduce_loss(losses, {.weights = weights, .reduction = options_.loss_reduction});
  if (const Value penalty = regularization_loss(output.loss.graph()); penalty.valid()) {
    output.loss = ops::add(output.loss, penalty);
  }
  if (input.mode == Mode::kEval) add_metrics(output, losses, labels, class_ids, weights);
  if (input.mode == Mode::kTrain) output.train_op = train_op_of(input, output.loss);
  return output;
}

}  // namespace

std::unique_ptr<Head> multi_class_head(MultiClassHeadOptions options) {
  return std::make_unique<MultiClassHead>(std::move(options));
}

}  // namespace shoal::nn
