// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Writes predictions as text row by row, in the notation of `shoal predict`.
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "shoal/base/result.h"
#include "shoal/data/element.h"

namespace shoal {

/// Writes CSV or one JSON object per row. The first row determines the header of the CSV: a prediction of several values
/// has the columns "name/0", "name/1", ...; a lone prediction without a name is "prediction".
class PredictionText {
 public:
  PredictionText(std::FILE* out, bool json_lines) : out_(out), json_lines_(json_lines) {}
  /// Writes the row that Predictions::next() gives for one example. InvalidArgument in CSV for a row whose columns differ
  /// from those of the first row. A line that cannot be written leaves the mark that std::ferror() reads.
  Result<void> write(const data::TensorMap& row);

 private:
  void write_line(const std::string& text);
  void write_json(const data::TensorMap& row);
  Result<void> write_csv(const data::TensorMap& row);

  std::FILE* const out_;
  const bool json_lines_;
  std::optional<std::vector<std::string>> header_;
  int64_t rows_ = 0;
};

}  // namespace shoal
