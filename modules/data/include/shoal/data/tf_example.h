// SPDX-License-Identifier: Apache-2.0
#pragma once
/// tf.Example: what most TFRecord files have as records. A record has a list of texts, of float32 or of int64 under each name.
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

/// One tensor that is made of a record.
struct TfFeature {
  std::string name;  ///< The name in the record, and that of the tensor.
  /// kFloat32 from a list of float32, kInt64 and kInt32 from a list of int64, kString from a list of texts. kUInt8: from one text, whose bytes
  /// are the values, as pictures that are not compressed are stored. A record with a list of another kind is DataLoss.
  DType dtype = DType::kString;
  /// A record has exactly as many values, in row-major order; else it is DataLoss. Default: one value, a scalar.
  Shape shape = {};
  /// True: the tensor has rank 1 and as many values as the record; none where the name is missing. `shape` is not given then. Not kUInt8.
  bool variable = false;
  /// Where a record has only the values that are not zero: the name of its list of int64 with their positions, one for each. They are
  /// counted in row-major order from 0. The tensor has `shape`, and `missing` elsewhere (default: 0 or ""). A position that is out of range, or there twice, is
  /// DataLoss. Not kUInt8. Where `shape` would be too large for that, read both lists as variable.
  std::string positions = {};
  /// The values of a record that lacks the name, of type `dtype`: a scalar, for all of them, or a tensor of `shape`. None: such a record is
  /// DataLoss, unless the feature is variable or has positions.
  std::optional<Tensor> missing = std::nullopt;
};

struct TfExampleOptions {
  std::vector<TfFeature> features{};  ///< At least one. What else is in a record is passed over.
  /// Names of the features that become labels; a lone one has the name "".
  std::vector<std::string> labels{};
};

/// Makes the element of one record. DataLoss, naming the feature, for a record that does not fit, or is no tf.Example. Raises
/// InvalidArgument for options that contradict themselves.
Result<Element> parse_tf_example(std::string_view record, const TfExampleOptions& options);

/// The same as a function for map(), behind tf_records(). Raises InvalidArgument for options that contradict themselves.
MapFn tf_examples(TfExampleOptions options);

/// All lists of a record as tensors of rank 1, by their names: kString, kFloat32 or kInt64. A name without a list gives no values of
/// kString. DataLoss for a record that is no tf.Example.
Result<TensorMap> tf_example_tensors(std::string_view record);

/// The record of these tensors, for TfRecordWriter: texts of kString, float32 of kFloat32, int64 of kInt64, kInt32 and kBool, and one text with the
/// bytes of kUInt8; of more than one dimension in row-major order. The names are in byte order, so that equal tensors give equal
/// bytes. Raises InvalidArgument for other types.
std::string make_tf_example(const TensorMap& tensors);

}  // namespace shoal::data
