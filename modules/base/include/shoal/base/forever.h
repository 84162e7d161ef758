// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <utility>

namespace shoal {

/// Keeps `value` for as long as the process lives, and returns it. The library makes all its static variables this way:
///     static const auto& table = forever(std::map<std::string, Maker>{...});
/// Such a variable has no destructor that runs at the exit of the program, where the user's own static variables may live
/// longer and still train or predict.
template <class T>
T& forever(T value) {
  return *new T(std::move(value));
}

}  // namespace shoal
