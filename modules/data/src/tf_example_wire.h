// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The bytes of tf.Example: a protocol buffer with a map from names to lists of texts, float32 or int64.
///
///   Example     1: Features
///   Features    1: map<string, Feature>, each entry a message with 1: the name, 2: the Feature
///   Feature     one of 1: BytesList, 2: FloatList, 3: Int64List
///   ...List     1: repeated value; numbers are packed or not
///
/// Source of the schema: tensorflow/core/example/{example,feature}.proto; of the encoding: protobuf.dev, "Encoding".
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/result.h"

namespace shoal::data {

enum class TfList : uint8_t { kNone = 0, kBytes = 1, kFloat = 2, kInt64 = 3 };
/// Returns "texts", "float32 values", "int64 values" or "nothing".
std::string_view to_string(TfList list);

/// The list of values that a record has under a name, still encoded. `bytes` points into the record or, if the record has
/// the list in several parts, into memory of the TfRecord, which has joined them.
struct TfValues {
  std::string_view name;
  TfList list = TfList::kNone;  ///< kNone: the record has the name, but no list under it.
  std::string_view bytes = {};

  /// Returns the number of values. DataLoss if the bytes are damaged.
  Result<int64_t> count() const;
  // Each function copies all values of a list of its kind. `out` has the size that count() returned.
  Result<void> copy_floats(std::span<float> out) const;
  Result<void> copy_int64s(std::span<int64_t> out) const;
  /// Copies views of the texts, which point into the record.
  Result<void> copy_texts(std::span<std::string_view> out) const;
};

/// The features of one record. If a name occurs twice, the last one counts; if a name has lists of several kinds, the last
/// kind counts, and lists of one kind are joined.
class TfRecord {
 public:
  /// Reads a record, which must outlive its values. DataLoss, without the record's name, if it is no tf.Example.
  Result<void> read(std::string_view record);
  /// The lists, in the order of the record.
  const std::vector<TfValues>& values() const { return values_; }
  /// Returns nullptr if the record lacks that name.
  const TfValues* find(std::string_view name) const;
  /// Returns the first few names as "a, b, c", for errors.
  std::string names() const;

 private:
  std::vector<TfValues> values_;
  std::deque<std::string> merged_;
};

}  // namespace shoal::data
