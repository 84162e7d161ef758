// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The cases of the backends' conformance suite as models, and as ONNX files.
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "onnx_runtime.h"
#include "op_cases.h"
#include "shoal/convert/trained_model.h"

namespace shoal::convert {

/// A case as a model: its inputs are the features, its outputs the predictions.
struct CaseModel {
  explicit CaseModel(const backends::testing::OpCase& op_case);
  /// What the reference backend gives.
  std::vector<Tensor> expected();

  backends::testing::CaseBuilder builder;
  TrainedModel model;
};

/// Files of the cases that can be written, and the ops in them. Two are left out: to ONNX, NaN has no place in an order.
struct Written {
  std::vector<OnnxJob> jobs;
  std::vector<std::unique_ptr<CaseModel>> models;
  std::set<std::string> ops;
};
/// onnxruntime ends with an arithmetic exception for some ops without elements.
enum class EmptyInputs { kAreThere, kAreLeftOut };
Written write_cases(EmptyInputs empty);

/// The ops that the predictions are computed by.
std::set<std::string> ops_of(const TrainedModel& model);

}  // namespace shoal::convert
