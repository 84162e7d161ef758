// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Handles values with one number per example: [batch] or [batch, 1].
#include <string>
#include <string_view>

#include "shoal/graph/graph.h"

namespace shoal::nn {

/// Returns `shape` without trailing axes of size 1, except the first axis, which stays: [batch, 1] becomes [batch].
DimShape trimmed(const DimShape& shape);

/// with_last() appends a size to `shape`; without_last() removes the last size.
DimShape with_last(const DimShape& shape, Dim last);
DimShape without_last(const DimShape& shape);
/// Returns "float32 [batch, 3]", for errors.
std::string described(Value value);
/// Converts `value` to float32.
Value as_floats(Value value);

/// `value` as [batch], where `batch` is the first size of `like`. If it is neither [batch] nor [batch, 1], raises
/// InvalidArgument with both shapes. The error begins with `who`; `what` and `like_what` name the two values: "weights",
/// "logits".
Value per_example(std::string_view who, std::string_view what, Value value, std::string_view like_what, Value like);

}  // namespace shoal::nn
