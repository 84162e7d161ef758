// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Summaries of the fields of files, gathered in one pass over the records.
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "data/cell.h"
#include "data/number_summary.h"
#include "data/text_summary.h"
#include "shoal/base/result.h"

namespace shoal::cli {

/// Bounds on the memory of a summary.
struct SummaryBounds {
  size_t fields_max = 0;
  size_t sketch_capacity = 0;  ///< The capacity of each QuantileSketch; 0: no quantiles.
  size_t distinct_max = 0;     ///< How many different texts each TextSummary counts at most; 0: it counts none.
  /// Each field after this many fields gets only an eighth of sketch_capacity and of distinct_max.
  size_t full_fields_max = 100;
};

struct FieldSummary {
  FieldSummary(std::string field, size_t sketch_capacity, size_t distinct_max)
      : name(std::move(field)), numbers(sketch_capacity), texts(distinct_max) {}

  std::string name;
  std::vector<std::string> types;  ///< All types that occurred, in the order of the file.
  int64_t records = 0;             ///< Records in which the field exists and is not missing.
  int64_t lists = 0;               ///< Those of these records in which the field is a list.
  int64_t values = 0;
  bool has_text = false, has_bytes = false;
  bool is_list = false, all_shapes_equal = true;
  std::vector<int64_t> shape;                 ///< The shape in the first record.
  int64_t length_least = 0, length_most = 0;  ///< The least and the largest number of values in one list.
  NumberSummary numbers;
  TextSummary texts;

  /// The type in words, by the rules of csv_columns() if records differ: any text makes it "text", and int64 with float32
  /// gives "float32". If `missing_makes_float`, int64 becomes float32, too. Other types are listed: "int64 or bool".
  std::string type(bool missing_makes_float) const;
  bool is_text() const { return has_text || has_bytes; }
};

class FieldSummaries {
 public:
  explicit FieldSummaries(const SummaryBounds& bounds) : bounds_(bounds) {}
  /// Adds a record. InvalidArgument for more fields than the bounds allow.
  Result<void> add(const std::vector<Cell>& cells);
  int64_t records() const { return records_; }
  const std::vector<FieldSummary>& fields() const { return fields_; }

 private:
  void add_to(FieldSummary& field, const Cell& cell) const;

  const SummaryBounds bounds_;
  std::vector<FieldSummary> fields_;                // In the order in which the fields were found.
  std::unordered_map<std::string, size_t> places_;  // Only for look-ups, so no output depends on its order.
  int64_t records_ = 0;
};

}  // namespace shoal::cli
