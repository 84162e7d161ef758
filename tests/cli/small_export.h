// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A folder with a tiny exported model.
#include <string>

#include "fixture.h"
#include "shoal/estimator/estimator.h"
#include "shoal/graph/ops.h"
#include "shoal/nn/dense.h"

namespace shoal::cli {

/// Doubles its features, with nothing to learn.
inline EstimatorSpec model(const Features& features, const Labels&, Mode mode, const Params&, const RunConfig&) {
  EstimatorSpec spec;
  spec.mode = mode;
  const Value y = nn::dense(features.single(), {.units = 2, .name = "twice"});
  spec.predictions = {{"y", y}};
  spec.loss = ops::reduce_mean(y);
  if (mode == Mode::kTrain) spec.train_op = nn::train_op({});
  return spec;
}

struct InFolderWithExport : testing::InFolder {
  std::string exported() {
    const auto input = [] { return data::Dataset::from_tensor_slices(Tensor::zeros(DType::kFloat32, {4, 3})).batch(2); };
    RunConfigOptions options;
    options.model_dir = folder + "/m";
    Estimator estimator(model, RunConfig(options));
    estimator.train(input, {.steps = 1});
    return estimator.export_model(folder + "/exports", input);
  }
};

}  // namespace shoal::cli
