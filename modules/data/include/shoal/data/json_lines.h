// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Options of Dataset::json_lines(), which reads files of JSON lines.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shoal/base/dtype.h"
#include "shoal/base/tensor.h"

namespace shoal::data {

/// One member of the JSON objects, which becomes one tensor.
///
/// Values must fit the type: strings for kString; true and false for kBool; numbers for the others.
/// For kFloat32, the number in the text is rounded to the nearest float32. So 1e-59 becomes 0, and 1e39 becomes infinity,
/// which is DataLoss in a label. A number that double does not hold, such as 1e400, is always DataLoss.
/// For kInt64 and kInt32, a number that the type does not hold is DataLoss. "70.0" and "7e1", whose fraction is zero, are
/// whole numbers; their digits decide, so no number is rounded. NaN and Infinity are no JSON.
struct JsonField {
  std::string name;              ///< The name of the feature or label.
  DType dtype = DType::kString;  ///< One of kString, kFloat32, kInt64, kInt32 and kBool.
  /// {}: the value itself, a scalar. {3}: a list of 3. {2, 3}: a list of 2 lists of 3; and so on. Other lengths are
  /// DataLoss.
  std::vector<int64_t> shape = {};
  bool variable = false;  ///< True: a list of any length, which gives the shape [length]. `shape` is {}.
  /// The place of the value in an object: keys with dots between them ("user.address.city") lead into nested objects. "":
  /// `name` is the key, even if it contains dots.
  std::string path = {};
  /// The value of a missing field, or of null: a tensor of the field's type and shape, or a scalar, which fills that
  /// shape. For a field of variable length: a list. Unset: a missing field is DataLoss. Null inside of a list is always
  /// DataLoss.
  std::optional<Tensor> missing = {};
};

struct JsonLinesOptions {
  /// At least one field is no label. No two have the same name or path, and no path leads into another field's value.
  std::vector<JsonField> fields{};
  std::vector<std::string> labels{};  ///< Names of fields that become labels; a single label has the name "".
  /// The most bytes of one line, at least 1. A longer line is DataLoss. The reader never stores more bytes of a line.
  int64_t line_bytes_max = int64_t(1) << 20;
};

}  // namespace shoal::data
