// SPDX-License-Identifier: Apache-2.0
// A program of a parent project with compiler flags of its own. It trains ten steps, and looks whether Shoal kept what
// these flags would have taken from it: the guard against NaN, type information, exceptions, char with a sign. It uses
// neither exceptions nor type information itself. Prints what is wrong; the status is 0 where nothing is.
#include <cstdio>
#include <filesystem>
#include <limits>
#include <memory>

#include "shoal/shoal.h"

namespace {

shoal::EstimatorSpec model(const shoal::Features& features, const shoal::Labels& labels, shoal::Mode mode,
                           const shoal::Params&, const shoal::RunConfig&) {
  shoal::nn::HeadInput input{.mode = mode, .labels = labels, .logits = shoal::nn::dense(features["x"], {.units = 1})};
  if (mode == shoal::Mode::kTrain) input.optimizer = shoal::nn::adam({});
  return shoal::nn::binary_head()->build(input);
}

shoal::data::Dataset rows(float last) {
  shoal::Tensor x(shoal::DType::kFloat32, {64, 2}), y = shoal::Tensor::zeros(shoal::DType::kInt64, {64});
  int i = 0;
  for (float& value : x.mutable_as<float>()) value = float(i++ % 7) - 3;
  x.mutable_as<float>()[127] = last;
  return shoal::data::Dataset::from_tensor_slices({{"x", x}}, y);
}

/// A class of the host's: its type information is where the host has it.
class CountingHook : public shoal::Hook {
 public:
  void after_step(shoal::RunContext&, const shoal::StepValues&) override { ++steps; }
  int steps = 0;
};

int wrong = 0;

void expect(bool right, const char* what) {
  if (right) return;
  std::printf("wrong: %s\n", what);
  ++wrong;
}

void train_well(const std::string& folder) {
  shoal::RunConfigOptions options;
  options.model_dir = folder + "/well";
  options.random_seed = 7;
  shoal::Estimator estimator(model, shoal::RunConfig(options));
  const auto hook = std::make_shared<CountingHook>();
  const auto data = rows(1).repeat().batch(8);
  const auto trained = estimator.try_train(data, {.max_steps = 10, .hooks = {hook}});
  if (!trained) std::printf("train: %s\n", trained.error().message().c_str());
  expect(bool(trained), "ten steps are trained");
  expect(hook->steps == 10, "the hook sees them");
  const auto evaluated = estimator.try_evaluate(rows(1).batch(8));
  expect(evaluated && evaluated->at("global_step") == 10, "they are evaluated");
  const auto exported = estimator.try_export_model(folder + "/exports", rows(1).batch(8));
  expect(bool(exported), "they are exported");
  if (!exported) return;
  const auto loaded = shoal::try_load_exported_model(*exported);
  expect(bool(loaded), "the export loads");
}

void train_nan(const std::string& folder) {
  shoal::RunConfigOptions options;
  options.model_dir = folder + "/nan";
  options.random_seed = 7;
  shoal::Estimator estimator(model, shoal::RunConfig(options));
  const auto data = rows(std::numeric_limits<float>::quiet_NaN()).repeat().batch(8);
  const auto trained = estimator.try_train(data, {.max_steps = 100});
  expect(!trained && trained.error().kind() == shoal::ErrorKind::kNanLoss, "a loss that is NaN ends training");
}

}  // namespace

int main(int, char** argv) {
  const std::string folder = argv[1];
  train_well(folder);
  train_nan(folder);
  const auto none = shoal::try_load_exported_model(folder + "/none");
  expect(!none && none.error().kind() == shoal::ErrorKind::kNotFound, "an export that is not there is an error");
  if (wrong == 0) std::printf("all is right\n");
  return wrong == 0 ? 0 : 1;
}
