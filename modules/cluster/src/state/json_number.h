// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Reads whole numbers from JSON that came over the network, for parsers that raise errors as exceptions.
#include <string>

#include "shoal/json/fields.h"

namespace shoal::cluster {

/// Reads `element`, an element of a list, as a T. Raises InvalidArgument unless it is a whole number in T's range.
template <class T>
T whole_number(const json::Json& element) {
  const Result<T> whole = json::whole_of<T>(element, "element");
  if (!whole) raise(invalid_argument(whole.error().message()));
  return *whole;
}

/// Reads the member `name` of an object as a T. Raises InvalidArgument unless it is a whole number in T's range.
template <class T>
T whole_number(const json::Json& object, const char* name) {
  const Result<T> whole = json::whole_member<T>(object, name);
  if (!whole) raise(invalid_argument(whole.error().message()));
  return *whole;
}

}  // namespace shoal::cluster
