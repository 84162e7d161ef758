// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Predictions row by row as text, in the notation of `shoal predict`.
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "shoal/base/result.h"
#include "shoal/data/element.h"

namespace shoal {

/// CSV with a header that the first row tells (a prediction of several values has "name/0", "name/1", ...; a lone one without
/// a name is "prediction"), or one JSON object per row.
class PredictionText {
 public:
  PredictionText(std::ostream& out, bool json_lines) : out_(out), json_lines_(json_lines) {}
  /// `row`: what Predictions::next() gives for one example. InvalidArgument for a row that has other columns than the
  /// first, which CSV cannot say.
  Result<void> write(const data::TensorMap& row);

 private:
  void write_json(const data::TensorMap& row);
  Result<void> write_csv(const data::TensorMap& row);

  std::ostream& out_;
  const bool json_lines_;
  std::optional<std::vector<std::string>> header_;
  int64_t rows_ = 0;
};

}  // namespace shoal
