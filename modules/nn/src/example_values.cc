// SPDX-License-Identifier: Apache-2.0
#include "example_values.h"

#include <vector>

#include "shoal/graph/ops.h"

namespace shoal::nn {

DimShape trimmed(const DimShape& shape) {
  std::vector<Dim> dims = shape.dims();
  while (dims.size() > 1 && dims.back() == Dim(1)) dims.pop_back();
  return DimShape(std::move(dims));
}

DimShape with_last(const DimShape& shape, Dim last) {
  std::vector<Dim> dims = shape.dims();
  dims.push_back(std::move(last));
  return DimShape(std::move(dims));
}

DimShape without_last(const DimShape& shape) {
  std::vector<Dim> dims = shape.dims();
  dims.pop_back();
  return DimShape(std::move(dims));
}

std::string described(Value value) {
  return value.valid() ? std::string(to_string(value.dtype())) + " " + to_string(value.shape()) : "no value of a graph";
}

Value as_floats(Value value) { return value.dtype() == DType::kFloat32 ? value : ops::cast(value, DType::kFloat32); }

Value per_example(std::string_view who, std::string_view what, Value value, std::string_view like_what, Value like) {
  const std::string name(what);
  if (!value.valid()) raise(invalid_argument(std::string(who) + ": " + name + " are no value of a graph"));
  const bool column = value.rank() == 2 && value.shape()[1] == Dim(1);
  const bool fits = (value.rank() == 1 || column) && like.rank() >= 1 && value.shape()[0] == like.shape()[0];
  if (!fits) {
    const std::string batch = like.rank() >= 1 ? to_string(like.shape()[0]) : "batch";
    raise(invalid_argument(std::string(who) + ": " + name + " have shape " + to_string(value.shape()) + ", " +
                           std::string(like_what) + " " + to_string(like.shape()) + "; expected " + name + " of shape [" +
                           batch + "] or [" + batch + ", 1]"));
  }
  return column ? ops::reshape(value, DimShape{value.shape()[0]}) : value;
}

}  // namespace shoal::nn
