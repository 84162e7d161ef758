// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Writes parts of graphs as bytes, for fingerprints and for finding equal nodes.
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "shoal/base/random.h"
#include "shoal/graph/graph.h"

namespace shoal {

/// Collects the bytes of the values that put() gets. The length of a text or list precedes its contents, so that different
/// graphs never give equal bytes.
class Canonical {
 public:
  template <class T>
  requires(std::is_arithmetic_v<T> || std::is_enum_v<T>) void put(T value) {
    uint64_t bits = 0;
    if constexpr (std::is_floating_point_v<T>) {
      const double wide = value;
      std::memcpy(&bits, &wide, sizeof bits);
    } else {
      bits = uint64_t(int64_t(value));
    }
    for (int shift = 0; shift < 64; shift += 8) bytes_ += char(bits >> shift & 0xff);
  }
  void put(std::string_view text) {
    put(text.size());
    bytes_ += text;
  }
  void put(const std::string& text) { put(std::string_view(text)); }
  void put(const std::vector<int64_t>& values) {
    put(values.size());
    for (int64_t value : values) put(value);
  }
  void put(const ValueType& type) {
    put(type.dtype);
    put(type.shape);
  }
  void put(const DimShape& shape) {
    put(shape.rank());
    for (const Dim& dim : shape.dims()) {
      put(dim.is_symbol() ? -1 : dim.size());
      put(dim.name());
    }
  }
  void put(const Attributes& attributes) {
    put(attributes.values().size());
    for (const auto& [name, value] : attributes.values()) {
      put(name);
      put(value.index());
      std::visit([this](const auto& v) { put(v); }, value);
    }
  }
  void put(const Tensor& tensor) {
    const TensorView view = tensor.view();
    put(std::string_view(reinterpret_cast<const char*>(view.data), view.bytes()));
  }
  const std::string& bytes() const { return bytes_; }
  uint64_t hash() const { return fold_in(RandomKey{0}, bytes_); }

 private:
  std::string bytes_;
};

}  // namespace shoal
