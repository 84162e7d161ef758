// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Converts values to text and back. A run computes such values from its data once, and stores the text, so that it has
/// the same values after a restart (RunConfig::learned()).
#include <string>
#include <string_view>

#include "shoal/base/result.h"

namespace shoal {

/// How RunConfig::learned() stores a T as text. A type that is to be stored specializes this template with three functions:
///
///   static std::string encode(const T& value);            // Returns JSON from which decode() restores every bit.
///   static Result<T> decode(std::string_view json);       // DataLoss says what is wrong. Never throws.
///   static std::string news(const T& kept, const T& found);
///
/// news() compares the stored value, `kept`, with `found`, which was computed from the present data. The returned text says
/// what is in the present data and missing in `kept`. It ends a sentence that begins with "the data have". It is empty if
/// no difference matters.
template <class T>
struct Learned;

}  // namespace shoal
