// SPDX-License-Identifier: Apache-2.0
// Evaluates every head on generated batches of different sizes, and writes what another implementation needs for that:
//   heads_trace
// Output: one JSON object, by case: "batches", a list of {"logits", "labels", "weights"}, nested by row; "losses", one for
// each batch; "metrics" over all batches, accumulated in two parts that were merged; "predictions" of the first batch.
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "../nn/graph_runner.h"
#include "shoal/base/random.h"
#include "shoal/nn/head.h"

namespace shoal::nn {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kSizes[] = {7, 1, 64, 200};

struct Case {
  std::string name;
  std::unique_ptr<Head> head;
  int64_t labels_dimension;
  /// The label from a uniform number in [0, 1), which is correlated with the example's logit of that place.
  float (*label)(float uniform, float logit);
  DType dtype = DType::kFloat32;
};

float one_if_likely(float uniform, float logit) { return uniform * 6 - 3 < logit ? 1.0f : 0.0f; }

std::vector<Case> cases() {
  std::vector<Case> all;
  const auto add = [&all](std::string name, std::unique_ptr<Head> head, int64_t dimension, float (*label)(float, float),
                          DType dtype = DType::kFloat32) {
    all.push_back({std::move(name), std::move(head), dimension, label, dtype});
  };
  const auto any = [](float uniform, float logit) { return logit + 3 * uniform; };
  const auto count = [](float uniform, float) { return std::floor(5 * uniform); };
  const auto of_four = [](float uniform, float) { return std::floor(4 * uniform); };
  const auto probability = [](float uniform, float) { return uniform; };
  add("multi_class", multi_class_head({.n_classes = 4, .weight_column = "w"}), 1, of_four, DType::kInt64);
  add("soft_classes", multi_class_head({.n_classes = 4, .weight_column = "w"}), 4, probability);
  add("binary", binary_head({.weight_column = "w", .thresholds = {0.25, 0.75}}), 1, one_if_likely);
  add("regression", regression_head({.label_dimension = 2, .weight_column = "w"}), 2, any);
  add("poisson", poisson_regression_head({.label_dimension = 2, .weight_column = "w"}), 2, count);
  add("logistic", logistic_regression_head({.weight_column = "w"}), 1, probability);
  add("multi_label",
      multi_label_head({.n_classes = 3, .weight_column = "w", .thresholds = {0.5}, .classes_for_class_based_metrics = {1}}),
      3, one_if_likely);
  return all;
}

template <class T>
Json rows_of(const Tensor& tensor) {
  Json rows = Json::array();
  const int64_t count = tensor.shape()[0], per_row = count == 0 ? 0 : tensor.elements() / count;
  for (int64_t r = 0; r < count; ++r) {
    Json row = Json::array();
    for (int64_t i = 0; i < per_row; ++i) row.push_back(tensor.as<T>()[size_t(r * per_row + i)]);
    rows.push_back(std::move(row));
  }
  return rows;
}

Json as_json(const Tensor& tensor) {
  return tensor.dtype() == DType::kInt64 ? rows_of<int64_t>(tensor) : rows_of<float>(tensor);
}

Feeds batch_of(const Case& of, int64_t size, RandomKey key) {
  Tensor logits(DType::kFloat32, Shape{size, of.head->logits_dimension()}), weights(DType::kFloat32, Shape{size});
  fill_normal(fold_in(key, "logits"), 0, logits.mutable_as<float>(), 0, 1.5f);
  fill_uniform(fold_in(key, "weights"), 0, weights.mutable_as<float>(), 0, 3);
  std::vector<float> labels(size_t(size * of.labels_dimension));
  fill_uniform(fold_in(key, "labels"), 0, labels, 0, 1);
  const int64_t logits_per_row = of.head->logits_dimension();
  for (size_t i = 0; i < labels.size(); ++i) {
    const size_t row = i / size_t(of.labels_dimension), column = i % size_t(of.labels_dimension);
    labels[i] = of.label(labels[i], logits.as<float>()[row * size_t(logits_per_row) + column]);
  }
  const Shape shape{size, of.labels_dimension};
  if (of.dtype == DType::kFloat32) {
    return {{"logits", logits}, {"labels", Tensor::of<float>(shape, std::span<const float>(labels))}, {"weights", weights}};
  }
  const std::vector<int64_t> ids(labels.begin(), labels.end());
  return {{"logits", logits}, {"labels", Tensor::of<int64_t>(shape, std::span<const int64_t>(ids))}, {"weights", weights}};
}

Json trace(const Case& of) {
  Graph graph;
  const Dim batch = Dim::symbol("batch");
  const Value logits = graph.input("logits", DType::kFloat32, {batch, of.head->logits_dimension()});
  const Value labels = graph.input("labels", of.dtype, {batch, of.labels_dimension});
  const Value weights = graph.input("weights", DType::kFloat32, {batch});
  const HeadOutput output =
      of.head->build({.mode = Mode::kEval, .features = {{"w", weights}}, .labels = labels, .logits = logits});
  Json json{
      {"batches", Json::array()}, {"losses", Json::array()}, {"metrics", Json::object()}, {"predictions", Json::object()}};
  std::vector<Feeds> batches;
  for (const int64_t size : kSizes) {
    batches.push_back(batch_of(of, size, fold_in(RandomKey{7}, uint64_t(size))));
    Json feeds;
    for (const auto& [name, tensor] : batches.back()) feeds[name] = as_json(tensor);
    json["batches"].push_back(std::move(feeds));
    json["losses"].push_back(GraphRunner(graph, {{"batch", size}}).number(output.loss, batches.back()));
  }
  for (const auto& [name, value] : evaluate(graph, output.metrics, batches)) json["metrics"][name] = value;
  for (const auto& [name, value] : output.predictions) {
    GraphRunner runner(graph, {{"batch", kSizes[0]}});
    json["predictions"][name] = as_json(value_or_raise(runner.run({value}, batches[0]))[0]);
  }
  return json;
}

}  // namespace
}  // namespace shoal::nn

int main() {
  shoal::nn::Json all = shoal::nn::Json::object();
  for (const auto& of : shoal::nn::cases()) all[of.name] = shoal::nn::trace(of);
  std::puts(all.dump().c_str());
}
