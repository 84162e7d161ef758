// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Writes predictions row by row, as CSV or as JSON lines.
#include <span>
#include <string>
#include <vector>

#include "shoal/cli/text_output.h"
#include "shoal/estimator/exported_model.h"

namespace shoal::cli {

/// A prediction and its name in the output.
struct RowOutput {
  std::string name;  ///< "prediction" for a lone prediction without a name.
  std::string key;   ///< The prediction's key in the map that ExportedModel::predict() returns.
  std::vector<int64_t> row_shape;
};

/// Chooses the predictions of `signature`, or all if it is "". If `keys` is not empty, chooses only the ones in `keys`.
/// InvalidArgument, listing the choices, for an unknown signature or key, and for a prediction that is not one per row.
Result<std::vector<RowOutput>> choose_outputs(const ExportedModel& model, const std::string& signature,
                                              const std::vector<std::string>& keys);

/// A column of the input table that is written in front of the predictions.
struct CopiedColumn {
  std::string name;
  bool is_number = false;  ///< True if the model reads the column as numbers, so that JSON has numbers, too.
};
/// The fields of the copied columns in one row of the table, as they stand there.
using CopiedFields = std::vector<std::string>;

struct RowFormat {
  bool json_lines = false;
  char separator = ',';
  std::vector<CopiedColumn> copied = {};
};

class PredictionRows {
 public:
  PredictionRows(TextOutput& out, std::vector<RowOutput> outputs, RowFormat format)
      : out_(out), outputs_(std::move(outputs)), format_(std::move(format)) {}
  /// Writes the names of the columns (RFC 4180); nothing for JSON lines. A prediction of several values has "name/0",
  /// "name/1", ... InvalidArgument if two columns would have one name.
  Result<void> write_header();
  /// Writes predictions, with the copied fields of their rows in front. DataLoss if a prediction lacks the shape that the export describes.
  Result<void> write(std::span<const CopiedFields> rows, const data::TensorMap& predictions);
  int64_t rows() const { return rows_; }
  /// The number of rows with a prediction that is NaN, and the number of the first such row, from 1.
  int64_t rows_with_nan() const { return rows_with_nan_; }
  int64_t first_with_nan() const { return first_with_nan_; }
  /// The number of rows with bytes that JSON cannot hold; those bytes were replaced.
  int64_t rows_with_bytes() const { return rows_with_bytes_; }

 private:
  void write_csv(const CopiedFields& row, const std::vector<const Tensor*>& predictions, int64_t at);
  void write_json(const CopiedFields& row, const std::vector<const Tensor*>& predictions, int64_t at);
  void count(const std::vector<const Tensor*>& predictions, int64_t at);

  TextOutput& out_;
  const std::vector<RowOutput> outputs_;
  const RowFormat format_;
  int64_t rows_ = 0, rows_with_nan_ = 0, first_with_nan_ = 0, rows_with_bytes_ = 0;
};

}  // namespace shoal::cli
