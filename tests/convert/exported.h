// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Compares the ONNX file of an export with the export.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "onnx_runtime.h"
#include "shoal/base/random.h"
#include "shoal/estimator/export_form.h"
#include "shoal/estimator/exported_model.h"

namespace shoal::convert {

/// The contents of a file.
inline std::string file_contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// One batch, what Shoal predicts of it, and the job that asks onnxruntime for the same.
struct BatchToCompare {
  data::TensorMap expected;
  OnnxJob job;
};

inline BatchToCompare batch_of(ExportedModel& model, const std::string& onnx, const std::string& name,
                               const data::TensorMap& features) {
  BatchToCompare batch{model.predict(features), {name, onnx, {}}};
  for (const auto& [key, tensor] : features) batch.job.inputs.emplace(key.empty() ? "features" : key, tensor);
  return batch;
}

/// Fails where an output differs by more than 1e-5 of its largest magnitude (at least 1). Returns the largest difference.
inline double compare_outputs(const data::TensorMap& expected, const OnnxResult& result) {
  EXPECT_EQ(result.error, "");
  double worst = 0;
  for (const auto& [key, tensor] : expected) {
    const auto found = result.outputs.find(key.empty() ? "predictions" : key);
    if (found == result.outputs.end()) {
      if (result.error.empty()) ADD_FAILURE() << "no output " << key;
      continue;
    }
    const double size = difference(found->second, tensor);
    EXPECT_LE(size, 1e-5) << "output " << key;
    worst = std::max(worst, size);
  }
  return worst;
}

}  // namespace shoal::convert
