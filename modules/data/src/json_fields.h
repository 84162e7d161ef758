// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The values of one field of JSON objects, gathered into a tensor.
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/result.h"
#include "shoal/base/tensor.h"
#include "shoal/data/json_lines.h"

namespace shoal::data {

/// The kinds of JSON values, for errors.
enum class JsonKind { kNull, kBool, kNumber, kString, kList, kObject };

/// Gathers the elements of one value after another: begin(), then one call for each element and for both ends of each list,
/// until is_done(). Errors are InvalidArgument with a sentence that names the field; the caller adds file and line.
class JsonGatherer {
 public:
  void begin(const JsonField& field);
  /// Whether the value is complete.
  bool is_done() const { return is_done_; }
  const JsonField& field() const { return *field_; }

  Result<void> boolean(bool value);
  Result<void> number(std::string_view text);
  Result<void> string(std::string& text);
  Result<void> begin_list();
  Result<void> end_list();
  /// Makes the error for a JSON value whose kind, `found`, the field does not accept at this position.
  Error mismatch(JsonKind found, std::string_view text = {}) const;

  /// Writes the elements into `tensor`, whose storage is reused if it has the type and the shape.
  void store(Tensor& tensor);

 private:
  int64_t rank() const { return field_->variable ? 1 : int64_t(field_->shape.size()); }
  bool wants_element() const { return int64_t(counts_.size()) == rank(); }
  /// The size that the innermost list must have; -1: any.
  int64_t wanted_size() const { return field_->variable ? -1 : field_->shape[counts_.size() - 1]; }
  /// Called after each element and at the end of each list. Counts the element or list as a value of the list around it. If
  /// no list is around it, notes that the field's value is complete.
  Result<void> count_one();
  template <class T>
  Result<void> add(T value);
  template <class T>
  Result<void> add_number(std::string_view text);
  Error wrong(const std::string& what) const;

  const JsonField* field_ = nullptr;
  bool is_done_ = false;
  std::vector<int64_t> counts_;  // The number of values in each open list so far.
  int64_t elements_ = 0;
  std::vector<std::byte> bytes_;      // The elements of the value, if they are not strings.
  std::vector<std::string> strings_;  // The first elements_ strings are the value; the others are memory to reuse.
};

/// Stores the value that a missing field counts as. `field` must have such a value.
void store_missing(const JsonField& field, Tensor& tensor);

/// Returns InvalidArgument if `field` has an impossible type or shape, or if `field.missing`, which replaces missing
/// values, does not fit the type and the shape.
Result<void> check_json_field(const JsonField& field);

}  // namespace shoal::data
