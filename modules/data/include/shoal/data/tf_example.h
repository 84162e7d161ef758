// SPDX-License-Identifier: Apache-2.0
#pragma once
/// tf.Example, the usual format of records in TFRecord files: each name has a list of texts, of float32 or of int64.
///
///   Dataset::tf_records(files).map(data::tf_examples({.features = {{.name = "image", .dtype = DType::kUInt8, .shape = {28, 28, 1}},
///                                                                  {.name = "label", .dtype = DType::kInt64}},
///                                                     .labels = {"label"}}), {.parallel = 2})
///
/// Source of the format: tensorflow/core/example/{example,feature}.proto.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/result.h"
#include "shoal/data/dataset.h"

namespace shoal::data {

/// One tensor that is made from a record.
struct TfFeature {
  std::string name;  ///< The name of the list in the record, and of the tensor.
  /// kFloat32 reads a list of float32, kInt64 and kInt32 a list of int64, kString a list of texts. kUInt8 reads one text,
  /// whose bytes are the values, like the raw pixels of a picture. A record with a list of another kind is DataLoss.
  DType dtype = DType::kString;
  /// A record must have as many values as this shape has elements, in row-major order; else DataLoss. Default: a scalar.
  Shape shape = {};
  /// True: the tensor has rank 1 and holds all values of the list, however many; without a list it is empty. Not with
  /// `shape` or kUInt8.
  bool variable = false;
  /// For a record that lists only nonzero values: the name of its list of int64 with each value's position, counted from 0
  /// in row-major order. The tensor has `shape`; other positions have `missing` (default: 0 or ""). A position out of
  /// range or a repeated one is DataLoss. Not for kUInt8. If a tensor of `shape` would be too large for memory, read
  /// the values and the positions as two features with `variable` set.
  std::string positions = {};
  /// Replaces the values if a record lacks the name. Its type is `dtype`; it is a scalar, used for all values, or a tensor
  /// of `shape`. Unset: such a record is DataLoss, unless the feature is variable or has positions.
  std::optional<Tensor> missing = std::nullopt;
};

struct TfExampleOptions {
  std::vector<TfFeature> features{};  ///< The tensors to make, at least one. Other lists of a record are ignored.
  /// Names of the features that become labels; a single label has the name "".
  std::vector<std::string> labels{};
};

/// Makes an element from one record. DataLoss, naming the feature, for a record that does not fit the options, or is no
/// tf.Example. Raises InvalidArgument for options that contradict themselves.
Result<Element> parse_tf_example(std::string_view record, const TfExampleOptions& options);

/// As parse_tf_example(), for map() after tf_records(). Raises InvalidArgument for options that contradict themselves.
MapFn tf_examples(TfExampleOptions options);

/// Returns all lists of a record as tensors of rank 1, by their names: kString, kFloat32 or kInt64. A name without a list
/// has no tensor, since its value is missing. DataLoss for a record that is no tf.Example.
Result<TensorMap> tf_example_tensors(std::string_view record);

/// Makes a record of these tensors, for TfRecordWriter: texts from kString, float32 from kFloat32, int64 from kInt64,
/// kInt32 and kBool, one text from the bytes of kUInt8. Values are in row-major order. Names are in byte order, so that
/// equal tensors give equal bytes. Raises InvalidArgument for other types.
std::string make_tf_example(const TensorMap& tensors);

}  // namespace shoal::data
