// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "shoal/base/environment.h"
#include "shoal/estimator/estimator.h"

namespace shoal {

/// A request to write the additional file (such as an ONNX file) that an export's options ask for.
struct FormToWrite {
  Environment& env;
  const Estimator& estimator;
  const ExportOptions& options;
  std::string folder;  ///< The folder of the export, still under its temporary name.
  const InputFn& serving_input;
};

}  // namespace shoal
