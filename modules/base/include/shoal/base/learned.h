// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Values that are made of data, and that a run keeps over its starts (RunConfig::learned(), CONTRACT RU-3), as text.
#include <string>
#include <string_view>

#include "shoal/base/result.h"

namespace shoal {

/// How a T is kept. A type that is to be kept has a specialization with these three functions:
///
///   static std::string encode(const T& value);            // A JSON value, in which decode() finds every bit again.
///   static Result<T> decode(std::string_view json);       // DataLoss says what is wrong. Never throws.
///   static std::string news(const T& kept, const T& found);
///
/// news(): what is in the data by now, as `found` was made of them, and not in what is `kept`, in words that may follow
/// "the data have"; empty: nothing that matters.
template <class T>
struct Learned;

}  // namespace shoal
