// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What the records of files have under each name, gathered in one pass.
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "data/cell.h"
#include "data/number_summary.h"
#include "data/text_summary.h"
#include "shoal/base/result.h"

namespace shoal::cli {

/// How much memory a summary may take.
struct SummaryBounds {
  size_t fields_max = 0;
  size_t sketch_capacity = 0;  ///< Of QuantileSketch; 0: no quantiles.
  size_t distinct_max = 0;     ///< Of TextSummary; 0: texts are not told from each other.
  /// From this number of fields on, further ones get an eighth of both.
  size_t full_fields_max = 100;
};

struct FieldSummary {
  FieldSummary(std::string field, size_t sketch_capacity, size_t distinct_max)
      : name(std::move(field)), numbers(sketch_capacity), texts(distinct_max) {}

  std::string name;
  std::vector<std::string> types;  ///< All that there were, in the order of the file.
  int64_t records = 0;             ///< Records that have the field, and in which it is not missing.
  int64_t values = 0;
  bool has_text = false, has_bytes = false;
  bool is_list = false, all_shapes_equal = true;
  std::vector<int64_t> shape;                 ///< Of the first record.
  int64_t length_least = 0, length_most = 0;  ///< Values of one record.
  NumberSummary numbers;
  TextSummary texts;

  /// One word, by the rules of csv_columns() where records have numbers and texts, or gaps.
  std::string type(bool missing_makes_float) const;
  bool is_text() const { return has_text || has_bytes; }
};

class FieldSummaries {
 public:
  explicit FieldSummaries(const SummaryBounds& bounds) : bounds_(bounds) {}
  /// InvalidArgument for more fields than the bounds allow.
  Result<void> add(const std::vector<Cell>& cells);
  int64_t records() const { return records_; }
  const std::vector<FieldSummary>& fields() const { return fields_; }

 private:
  void add_to(FieldSummary& field, const Cell& cell) const;

  const SummaryBounds bounds_;
  std::vector<FieldSummary> fields_;                // In the order in which they were found.
  std::unordered_map<std::string, size_t> places_;  // Looked up only, never walked.
  int64_t records_ = 0;
};

}  // namespace shoal::cli
