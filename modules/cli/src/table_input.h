// SPDX-License-Identifier: Apache-2.0
#pragma once
/// How the rows of a table become the features of an export.
#include <span>
#include <string>
#include <vector>

#include "shoal/data/csv_reader.h"
#include "shoal/estimator/exported_model.h"

namespace shoal::cli {

/// Which columns are not for the model.
struct TableChoice {
  std::vector<std::string> unused = {};
  std::vector<std::string> copied = {};  ///< They go into the output as they are.
};

/// An input of one value per row takes the column of its name; one of more values the columns "name/0", "name/1" and so on.
/// An only input takes, where those are not there, all columns that are neither unused nor copied, from left to right.
class TableInput {
 public:
  /// `names` are the table's columns. InvalidArgument for an input that has no columns in the table, or cannot come out of
  /// one.
  static Result<TableInput> match(const std::vector<ExportedTensor>& inputs, const std::vector<std::string>& names,
                                  const TableChoice& choice);
  /// For CsvReader::expect().
  const std::vector<data::CsvColumn>& columns() const { return columns_; }
  const std::vector<std::string>& unused() const { return unused_; }

  /// InvalidArgument with a sentence if a value is none of its input's.
  Result<void> check(const data::Element& row) const;
  /// What the model takes, of at least one row.
  data::TensorMap features(std::span<const data::Element> rows) const;

 private:
  struct Input {
    ExportedTensor tensor;
    std::vector<std::string> columns;  ///< Of its values, in order.
  };
  std::vector<Input> inputs_;
  std::vector<data::CsvColumn> columns_;
  std::vector<std::string> unused_;
};

}  // namespace shoal::cli
