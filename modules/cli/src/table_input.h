// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Turns the rows of a table into features, the inputs of an exported model.
#include <span>
#include <string>
#include <vector>

#include "shoal/data/csv_reader.h"
#include "shoal/estimator/exported_model.h"

namespace shoal::cli {

/// Names the columns of a table that are no inputs of the model.
struct TableChoice {
  std::vector<std::string> unused = {};
  std::vector<std::string> copied = {};  ///< Columns that go into the output unchanged.
};

/// Matches the columns of a table with the inputs of a model. An input of one value per row takes the column of its name;
/// an input of more values takes the columns "name/0", "name/1" and so on. If the table has none of these columns, the model's
/// only input takes all columns from left to right, except those that TableChoice lists.
class TableInput {
 public:
  /// `names` are the table's columns. InvalidArgument if the table lacks a column of an input, or if the type of an
  /// input is one that cannot be read from a table, such as float16.
  static Result<TableInput> match(const std::vector<ExportedTensor>& inputs, const std::vector<std::string>& names,
                                  const TableChoice& choice);
  /// The columns for CsvReader::expect().
  const std::vector<data::CsvColumn>& columns() const { return columns_; }
  const std::vector<std::string>& unused() const { return unused_; }

  /// The columns to copy (TableChoice::copied), by their places from the left, and whether an input reads numbers from them.
  struct Copied {
    size_t place = 0;
    bool is_number = false;
  };
  const std::vector<Copied>& copied() const { return copied_; }

  /// InvalidArgument if a value does not fit its input.
  Result<void> check(const data::Element& row) const;
  /// Returns the features of `rows`, of which there must be at least one.
  data::TensorMap features(std::span<const data::Element> rows) const;

 private:
  struct Input {
    ExportedTensor tensor;
    std::vector<std::string> columns;  ///< The columns that hold the input's values, in order.
  };
  std::vector<Input> inputs_;
  std::vector<data::CsvColumn> columns_;
  std::vector<std::string> unused_;
  std::vector<Copied> copied_;
};

}  // namespace shoal::cli
