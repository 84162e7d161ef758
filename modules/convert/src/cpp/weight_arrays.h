// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The arrays of weights of one generated source. Each array is stored once.
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/dtype.h"
#include "shoal/base/shape.h"
#include "shoal/convert/trained_model.h"

namespace shoal::convert::cpp {

class WeightArrays {
 public:
  struct Array {
    std::string name;    ///< w0, w1, ...
    std::string origin;  ///< The name of the variable or constant, and its layout.
    std::string type;    ///< The type in C++.
    Shape shape;
    std::vector<std::byte> bytes;
    size_t offset = 0;  ///< The array's position in the file of weights.
  };

  /// The model has to outlive this object.
  explicit WeightArrays(const TrainedModel& model) : model_(model) {}

  /// The bytes of a variable or constant.
  std::span<const std::byte> bytes_of(const Value& value) const;
  /// Adds an array made from a variable or constant, unchanged (`layout` is "") or rearranged. Returns the array's name.
  std::string add(const Value& value, std::string_view layout, const Shape& shape, std::span<const std::byte> bytes);

  /// Adds an array made from several values, under the key `key`. Returns the array's name.
  std::string add_made(const std::string& key, std::string_view type, const Shape& shape, std::span<const std::byte> bytes);

  const std::vector<Array>& all() const { return arrays_; }
  const Array& find(const std::string& name) const;
  /// The contents of the file of weights: the mark kFileMark, then each array at its offset.
  std::vector<std::byte> file() const;
  size_t bytes() const;

  static constexpr size_t kAlignment = 16;
  /// The first eight bytes of a file of weights, lowest byte first. A machine of the other byte order reads another number.
  static constexpr uint64_t kFileMark = 0x3170706c616f6873;  // "shoalpp1"

 private:
  std::string add_array(const std::string& key, Array array, std::span<const std::byte> bytes);

  const TrainedModel& model_;
  std::vector<Array> arrays_;
  std::map<std::string, size_t> by_key_;
  size_t file_bytes_ = kAlignment;
};

}  // namespace shoal::convert::cpp
