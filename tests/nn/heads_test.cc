// SPDX-License-Identifier: Apache-2.0
// Heads of CONTRACT 14 beside multi_class_head(): what each gives, what it refuses. Numbers against other
// implementations are in tests/torch/compare_heads.py.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "graph_runner.h"
#include "shoal/graph/ops.h"
#include "shoal/nn/dense.h"
#include "shoal/nn/head.h"

namespace shoal::nn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Tensor floats(Shape shape, const std::vector<float>& values) {
  return Tensor::of<float>(shape, std::span<const float>(values));
}
Tensor ids(Shape shape, const std::vector<int64_t>& values) {
  return Tensor::of<int64_t>(shape, std::span<const int64_t>(values));
}

class Heads : public testing::Test {
 protected:
  Value input(const char* name, DType dtype, std::vector<Dim> rest) {
    rest.insert(rest.begin(), batch_);
    return graph_.input(name, dtype, DimShape(std::move(rest)));
  }
  HeadOutput build(const Head& head, Mode mode, Value logits, ValueMap labels = {}, ValueMap features = {}) {
    HeadInput input{.mode = mode, .features = std::move(features), .labels = std::move(labels), .logits = logits};
    if (mode == Mode::kTrain) input.train_op = [](Value) { return TrainOp{}; };
    return head.build(input);
  }
  static Value find(const HeadOutput& output, const std::string& key) {
    for (const auto& [name, value] : output.predictions) {
      if (name == key) return value;
    }
    ADD_FAILURE() << "no prediction " << key;
    return {};
  }
  static std::vector<std::string> keys(const HeadOutput& output) {
    std::vector<std::string> keys;
    for (const auto& [key, value] : output.predictions) keys.push_back(key);
    for (const TextPrediction& text : output.text_predictions) keys.push_back(text.key());
    return keys;
  }
  static std::vector<std::string> metric_names(const HeadOutput& output) {
    std::vector<std::string> names;
    for (const auto& [name, metric] : output.metrics) names.push_back(name);
    return names;
  }
  /// "name: output=key output=key" of each signature.
  static std::vector<std::string> signatures(const HeadOutput& output) {
    std::vector<std::string> texts;
    for (const ExportSignature& signature : output.signatures) {
      std::string text = signature.name + ":";
      for (const auto& [name, key] : signature.outputs) text += " " + name + "=" + key;
      texts.push_back(text);
    }
    return texts;
  }
  float number(Value value, const Feeds& feeds) {
    return GraphRunner(graph_, {{"batch", feeds.at("logits").shape()[0]}}).number(value, feeds);
  }
  std::string failure(Value value, const Feeds& feeds) {
    GraphRunner runner(graph_, {{"batch", feeds.at("logits").shape()[0]}});
    const auto result = runner.run({value}, feeds);
    return result ? "" : result.error().message();
  }

  Graph graph_;
  Dim batch_ = Dim::symbol("batch");
};

// CONTRACT HD-8.
TEST_F(Heads, RegressionWorkedNumbers) {
  const Value logits = input("logits", DType::kFloat32, {1}), labels = input("labels", DType::kFloat32, {1});
  const Value weights = input("weights", DType::kFloat32, {1});
  const Feeds feeds{{"logits", floats(Shape{2, 1}, {45, 41})},
                    {"labels", floats(Shape{2, 1}, {43, 44})},
                    {"weights", floats(Shape{2, 1}, {2, 1})}};
  const HeadOutput plain = build(*regression_head(), Mode::kEval, logits, labels);
  EXPECT_FLOAT_EQ(number(plain.loss, feeds), 6.5);
  const auto report = evaluate(graph_, plain.metrics, {feeds});
  EXPECT_EQ(report.size(), 3u);
  EXPECT_DOUBLE_EQ(report.at("average_loss"), 6.5);
  EXPECT_DOUBLE_EQ(report.at("label/mean"), 43.5);
  EXPECT_DOUBLE_EQ(report.at("prediction/mean"), 43.0);
  const HeadOutput weighted =
      build(*regression_head({.weight_column = "w"}), Mode::kEval, logits, labels, {{"w", weights}});
  EXPECT_FLOAT_EQ(number(weighted.loss, feeds), 8.5);
  EXPECT_NEAR(evaluate(graph_, weighted.metrics, {feeds}).at("average_loss"), 17.0 / 3, 1e-12);
}

TEST_F(Heads, RegressionTakesWeightsPerExampleAndPerNumber) {
  const Value logits = input("logits", DType::kFloat32, {2}), labels = input("labels", DType::kInt64, {2});
  const Value per_row = input("per_row", DType::kFloat32, {}), per_number = input("per_number", DType::kFloat32, {2});
  const Feeds feeds{{"logits", floats(Shape{2, 2}, {1, 2, 3, 4})},
                    {"labels", ids(Shape{2, 2}, {0, 0, 0, 0})},
                    {"per_row", floats(Shape{2}, {1, 2})},
                    {"per_number", floats(Shape{2, 2}, {1, 0, 0, 3})}};
  const auto head = regression_head({.label_dimension = 2, .weight_column = "w"});
  const HeadOutput rows = build(*head, Mode::kEval, logits, labels, {{"w", per_row}});
  EXPECT_FLOAT_EQ(number(rows.loss, feeds), (1 + 4 + 2 * 9 + 2 * 16) / 4.0f);
  EXPECT_DOUBLE_EQ(evaluate(graph_, rows.metrics, {feeds}).at("average_loss"), (1 + 4 + 2 * 9 + 2 * 16) / 6.0);
  const HeadOutput numbers = build(*head, Mode::kEval, logits, labels, {{"w", per_number}});
  EXPECT_FLOAT_EQ(number(numbers.loss, feeds), (1 + 3 * 16) / 4.0f);
  EXPECT_DOUBLE_EQ(evaluate(graph_, numbers.metrics, {feeds}).at("average_loss"), (1 + 3 * 16) / 4.0);
}

TEST_F(Heads, RegressionPredictsThroughItsLink) {
  const Value logits = input("logits", DType::kFloat32, {1});
  EXPECT_THAT(keys(build(*regression_head(), Mode::kPredict, logits)), ElementsAre("predictions"));
  for (const auto& head : {poisson_regression_head(), logistic_regression_head()}) {
    EXPECT_THAT(keys(build(*head, Mode::kPredict, logits)), ElementsAre("predictions", "logits"));
  }
  const Feeds feeds{{"logits", floats(Shape{1, 1}, {2})}};
  EXPECT_FLOAT_EQ(number(find(build(*poisson_regression_head(), Mode::kPredict, logits), "predictions"), feeds),
                  std::exp(2.0f));
  EXPECT_FLOAT_EQ(number(find(build(*logistic_regression_head(), Mode::kPredict, logits), "predictions"), feeds),
                  1 / (1 + std::exp(-2.0f)));
}

TEST_F(Heads, RegressionHeadsRefuseLabelsOutOfRange) {
  const Value logits = input("logits", DType::kFloat32, {1}), labels = input("labels", DType::kFloat32, {});
  const HeadOutput poisson = build(*poisson_regression_head(), Mode::kTrain, logits, labels);
  const HeadOutput logistic = build(*logistic_regression_head(), Mode::kEval, logits, labels);
  const auto feeds = [](float label) {
    return Feeds{{"logits", floats(Shape{2, 1}, {0, 0})}, {"labels", floats(Shape{2}, {1, label})}};
  };
  EXPECT_EQ(failure(poisson.loss, feeds(3)), "");
  EXPECT_THAT(failure(poisson.loss, feeds(-1)), HasSubstr("label -1 in row 1, element 0 is not a number >= 0"));
  EXPECT_THAT(failure(poisson.loss, feeds(std::nanf(""))), HasSubstr("label nan"));
  EXPECT_EQ(failure(logistic.loss, feeds(0.25)), "");
  EXPECT_THAT(failure(logistic.loss, feeds(1.5)), HasSubstr("label 1.5 in row 1, element 0 is not a number in [0, 1]"));
}

TEST_F(Heads, ARegressionLabelThatIsNoNumberIsNamed) {
  const Value logits = input("logits", DType::kFloat32, {1}), labels = input("labels", DType::kFloat32, {});
  const HeadOutput output = build(*regression_head(), Mode::kTrain, logits, labels);
  const auto feeds = [](float label) {
    return Feeds{{"logits", floats(Shape{2, 1}, {0, 0})}, {"labels", floats(Shape{2}, {1, label})}};
  };
  EXPECT_EQ(failure(output.loss, feeds(-1e30f)), "");
  EXPECT_THAT(failure(output.loss, feeds(std::nanf(""))),
              HasSubstr("label nan in row 1, element 0 is not a number; drop examples without a label by filter()"));
}

TEST_F(Heads, RegressionRefusesWhatDoesNotFit) {
  const Value logits = input("logits", DType::kFloat32, {2}), labels = input("labels", DType::kFloat32, {3});
  const Value text = input("text", DType::kString, {2});
  const auto head = regression_head({.label_dimension = 2, .name = "speed"});
  EXPECT_THAT(raised([&] { build(*head, Mode::kEval, logits, labels); }),
              HasSubstr("regression_head speed: labels are float32 [batch, 3], logits float32 [batch, 2]"));
  EXPECT_THAT(raised([&] { build(*head, Mode::kEval, labels, labels); }), HasSubstr("expected float32 [batch, ..., 2]"));
  EXPECT_THAT(raised([&] { build(*head, Mode::kEval, logits, text); }), HasSubstr("labels are text"));
  EXPECT_THAT(raised([&] { build(*head, Mode::kTrain, logits); }), HasSubstr("there are no labels in mode train"));
  EXPECT_THAT(raised([] { regression_head({.label_dimension = 0}); }), HasSubstr("label_dimension is 0"));
  const auto odd =
      regression_head({.label_dimension = 2, .loss = [](const LabelsAndLogits& of) { return ops::reduce_sum(of.labels); }});
  EXPECT_THAT(raised([&] { build(*odd, Mode::kEval, logits, logits); }), HasSubstr("the loss function gave float32 []"));
}

TEST_F(Heads, BinaryGivesExactlyTheseKeysAndMetrics) {
  const Value logits = input("logits", DType::kFloat32, {1}), labels = input("labels", DType::kInt64, {});
  const auto head = binary_head({.thresholds = {0.25, 0.5}});
  EXPECT_EQ(head->logits_dimension(), 1);
  EXPECT_THAT(keys(build(*head, Mode::kPredict, logits)),
              ElementsAre("logits", "logistic", "probabilities", "class_ids", "all_class_ids", "classes", "all_classes"));
  EXPECT_THAT(
      metric_names(build(*head, Mode::kEval, logits, labels)),
      ElementsAre("average_loss", "accuracy", "precision", "recall", "auc", "auc_precision_recall", "accuracy_baseline",
                  "label/mean", "prediction/mean", "accuracy/positive_threshold_0.25", "precision/positive_threshold_0.25",
                  "recall/positive_threshold_0.25", "accuracy/positive_threshold_0.5", "precision/positive_threshold_0.5",
                  "recall/positive_threshold_0.5"));
  EXPECT_TRUE(build(*head, Mode::kTrain, logits, labels).metrics.empty());
  EXPECT_THAT(metric_names(build(*binary_head({.name = "spam"}), Mode::kEval, logits, labels))[4], "auc/spam");
}

// CONTRACT HD-6: an exact tie at one half goes to class 0.
TEST_F(Heads, BinaryPredictsClassOneAboveOneHalf) {
  const Value logits = input("logits", DType::kFloat32, {1});
  const HeadOutput output = build(*binary_head({.label_vocabulary = {"no", "yes"}}), Mode::kPredict, logits);
  GraphRunner runner(graph_, {{"batch", 4}});
  const Feeds feeds{{"logits", floats(Shape{4, 1}, {0, 1e-9f, 2, -2})}};
  const auto found = value_or_raise(
      runner.run({find(output, "class_ids"), find(output, "all_class_ids"), find(output, "probabilities")}, feeds));
  EXPECT_THAT(found[0].as<int64_t>(), ElementsAre(0, 0, 1, 0));
  EXPECT_THAT(found[1].as<int64_t>(), ElementsAre(0, 1, 0, 1, 0, 1, 0, 1));
  EXPECT_THAT(value_or_raise(output.text_predictions[0].map(found[0].view())).strings(),
              ElementsAre("no", "no", "yes", "no"));
  EXPECT_FLOAT_EQ(found[2].as<float>()[4], 1 / (1 + std::exp(2.0f)));
  EXPECT_FLOAT_EQ(found[2].as<float>()[5], 1 / (1 + std::exp(-2.0f)));
}

TEST_F(Heads, BinaryMetricsByHand) {
  const Value logits = input("logits", DType::kFloat32, {1}), labels = input("labels", DType::kUInt8, {1});
  const Value weights = input("w", DType::kFloat32, {});
  const HeadOutput output =
      build(*binary_head({.weight_column = "w", .thresholds = {0.9}}), Mode::kEval, logits, labels, {{"w", weights}});
  const std::vector<uint8_t> truth{1, 0, 1, 0};
  const Feeds feeds{{"logits", floats(Shape{4, 1}, {1, 1, -1, -1})},
                    {"labels", Tensor::of<uint8_t>(Shape{4, 1}, std::span<const uint8_t>(truth))},
                    {"w", floats(Shape{4}, {4, 1, 2, 3})}};
  const auto report = evaluate(graph_, output.metrics, {feeds});
  EXPECT_DOUBLE_EQ(report.at("accuracy"), 7.0 / 10);
  EXPECT_DOUBLE_EQ(report.at("precision"), 4.0 / 5);
  EXPECT_DOUBLE_EQ(report.at("recall"), 4.0 / 6);
  EXPECT_DOUBLE_EQ(report.at("accuracy_baseline"), 6.0 / 10);
  EXPECT_DOUBLE_EQ(report.at("label/mean"), 6.0 / 10);
  EXPECT_DOUBLE_EQ(report.at("precision/positive_threshold_0.9"), 0);  // Nothing is above: an empty denominator.
  EXPECT_DOUBLE_EQ(report.at("recall/positive_threshold_0.9"), 0);
  EXPECT_DOUBLE_EQ(report.at("accuracy/positive_threshold_0.9"), 4.0 / 10);
  EXPECT_NEAR(report.at("auc"), (4 * 3 + 4 * 1 * 0.5 + 2 * 3 * 0.5) / 24.0, 1e-12);
}

/// The probabilities of all these logits are 1 in float32.
TEST_F(Heads, BinaryAreasUnderCurvesCompareLogits) {
  const Value logits = input("logits", DType::kFloat32, {1}), labels = input("labels", DType::kFloat32, {1});
  const Feeds feeds{{"logits", floats(Shape{4, 1}, {18, 20, 22, 24})}, {"labels", floats(Shape{4, 1}, {0, 0, 1, 1})}};
  const auto report = evaluate(graph_, build(*binary_head(), Mode::kEval, logits, labels).metrics, {feeds});
  EXPECT_EQ(report.at("auc"), 1);
  EXPECT_EQ(report.at("auc_precision_recall"), 1);
}

TEST_F(Heads, MultiLabelAreasUnderCurvesCompareLogits) {
  const Value logits = input("logits", DType::kFloat32, {2}), labels = input("labels", DType::kFloat32, {2});
  const Feeds feeds{{"logits", floats(Shape{2, 2}, {18, 20, 22, 24})}, {"labels", floats(Shape{2, 2}, {0, 0, 1, 1})}};
  const auto head = multi_label_head({.n_classes = 2, .classes_for_class_based_metrics = {1}});
  const auto report = evaluate(graph_, build(*head, Mode::kEval, logits, labels).metrics, {feeds});
  for (const char* name : {"auc", "auc_precision_recall", "auc/class1", "auc_precision_recall/class1"}) {
    EXPECT_EQ(report.at(name), 1) << name;
  }
}

TEST_F(Heads, BinaryRefuses) {
  const Value logits = input("logits", DType::kFloat32, {1}), labels = input("labels", DType::kFloat32, {});
  const HeadOutput output = build(*binary_head(), Mode::kTrain, logits, labels);
  EXPECT_THAT(failure(output.loss, {{"logits", floats(Shape{2, 1}, {0, 0})}, {"labels", floats(Shape{2}, {1, 2})}}),
              HasSubstr("label 2 in row 1 is not 0 or 1"));
  EXPECT_THAT(failure(output.loss, {{"logits", floats(Shape{2, 1}, {0, 0})}, {"labels", floats(Shape{2}, {1, 0.5})}}),
              HasSubstr("label 0.5 in row 1 is not 0 or 1"));
  for (const double threshold : {0.0, 1.0, -1.0, std::nan("")}) {
    EXPECT_THAT(raised([&] { binary_head({.thresholds = {threshold}}); }), HasSubstr("is not in (0, 1)"));
  }
  EXPECT_THAT(raised([] { binary_head({.label_vocabulary = {"a", "b", "c"}}); }), HasSubstr("3 names, and there are 2"));
  EXPECT_THAT(raised([] { binary_head({.label_vocabulary = {"a", "a"}}); }), HasSubstr("\"a\" occurs twice"));
  EXPECT_THAT(raised([&] {
                build(*binary_head({.weight_column = "w"}), Mode::kEval, logits, labels, {{"x", labels}});
              }),
              HasSubstr("there is no feature \"w\" to take example weights from; features: x"));
  const Value odd = input("odd", DType::kFloat32, {2});
  EXPECT_THAT(raised([&] {
                build(*binary_head({.weight_column = "w"}), Mode::kEval, logits, labels, {{"w", odd}});
              }),
              HasSubstr("weights are float32 [batch, 2], logits float32 [batch, 1]"));
}

TEST_F(Heads, MultiLabelTakesMultiHotIdsAndText) {
  const Value logits = input("logits", DType::kFloat32, {3}), hot = input("hot", DType::kUInt8, {3});
  const Value listed = input("listed", DType::kInt64, {2}), text = input("text", DType::kString, {2});
  const std::vector<uint8_t> bits{1, 0, 1, 0, 0, 0};
  const Feeds feeds{{"logits", floats(Shape{2, 3}, {1, -2, 3, 0.5, 0, -0.5})},
                    {"hot", Tensor::of<uint8_t>(Shape{2, 3}, std::span<const uint8_t>(bits))},
                    {"listed", ids(Shape{2, 2}, {2, 0, -1, -1})},
                    {"text:ids", ids(Shape{2, 2}, {2, 0, -1, -1})}};
  const HeadOutput a = build(*multi_label_head({.n_classes = 3}), Mode::kEval, logits, hot);
  const HeadOutput b = build(*multi_label_head({.n_classes = 3, .labels_are_ids = true}), Mode::kEval, logits, listed);
  const HeadOutput c =
      build(*multi_label_head({.n_classes = 3, .label_vocabulary = {"x", "y", "z"}}), Mode::kEval, logits, text);
  const auto loss = [](double logit, int label) { return std::log1p(std::exp(-logit)) + (label == 0 ? logit : 0); };
  const double expected = (loss(1, 1) + loss(-2, 0) + loss(3, 1) + loss(0.5, 0) + loss(0, 0) + loss(-0.5, 0)) / 6;
  EXPECT_NEAR(number(a.loss, feeds), expected, 1e-6);
  EXPECT_EQ(number(b.loss, feeds), number(a.loss, feeds));
  EXPECT_EQ(number(c.loss, feeds), number(a.loss, feeds));
  EXPECT_THAT(keys(c), ElementsAre("logits", "probabilities", "classes"));
}

TEST_F(Heads, MultiLabelMetricsAreExactlyThese) {
  const Value logits = input("logits", DType::kFloat32, {3}), labels = input("labels", DType::kFloat32, {3});
  const auto head = multi_label_head({.n_classes = 3, .thresholds = {0.3}, .classes_for_class_based_metrics = {2}});
  EXPECT_THAT(metric_names(build(*head, Mode::kEval, logits, labels)),
              ElementsAre("average_loss", "auc", "auc_precision_recall", "accuracy/positive_threshold_0.3",
                          "precision/positive_threshold_0.3", "recall/positive_threshold_0.3", "probability_mean/class2",
                          "auc/class2", "auc_precision_recall/class2"));
  const Value text = input("text", DType::kString, {4});
  const auto named = multi_label_head(
      {.n_classes = 3, .label_vocabulary = {"x", "y", "z"}, .name = "tags", .classes_for_class_based_metrics = {1}});
  EXPECT_THAT(metric_names(build(*named, Mode::kEval, logits, text)),
              ElementsAre("average_loss/tags", "auc/tags", "auc_precision_recall/tags", "probability_mean/y/tags",
                          "auc/y/tags", "auc_precision_recall/y/tags"));
}

TEST_F(Heads, MultiLabelRefuses) {
  const Value logits = input("logits", DType::kFloat32, {3}), listed = input("listed", DType::kInt64, {2});
  EXPECT_THAT(raised([&] { build(*multi_label_head({.n_classes = 3}), Mode::kEval, logits, listed); }),
              HasSubstr("for lists of ids set labels_are_ids"));
  EXPECT_THAT(raised([] { multi_label_head({.n_classes = 1}); }), HasSubstr("n_classes is 1, expected 2 or more"));
  EXPECT_THAT(raised([] { multi_label_head({.n_classes = 2, .classes_for_class_based_metrics = {2}}); }),
              HasSubstr("2, which is outside [0, 2)"));
  const auto ids_head = multi_label_head({.n_classes = 3, .labels_are_ids = true});
  const HeadOutput output = build(*ids_head, Mode::kTrain, logits, listed);
  EXPECT_THAT(failure(output.loss, {{"logits", floats(Shape{1, 3}, {0, 0, 0})}, {"listed", ids(Shape{1, 2}, {0, 3})}}),
              HasSubstr("index 3 in row 0, element 1 is outside [0, 3)"));
}

TEST_F(Heads, SignaturesAreExactlyThese) {
  const Value one = input("one", DType::kFloat32, {1}), three = input("three", DType::kFloat32, {3});
  const std::string scores = "scores=probabilities classes=";
  EXPECT_THAT(signatures(build(*binary_head(), Mode::kPredict, one)),
              ElementsAre("serving_default: " + scores + "all_classes", "classification: " + scores + "all_classes",
                          "regression: outputs=logistic",
                          "predict: logits=logits logistic=logistic probabilities=probabilities class_ids=class_ids "
                          "all_class_ids=all_class_ids classes=classes all_classes=all_classes"));
  EXPECT_THAT(signatures(build(*multi_class_head({.n_classes = 3}), Mode::kPredict, three)),
              ElementsAre("serving_default: " + scores + "all_classes", "classification: " + scores + "all_classes",
                          ::testing::StartsWith("predict: logits=logits probabilities=probabilities")));
  EXPECT_THAT(signatures(build(*multi_label_head({.n_classes = 3}), Mode::kPredict, three)),
              ElementsAre("serving_default: " + scores + "classes", "classification: " + scores + "classes",
                          "predict: logits=logits probabilities=probabilities classes=classes"));
  for (const auto& head : {poisson_regression_head(), logistic_regression_head()}) {
    EXPECT_THAT(signatures(build(*head, Mode::kPredict, one)),
                ElementsAre("serving_default: outputs=predictions", "regression: outputs=predictions",
                            "predict: predictions=predictions logits=logits"));
  }
  EXPECT_TRUE(build(*binary_head(), Mode::kEval, one, one).signatures.empty());
}

class MultiHeads : public Heads {
 protected:
  std::shared_ptr<const Head> size_ = regression_head({.name = "size"});
  std::shared_ptr<const Head> kind_ = multi_class_head({.n_classes = 3, .name = "kind"});
  Value logits_ = input("logits", DType::kFloat32, {4});
  ValueMap labels_{{"size", input("sizes", DType::kFloat32, {})}, {"kind", input("kinds", DType::kInt64, {})}};
  Feeds feeds_{{"logits", floats(Shape{2, 4}, {45, 10, 0, 0, 41, 0, 10, 0})},
               {"sizes", floats(Shape{2}, {43, 44})},
               {"kinds", ids(Shape{2}, {1, 1})}};
};

TEST_F(MultiHeads, AddUpLossesAndKeepTheirNames) {
  const auto head = multi_head({size_, kind_}, {.loss_weights = {2, 0.5}});
  EXPECT_EQ(head->logits_dimension(), 4);
  const HeadOutput output = build(*head, Mode::kEval, logits_, labels_);
  EXPECT_THAT(keys(output), ElementsAre("size/predictions", "kind/logits", "kind/probabilities", "kind/class_ids",
                                        "kind/all_class_ids", "kind/classes", "kind/all_classes"));
  EXPECT_THAT(metric_names(output), ElementsAre("loss/size", "average_loss/size", "label/mean/size", "prediction/mean/size",
                                                "loss/kind", "average_loss/kind", "accuracy/kind"));
  EXPECT_EQ(output.text_predictions[0].source(), "kind/class_ids");
  EXPECT_NEAR(number(output.loss, feeds_), 2 * 6.5 + 0.5 * 5.0, 1e-3);
  const auto report = evaluate(graph_, output.metrics, {feeds_});
  EXPECT_DOUBLE_EQ(report.at("loss/size"), 6.5);
  EXPECT_NEAR(report.at("loss/kind"), 5.0, 1e-3);
  EXPECT_DOUBLE_EQ(report.at("accuracy/kind"), 0.5);
}

/// A user's own head, which has no signatures.
class Bare final : public Head {
 public:
  std::string_view name() const override { return "bare"; }
  int64_t logits_dimension() const override { return 1; }
  HeadOutput describe(const HeadInput& head_input) const override { return {.predictions = {{"p", head_input.logits}}}; }
};

TEST_F(MultiHeads, ServeTheFirst) {
  const auto head = multi_head({size_, std::make_shared<Bare>()});
  EXPECT_THAT(signatures(build(*head, Mode::kPredict, input("two", DType::kFloat32, {2}))),
              ElementsAre("serving_default: outputs=size/predictions", "size: outputs=size/predictions",
                          "size/regression: outputs=size/predictions", "size/predict: predictions=size/predictions",
                          "bare: p=bare/p", "predict: size/predictions=size/predictions bare/p=bare/p"));
}

/// A user's own head with signatures of its own.
class Signing final : public Head {
 public:
  explicit Signing(std::vector<std::string> names) : names_(std::move(names)) {}
  std::string_view name() const override { return "own"; }
  int64_t logits_dimension() const override { return 1; }
  HeadOutput describe(const HeadInput& head_input) const override {
    HeadOutput output;
    for (const std::string& name : names_) {
      output.predictions.emplace_back(name, head_input.logits);
      output.signatures.push_back({name, {{"y", name}}});
    }
    return output;
  }

 private:
  std::vector<std::string> names_;
};

TEST_F(MultiHeads, ServeTheFirstWhateverItsSignaturesAreCalled) {
  const auto served = [&](const char* name, std::vector<std::string> signatures_of_first) {
    const auto head = multi_head({std::make_shared<Signing>(std::move(signatures_of_first)), size_});
    return signatures(build(*head, Mode::kPredict, input(name, DType::kFloat32, {2})));
  };
  EXPECT_THAT(
      served("a", {"one"}),
      ElementsAre("serving_default: y=own/one", "own: y=own/one", "own/one: y=own/one", "size: outputs=size/predictions",
                  "size/regression: outputs=size/predictions", "size/predict: predictions=size/predictions",
                  "predict: own/one=own/one size/predictions=size/predictions"));
  EXPECT_THAT(served("b", {"one", "serving_default"}),
              testing::IsSupersetOf(
                  {"serving_default: y=own/serving_default", "own: y=own/serving_default", "own/one: y=own/one"}));
  EXPECT_EQ(served("c", {"one", "serving_default"})[0], "serving_default: y=own/serving_default");
}

TEST_F(MultiHeads, RegularizationCountsOnce) {
  Graph graph;
  const Value x = graph.input("x", DType::kFloat32, {batch_, 2});
  const Value logits =
      dense(x, {.units = 4, .kernel_initializer = zeros(), .bias_initializer = ones(), .bias_regularizer = {.l2 = 0.5}});
  const ValueMap labels{{"size", graph.input("sizes", DType::kFloat32, {batch_})},
                        {"kind", graph.input("kinds", DType::kInt64, {batch_})}};
  const HeadOutput output = multi_head({size_, kind_})->build({.mode = Mode::kEval, .labels = labels, .logits = logits});
  EXPECT_EQ(metric_names(output).back(), "regularization_loss");
  GraphRunner runner(graph, {{"batch", 1}});
  const Feeds feeds{{"x", floats(Shape{1, 2}, {0, 0})}, {"sizes", floats(Shape{1}, {1})}, {"kinds", ids(Shape{1}, {0})}};
  EXPECT_NEAR(runner.number(output.loss, feeds), 0 + std::log(3.0) + 0.5 * 4, 1e-5);
}

TEST_F(MultiHeads, Refuse) {
  EXPECT_THAT(raised([] { multi_head({}); }), HasSubstr("there are no heads"));
  EXPECT_THAT(raised([&] { multi_head({size_, nullptr}); }), HasSubstr("null"));
  EXPECT_THAT(raised([&] { multi_head({size_, size_}); }), HasSubstr("two heads have the name \"size\""));
  EXPECT_THAT(raised([&] { multi_head({regression_head()}); }), HasSubstr("has no name"));
  EXPECT_THAT(raised([&] { multi_head({size_, kind_}, {.loss_weights = {1}}); }), HasSubstr("1 loss_weights for 2 heads"));
  EXPECT_THAT(raised([&] { multi_head({size_}, {.loss_weights = {-1}}); }), HasSubstr("loss weight -1"));
  const auto head = multi_head({size_, kind_});
  EXPECT_THAT(raised([&] {
                build(*head, Mode::kEval, logits_, {{"size", labels_["size"]}});
              }),
              HasSubstr("there are no labels for head \"kind\"; labels: size"));
  EXPECT_THAT(raised([&] { build(*head, Mode::kPredict, input("few", DType::kFloat32, {3})); }),
              HasSubstr("expected float32 [batch, ..., 4]: size 1, kind 3"));
}

TEST_F(Heads, TrainingNeedsOneWayToTrain) {
  const Value logits = input("logits", DType::kFloat32, {1}), labels = input("labels", DType::kFloat32, {});
  HeadInput input{.mode = Mode::kTrain, .labels = labels, .logits = logits};
  EXPECT_THAT(raised([&] { binary_head({.name = "b"})->build(input); }),
              HasSubstr("head \"b\": training needs an optimizer or a train_op function, and neither was given"));
  input.optimizer = sgd({.learning_rate = 0.1});
  input.train_op = [](Value) { return TrainOp{}; };
  EXPECT_THAT(raised([&] { binary_head()->build(input); }), HasSubstr("not both"));
}

}  // namespace
}  // namespace shoal::nn
