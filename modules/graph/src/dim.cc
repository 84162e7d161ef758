// SPDX-License-Identifier: Apache-2.0
#include "shoal/graph/dim.h"

namespace shoal {

Dim Dim::symbol(std::string name) {
  if (name.empty()) raise(invalid_argument("a symbol has to have a name, such as \"batch\""));
  Dim dim(int64_t{0});
  dim.name_ = std::move(name);
  return dim;
}

void Dim::raise_varies() const {
  raise(invalid_argument("the size \"" + name_ + "\" of a shape varies, so it has no number while a graph is built; ask " +
                         "is_symbol() first, or write the model with ops that take any size"));
}

void DimShape::raise_axis(int axis) const {
  raise(invalid_argument("the shape " + to_string(*this) + " has no axis " + std::to_string(axis) + "; it has " +
                         std::to_string(rank()) + " axes, counted from 0"));
}

DimShape::DimShape(const Shape& shape) {
  dims_.reserve(size_t(shape.rank()));
  for (int64_t size : shape.dims()) dims_.emplace_back(size);
}

bool DimShape::is_fixed() const {
  for (const Dim& dim : dims_) {
    if (dim.is_symbol()) return false;
  }
  return true;
}

Result<Shape> DimShape::resolve(const SymbolSizes& sizes) const {
  std::vector<int64_t> numbers;
  numbers.reserve(dims_.size());
  for (const Dim& dim : dims_) {
    if (!dim.is_symbol()) {
      numbers.push_back(dim.size());
      continue;
    }
    const auto found = sizes.find(dim.name());
    if (found == sizes.end()) {
      return invalid_argument("shape " + to_string(*this) + ": no size is given for the symbol \"" + dim.name() + "\"");
    }
    numbers.push_back(found->second);
  }
  return Shape::checked(numbers);
}

std::string to_string(const Dim& dim) { return dim.is_symbol() ? dim.name() : std::to_string(dim.size()); }

std::string to_string(const DimShape& shape) {
  std::string text = "[";
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (axis > 0) text += ", ";
    text += to_string(shape[axis]);
  }
  return text + "]";
}

DimShape::DimShape(std::initializer_list<Dim> dims) : dims_(dims) {}
DimShape::DimShape(std::vector<Dim> dims) : dims_(std::move(dims)) {}

bool operator==(const DimShape& a, const DimShape& b) { return a.dims_ == b.dims_; }

}  // namespace shoal
