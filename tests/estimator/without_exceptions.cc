// SPDX-License-Identifier: Apache-2.0
// Compiled with -fno-exceptions, as users may do: public headers have to compile so, and errors have to come as values.
#include "without_exceptions.h"

#include <cmath>
#include <limits>

#include "shoal/shoal.h"

#if defined(__cpp_exceptions)
#error "this file is a program that is built without exceptions"
#endif

namespace shoal::testing {
namespace {

EstimatorSpec line_model(const Features& features, const Labels& labels, Mode mode) {
  EstimatorSpec spec;
  spec.mode = mode;
  const Value y = nn::dense(features["x"], {.units = 1});
  spec.predictions = {{"y", y}};
  spec.export_outputs = {{"predict", {{"y", "y"}}}};
  if (mode == Mode::kPredict) return spec;
  spec.loss = nn::reduce_loss(nn::squared_error({.labels = labels.single(), .predictions = y}));
  if (mode == Mode::kTrain) spec.train_op = nn::sgd({.learning_rate = 0.1}).minimize(spec.loss);
  return spec;
}

data::Dataset line_of(std::vector<float> x) {
  std::vector<float> y;
  for (const float value : x) y.push_back(2 * value + 1);
  const Shape shape{int64_t(x.size()), 1};
  return data::Dataset::from_tensor_slices({{"x", Tensor::of<float>(shape, x)}}, Tensor::of<float>(shape, y));
}

template <class T>
std::string error_of(const Result<T>& result) {
  return result ? "" : std::string(to_string(result.error().kind())) + ": " + result.error().message();
}

}  // namespace

std::vector<std::string> train_without_exceptions(const RunConfig& config, const std::string& exports, TaskReport& report) {
  std::vector<std::string> wrong;
  const auto expect = [&wrong](const auto& result) {
    if (!result) wrong.push_back(error_of(result));
    return bool(result);
  };
  Result<Estimator> estimator = Estimator::try_make(line_model, config);
  if (!expect(estimator)) return wrong;
  const data::Dataset training = line_of({-1, 0, 0.5f, 1}).repeat().batch(4);
  const auto done =
      try_train_and_evaluate(*estimator, {.input_fn = training, .max_steps = 200}, {.input_fn = line_of({2}).batch(1)});
  if (!expect(done)) return wrong;
  report = done->report;
  expect(estimator->try_train(training, {.steps = 1}));
  const Result<Metrics> metrics = estimator->try_evaluate(line_of({2}).batch(1));
  if (expect(metrics) && metrics->at("loss") > 1e-3) wrong.push_back("a loss of " + std::to_string(metrics->at("loss")));
  expect(estimator->try_variable_names());
  expect(estimator->try_variable_value("dense/kernel"));
  expect(estimator->try_latest_checkpoint());
  Result<std::unique_ptr<Predictions>> predictions = estimator->try_predict(line_of({2, 3}).batch(2));
  int count = 0;
  while (expect(predictions)) {
    const Result<std::optional<data::TensorMap>> next = (*predictions)->try_next();
    if (!expect(next) || !*next) break;
    ++count;
  }
  if (count != 2) wrong.push_back(std::to_string(count) + " predictions");
  const Result<std::string> folder = estimator->try_export_model(exports, line_of({1}).batch(1));
  if (!expect(folder)) return wrong;
  Result<std::unique_ptr<ExportedModel>> model = try_load_exported_model(*folder);
  if (!expect(model)) return wrong;
  const data::TensorMap features{{"x", Tensor::of<float>({1, 1}, {3})}};
  const Result<data::TensorMap> y = (*model)->try_predict(features);
  if (expect(y) && std::abs(y->find("y")->as<float>()[0] - 7) > 0.1f) wrong.push_back("y is not 7");
  expect((*model)->try_predict(features, "predict"));
  expect((*model)->try_profile({.batch = 1, .runs = 1}));
  return wrong;
}

std::vector<std::string> fail_without_exceptions(const RunConfig& config, const std::string& nowhere) {
  std::vector<std::string> errors;
  const auto no_cluster = [](std::string_view name) {
    return name == "TF_CONFIG" ? std::optional<std::string>("{\"cluster\": 7}") : std::nullopt;
  };
  errors.push_back(error_of(RunConfig::try_from_environment({}, no_cluster)));
  errors.push_back(error_of(RunConfig::try_from_environment({.save_checkpoints_steps = 1, .save_checkpoints_secs = 1})));
  errors.push_back(error_of(Estimator::try_make(nullptr, config)));
  errors.push_back(error_of(Estimator::try_make(line_model, config, {}, "another")));
  Result<Estimator> estimator = Estimator::try_make(line_model, config);
  const data::Dataset data = line_of({1}).batch(1);
  errors.push_back(error_of(estimator->try_train(data, {.steps = 1, .max_steps = 1})));
  errors.push_back(error_of(estimator->try_train(nullptr)));
  errors.push_back(error_of(estimator->try_evaluate(data, {.steps = 0})));
  errors.push_back(error_of(estimator->try_predict(nullptr)));
  errors.push_back(error_of(estimator->try_export_model(nowhere, data)));
  errors.push_back(error_of(estimator->try_variable_names()));
  errors.push_back(error_of(estimator->try_variable_value("dense/kernel")));
  errors.push_back(error_of(try_load_exported_model(nowhere)));
  errors.push_back(error_of(try_train_and_evaluate(*estimator, {.input_fn = nullptr}, {.input_fn = data})));
  const data::Dataset bad = line_of({std::numeric_limits<float>::infinity()}).repeat().batch(1);
  errors.push_back(error_of(try_train_and_evaluate(*estimator, {.input_fn = bad, .max_steps = 9}, {.input_fn = data})));
  return errors;
}

}  // namespace shoal::testing
