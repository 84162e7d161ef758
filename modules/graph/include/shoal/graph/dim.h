// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Sizes in a graph: numbers, or symbols for sizes that vary ("batch", "time").
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/result.h"
#include "shoal/base/shape.h"

namespace shoal {

/// One size: a number, or a symbol, which equals only a symbol of the same name.
class Dim {
 public:
  Dim(int64_t size) : size_(size) {}  // NOLINT: a literal is a size
  Dim(int size) : size_(size) {}
  /// Raises InvalidArgument for an empty name.
  static Dim symbol(std::string name);

  bool is_symbol() const { return !name_.empty(); }
  /// Raises InvalidArgument for a symbol, since its size is not known while a graph is built.
  int64_t size() const {
    if (is_symbol()) [[unlikely]]
      raise_varies();
    return size_;
  }
  const std::string& name() const { return name_; }
  friend bool operator==(const Dim&, const Dim&) = default;

 private:
  [[noreturn]] void raise_varies() const;
  int64_t size_ = 0;
  std::string name_;
};

/// The size of each symbol in one compilation.
using SymbolSizes = std::map<std::string, int64_t, std::less<>>;

/// A shape whose sizes may be symbols.
class DimShape {
 public:
  DimShape() = default;
  DimShape(std::initializer_list<Dim> dims);
  explicit DimShape(std::vector<Dim> dims);
  DimShape(const Shape& shape);  // NOLINT: an implicit conversion, as every Shape is a DimShape

  int rank() const { return int(dims_.size()); }
  /// Raises InvalidArgument for an axis that the shape does not have.
  const Dim& operator[](int axis) const {
    if (axis < 0 || axis >= rank()) [[unlikely]]
      raise_axis(axis);
    return dims_[size_t(axis)];
  }
  const std::vector<Dim>& dims() const { return dims_; }
  bool is_fixed() const;
  /// Replaces every symbol by its size. InvalidArgument names a symbol that `sizes` lacks.
  Result<Shape> resolve(const SymbolSizes& sizes) const;
  friend bool operator==(const DimShape& a, const DimShape& b);

 private:
  [[noreturn]] void raise_axis(int axis) const;
  std::vector<Dim> dims_;
};

std::string to_string(const Dim& dim);
std::string to_string(const DimShape& shape);  ///< Returns "[batch, 28, 28, 1]".

}  // namespace shoal
