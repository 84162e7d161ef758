// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <utility>

namespace shoal {

/// Keeps `value` for as long as the process lives, and returns it. All variables that the library makes once and keeps are made so:
///     static const auto& table = forever(std::map<std::string, Maker>{...});
/// They have no destructor that runs at the exit of the program, where variables of the user's may outlive ours and still train or
/// predict.
template <class T>
T& forever(T value) {
  return *new T(std::move(value));
}

}  // namespace shoal
