// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Values with one number per example: [batch] or [batch, 1].
#include <string>
#include <string_view>

#include "shoal/graph/graph.h"

namespace shoal::nn {

/// `shape` without trailing axes of size 1, but never of rank 0 unless it already was: [batch, 1] becomes [batch].
DimShape trimmed(const DimShape& shape);

/// `shape` with one more size at its end; without the last one.
DimShape with_last(const DimShape& shape, Dim last);
DimShape without_last(const DimShape& shape);
/// "float32 [batch, 3]", for errors.
std::string described(Value value);
/// `value` as float32.
Value as_floats(Value value);

/// `value` as [batch], where `batch` is the first size of `like`. Raises InvalidArgument by `who` with both shapes if it is
/// neither [batch] nor [batch, 1]; `what` and `like_what` name the two: "weights", "logits".
Value per_example(std::string_view who, std::string_view what, Value value, std::string_view like_what, Value like);

}  // namespace shoal::nn
