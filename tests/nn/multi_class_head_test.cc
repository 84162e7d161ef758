// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "graph_runner.h"
#include "shoal/base/random.h"
#include "shoal/graph/ops.h"
#include "shoal/graph/text_ids.h"
#include "shoal/nn/dense.h"
#include "shoal/nn/head.h"

namespace shoal::nn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Tensor floats(Shape shape, const std::vector<float>& values) {
  return Tensor::of<float>(shape, std::span<const float>(values));
}

class MultiClassHeadTest : public testing::Test {
 protected:
  HeadOutput build(const Head& head, Mode mode) {
    HeadInput input{.mode = mode, .features = {{"weight", weights_}, {"pixels", logits_}}, .labels = {}, .logits = logits_};
    if (mode != Mode::kPredict) input.labels = labels_;
    if (mode == Mode::kTrain) input.train_op = [](Value) { return TrainOp{}; };
    return head.build(input);
  }
  std::map<std::string, double> evaluate(const HeadOutput& output, const std::vector<Feeds>& batches) {
    return nn::evaluate(graph_, output.metrics, batches);
  }
  static Value find(const HeadOutput& output, const std::string& key) {
    for (const auto& [name, value] : output.predictions) {
      if (name == key) return value;
    }
    ADD_FAILURE() << "no prediction " << key;
    return {};
  }

  Graph graph_;
  Dim batch_ = Dim::symbol("batch");
  Value logits_ = graph_.input("logits", DType::kFloat32, {batch_, 3});
  Value labels_ = graph_.input("labels", DType::kInt64, {batch_, 1});
  Value weights_ = graph_.input("weights", DType::kFloat32, {batch_, 1});
  // CONTRACT HD-8.
  Feeds worked_{{"logits", floats(Shape{2, 3}, {10, 0, 0, 0, 10, 0})},
                {"labels", Tensor::of<int64_t>(Shape{2, 1}, {1, 1})},
                {"weights", floats(Shape{2, 1}, {2, 1})}};
  const double wrong_ = std::log(std::exp(10.0) + 2);       // The loss of row 0.
  const double right_ = std::log(std::exp(10.0) + 2) - 10;  // The loss of row 1.
};

TEST_F(MultiClassHeadTest, TakesLabelsThatAreProbabilities) {
  const auto head = multi_class_head({.n_classes = 3, .weight_column = "weight"});
  labels_ = graph_.input("soft", DType::kFloat32, {batch_, 3});
  Feeds feeds = worked_;
  feeds["soft"] = floats(Shape{2, 3}, {0, 1, 0, 0, 1, 0});  // The classes of the worked example, as one-hot vectors.
  const auto hard = evaluate(build(*head, Mode::kEval), {feeds});
  EXPECT_NEAR(hard.at("average_loss"), (2 * wrong_ + right_) / 3, 1e-5);
  EXPECT_NEAR(hard.at("accuracy"), 1.0 / 3, 1e-6);
  feeds["soft"] = floats(Shape{2, 3}, {0.75f, 0.25f, 0, 0.25f, 0.75f, 0});
  const auto soft = evaluate(build(*head, Mode::kEval), {feeds});
  const double mixed = 0.75 * right_ + 0.25 * wrong_;  // Both rows: 3/4 of the likely class, 1/4 of another one.
  EXPECT_NEAR(soft.at("average_loss"), mixed, 1e-5);
  EXPECT_NEAR(soft.at("accuracy"), 1, 1e-6);
  const auto weighted = multi_class_head({.n_classes = 3, .class_weights = {1, 2, 3}});
  EXPECT_THAT(raised([&] { build(*weighted, Mode::kEval); }), HasSubstr("class_weights need labels that are ids"));
}

TEST_F(MultiClassHeadTest, WorkedNumbers) {
  const auto head = multi_class_head({.n_classes = 3});
  const HeadOutput output = build(*head, Mode::kEval);
  GraphRunner runner(graph_, {{"batch", 2}});
  EXPECT_NEAR(runner.number(output.loss, worked_), 5.00, 0.005);
  const auto report = evaluate(output, {worked_});
  EXPECT_NEAR(report.at("accuracy"), 0.50, 1e-12);
  EXPECT_NEAR(report.at("average_loss"), (wrong_ + right_) / 2, 1e-5);
  EXPECT_EQ(head->logits_dimension(), 3);
  EXPECT_EQ(head->name(), "");
}

TEST_F(MultiClassHeadTest, SumIsTheOtherReduction) {
  const HeadOutput output = build(*multi_class_head({.n_classes = 3, .loss_reduction = LossReduction::kSum}), Mode::kEval);
  GraphRunner runner(graph_, {{"batch", 2}});
  EXPECT_NEAR(runner.number(output.loss, worked_), 10.0, 0.005);
}

TEST_F(MultiClassHeadTest, WeightsCountInLossAndMetricsEachInItsWay) {
  const HeadOutput output = build(*multi_class_head({.n_classes = 3, .weight_column = "weight"}), Mode::kEval);
  GraphRunner runner(graph_, {{"batch", 2}});
  EXPECT_NEAR(runner.number(output.loss, worked_), (2 * wrong_ + right_) / 2, 1e-4);
  const auto report = evaluate(output, {worked_});
  EXPECT_NEAR(report.at("average_loss"), (2 * wrong_ + right_) / 3, 1e-4);
  EXPECT_NEAR(report.at("accuracy"), 1.0 / 3, 1e-12);
}

TEST_F(MultiClassHeadTest, MetricsAreExactlyThese) {
  const auto plain = evaluate(build(*multi_class_head({.n_classes = 3}), Mode::kEval), {worked_});
  ASSERT_EQ(plain.size(), 2u);
  EXPECT_TRUE(plain.contains("average_loss") && plain.contains("accuracy"));
  const auto named = evaluate(build(*multi_class_head({.n_classes = 3, .name = "digits"}), Mode::kEval), {worked_});
  ASSERT_EQ(named.size(), 2u);
  EXPECT_TRUE(named.contains("average_loss/digits") && named.contains("accuracy/digits"));
  EXPECT_TRUE(build(*multi_class_head({.n_classes = 3}), Mode::kTrain).metrics.empty());
  EXPECT_TRUE(build(*multi_class_head({.n_classes = 3}), Mode::kPredict).metrics.empty());
}

TEST_F(MultiClassHeadTest, MetricsOverUnevenBatchesEqualOnePass) {
  const HeadOutput output = build(*multi_class_head({.n_classes = 3, .weight_column = "weight"}), Mode::kEval);
  std::vector<Feeds> batches;
  double loss_sum = 0, right_sum = 0, weight_sum = 0;
  RandomStream random(4);
  for (const int64_t rows : {7, 1, 4}) {
    std::vector<float> logits(size_t(rows * 3)), weights(static_cast<size_t>(rows));
    fill_normal(uint64_t(rows), 0, logits, 0, 2);
    fill_uniform(uint64_t(rows) + 50, 0, weights, 0, 3);
    std::vector<int64_t> labels;
    for (size_t r = 0; r < size_t(rows); ++r) {
      labels.push_back(int64_t(random.below(3)));
      const float* row = &logits[3 * r];
      const double sum = std::exp(double(row[0])) + std::exp(double(row[1])) + std::exp(double(row[2]));
      loss_sum += weights[r] * (std::log(sum) - row[labels[r]]);
      right_sum += weights[r] * (std::max_element(row, row + 3) - row == labels[r] ? 1 : 0);
      weight_sum += weights[r];
    }
    batches.push_back({{"logits", floats(Shape{rows, 3}, logits)},
                       {"labels", Tensor::of<int64_t>(Shape{rows, 1}, std::span<const int64_t>(labels))},
                       {"weights", floats(Shape{rows, 1}, weights)}});
  }
  const auto report = evaluate(output, batches);
  EXPECT_NEAR(report.at("average_loss"), loss_sum / weight_sum, 1e-5);
  EXPECT_NEAR(report.at("accuracy"), right_sum / weight_sum, 1e-12);
}

TEST_F(MultiClassHeadTest, PredictionsAreExactlyThese) {
  const HeadOutput output = build(*multi_class_head({.n_classes = 3}), Mode::kPredict);
  EXPECT_FALSE(output.loss.valid());
  EXPECT_FALSE(output.train_op.has_value());
  std::vector<std::string> keys;
  for (const auto& [key, value] : output.predictions) keys.push_back(key);
  for (const TextPrediction& text : output.text_predictions) keys.push_back(text.key());
  EXPECT_THAT(keys, ElementsAre("logits", "probabilities", "class_ids", "all_class_ids", "classes", "all_classes"));

  GraphRunner runner(graph_, {{"batch", 2}});
  const Feeds feeds{{"logits", floats(Shape{2, 3}, {0, 0, std::log(2.0f), 1, 5, 5})}};
  const auto probabilities = runner.floats(find(output, "probabilities"), feeds);
  EXPECT_NEAR(probabilities[0], 0.25, 1e-6);
  EXPECT_NEAR(probabilities[2], 0.5, 1e-6);
  const auto ids = value_or_raise(runner.run({find(output, "class_ids"), find(output, "all_class_ids")}, feeds));
  EXPECT_EQ(ids[0].shape(), (Shape{2, 1}));
  EXPECT_THAT(ids[0].as<int64_t>(), ElementsAre(2, 1));  // The first of equals wins.
  EXPECT_EQ(ids[1].shape(), (Shape{2, 3}));
  EXPECT_THAT(ids[1].as<int64_t>(), ElementsAre(0, 1, 2, 0, 1, 2));
}

TEST_F(MultiClassHeadTest, AVocabularyNamesClassesAndLabels) {
  const auto head = multi_class_head({.n_classes = 3, .label_vocabulary = {"cat", "dog", "eel"}});
  labels_ = graph_.input("names", DType::kString, {batch_, 1});
  const HeadOutput output = build(*head, Mode::kEval);
  const Value encoded = graph_.find("names:ids");
  ASSERT_TRUE(encoded.valid());
  const EncodedInput from = value_or_raise(encoded_input(graph_.node(encoded.node()))).value();
  EXPECT_EQ(from.of, "names");
  EXPECT_THAT(value_or_raise(from.encoding.ids_of(Tensor::of_strings(Shape{2, 1}, {"eel", "cat"}))).as<int64_t>(),
              ElementsAre(2, 0));
  EXPECT_THAT(from.encoding.ids_of(Tensor::of_strings(Shape{2, 1}, {"eel", "cow"})).error().message(),
              HasSubstr("row 1 of the batch: \"cow\" is not among the 3 names"));
  EXPECT_FALSE(from.encoding.id_of(""));  // Not missing: a label has to be there.
  const Tensor ids = Tensor::of<int64_t>(Shape{2, 1}, {2, 0});
  EXPECT_EQ(output.text_predictions[0].source(), "class_ids");
  EXPECT_THAT(value_or_raise(output.text_predictions[0].map(ids.view())).strings(), ElementsAre("eel", "cat"));
  EXPECT_EQ(output.text_predictions[1].source(), "all_class_ids");
}

TEST_F(MultiClassHeadTest, TextAndIdsAreNotMixedUp) {
  const auto with = multi_class_head({.n_classes = 3, .label_vocabulary = {"cat", "dog", "eel"}});
  EXPECT_THAT(raised([&] { build(*with, Mode::kEval); }),
              HasSubstr("labels are int64 [batch, 1], but the head has a label vocabulary"));
  labels_ = graph_.input("names", DType::kString, {batch_, 1});
  EXPECT_THAT(raised([&] { build(*multi_class_head({.n_classes = 3}), Mode::kEval); }), HasSubstr("no label_vocabulary"));
}

TEST_F(MultiClassHeadTest, ClassWeightsCountInTheLossAlone) {
  const HeadOutput output = build(*multi_class_head({.n_classes = 3, .class_weights = {1, 0.5, 3}}), Mode::kEval);
  GraphRunner runner(graph_, {{"batch", 2}});
  EXPECT_NEAR(runner.number(output.loss, worked_), 0.5 * (wrong_ + right_) / 2, 1e-4);
  EXPECT_NEAR(evaluate(output, {worked_}).at("average_loss"), (wrong_ + right_) / 2, 1e-5);
  EXPECT_THAT(raised([] {
                multi_class_head({.n_classes = 3, .class_weights = {1, 2}});
              }),
              HasSubstr("2 class_weights for 3"));
  EXPECT_THAT(raised([] { multi_class_head({.n_classes = 3, .class_weights = {1, 2, -1}}); }), HasSubstr("weight -1"));
}

TEST_F(MultiClassHeadTest, TakesLogitsOfAnyRank) {
  Graph graph;
  const Value logits = graph.input("logits", DType::kFloat32, {batch_, 2, 3});
  const Value labels = graph.input("labels", DType::kInt64, {batch_, 2});
  const Value weights = graph.input("weights", DType::kFloat32, {batch_, 2});
  const HeadOutput output =
      multi_class_head({.n_classes = 3, .weight_column = "w"})
          ->build({.mode = Mode::kEval, .features = {{"w", weights}}, .labels = labels, .logits = logits});
  EXPECT_EQ(to_string(find(output, "class_ids").shape()), "[batch, 2, 1]");
  EXPECT_EQ(to_string(find(output, "all_class_ids").shape()), "[batch, 2, 3]");
  GraphRunner runner(graph, {{"batch", 1}});
  const Feeds feeds{{"logits", floats(Shape{1, 2, 3}, {10, 0, 0, 0, 10, 0})},
                    {"labels", Tensor::of<int64_t>(Shape{1, 2}, {1, 1})},
                    {"weights", floats(Shape{1, 2}, {2, 1})}};
  EXPECT_NEAR(runner.number(output.loss, feeds), (2 * wrong_ + right_) / 2, 1e-4);
}

TEST_F(MultiClassHeadTest, RegularizationIsAddedAfterReductionAndReported) {
  Graph graph;
  const Value x = graph.input("x", DType::kFloat32, {batch_, 2});
  const Value logits =
      dense(x, {.units = 3, .kernel_initializer = zeros(), .bias_initializer = ones(), .bias_regularizer = {.l2 = 0.5}});
  const Value labels = graph.input("labels", DType::kInt64, {batch_});
  const HeadInput input{.mode = Mode::kEval, .features = x, .labels = labels, .logits = logits};
  const HeadOutput output = multi_class_head({.n_classes = 3, .name = "h"})->build(input);
  GraphRunner runner(graph, {{"batch", 2}});
  const Feeds feeds{{"x", floats(Shape{2, 2}, {1, 2, 3, 4})}, {"labels", Tensor::of<int64_t>(Shape{2}, {0, 2})}};
  EXPECT_NEAR(runner.number(output.loss, feeds), std::log(3.0) + 1.5, 1e-5);
  ASSERT_EQ(output.metrics.size(), 3u);
  EXPECT_EQ(output.metrics[2].first, "regularization_loss/h");
  EXPECT_NEAR(runner.number(output.metrics[2].second.inputs.at(0), feeds), 1.5, 1e-6);
}

TEST_F(MultiClassHeadTest, TrainsAModelOfSeparableClasses) {
  Graph graph(3);
  const Value x = graph.input("x", DType::kFloat32, {batch_, 2});
  const Value logits = dense(x, {.units = 3});
  const Value labels = graph.input("labels", DType::kUInt8, {batch_});
  const HeadOutput output = multi_class_head({.n_classes = 3})
                                ->build({.mode = Mode::kTrain,
                                         .features = x,
                                         .labels = labels,
                                         .logits = logits,
                                         .optimizer = sgd({.learning_rate = 0.5, .momentum = 0.9})});
  ASSERT_TRUE(output.train_op.has_value());
  EXPECT_EQ(output.train_op->updates.size(), 2u);
  GraphRunner runner(graph, {{"batch", 6}});
  const Feeds feeds{{"x", floats(Shape{6, 2}, {1, 0, 2, 0.1f, -1, 1, -2, 2, -1, -1, -2, -2})},
                    {"labels", Tensor::of<uint8_t>(Shape{6}, {0, 0, 1, 1, 2, 2})}};
  EXPECT_GT(runner.number(output.loss, feeds), 0.3f);
  for (int step = 0; step < 100; ++step) runner.train(*output.train_op, feeds);
  EXPECT_LT(runner.number(output.loss, feeds), 0.05f);
}

TEST_F(MultiClassHeadTest, ALabelOutOfRangeEndsTheStep) {
  const HeadOutput output = build(*multi_class_head({.n_classes = 3}), Mode::kEval);
  GraphRunner runner(graph_, {{"batch", 2}});
  Feeds feeds = worked_;
  feeds.insert_or_assign("labels", Tensor::of<int64_t>(Shape{2, 1}, {0, 3}));
  const auto result = runner.run({output.loss}, feeds);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind(), ErrorKind::kInvalidArgument);
  EXPECT_THAT(result.error().message(), testing::AllOf(HasSubstr("row 1"), HasSubstr("3")));
}

TEST_F(MultiClassHeadTest, RefusesOptionsThatDoNotFit) {
  for (const int64_t n : {0, 1, 2}) {
    EXPECT_THAT(raised([&] { multi_class_head({.n_classes = n}); }),
                HasSubstr("expected more than 2; two classes are a binary"));
  }
  EXPECT_THAT(raised([] {
                multi_class_head({.n_classes = 3, .label_vocabulary = {"a", "b"}});
              }),
              HasSubstr("the label vocabulary has 2 names, and there are 3 classes"));
  EXPECT_THAT(raised([] {
                multi_class_head({.n_classes = 3, .label_vocabulary = {"a", "b", "a"}});
              }),
              HasSubstr("\"a\" occurs twice"));
}

TEST_F(MultiClassHeadTest, RefusesInputsThatDoNotFit) {
  const auto head = multi_class_head({.n_classes = 3, .weight_column = "weight", .name = "digits"});
  const HeadInput good{.mode = Mode::kEval, .features = {{"weight", weights_}}, .labels = labels_, .logits = logits_};
  const auto refusal = [&](const std::function<void(HeadInput&)>& change) {
    HeadInput input = good;
    change(input);
    return raised([&] { (void)head->build(input); });
  };
  const Value wide = graph_.input("wide", DType::kFloat32, {batch_, 4});
  const Value reals = graph_.input("reals", DType::kFloat32, {batch_});
  const Value others = graph_.input("others", DType::kInt64, {Dim::symbol("other")});
  const Value two = graph_.input("two", DType::kInt64, {batch_, 2});
  EXPECT_EQ(refusal([](HeadInput&) {}), "");
  EXPECT_THAT(refusal([&](HeadInput& in) { in.logits = wide; }),
              HasSubstr("digits: logits are float32 [batch, 4], expected float32 [batch, ..., 3]"));
  EXPECT_THAT(refusal([&](HeadInput& in) { in.logits = {}; }), HasSubstr("logits are no value"));
  EXPECT_THAT(refusal([&](HeadInput& in) { in.labels = {}; }), HasSubstr("no labels in mode eval; check that input_fn"));
  EXPECT_THAT(
      refusal([&](HeadInput& in) { in.labels = others; }),
      HasSubstr("labels are int64 [other], logits float32 [batch, 3]; expected labels of shape [batch] or [batch, 1]"));
  EXPECT_THAT(refusal([&](HeadInput& in) { in.labels = two; }), HasSubstr("labels are int64 [batch, 2]"));
  EXPECT_THAT(refusal([&](HeadInput& in) { in.labels = reals; }),
              HasSubstr("labels are float32 [batch]; class ids have type int64, int32 or uint8"));
  EXPECT_THAT(refusal([&](HeadInput& in) { in.labels = {{"a", labels_}, {"b", labels_}}; }), HasSubstr("names: a, b"));
  EXPECT_THAT(refusal([&](HeadInput& in) {
                in.features = {{"age", weights_}};
              }),
              HasSubstr("no feature \"weight\" to take example weights from; features: age"));
  EXPECT_THAT(refusal([&](HeadInput& in) {
                in.features = {{"weight", wide}};
              }),
              HasSubstr("weights are float32 [batch, 4], logits float32 [batch, 3]; expected weights of shape [batch] or"));
  EXPECT_THAT(refusal([&](HeadInput& in) { in.mode = Mode::kTrain; }), HasSubstr("neither was given"));
  EXPECT_THAT(refusal([&](HeadInput& in) {
                in.mode = Mode::kTrain;
                in.optimizer = sgd();
                in.train_op = [](Value) { return TrainOp{}; };
              }),
              HasSubstr("not both"));
}

}  // namespace
}  // namespace shoal::nn
