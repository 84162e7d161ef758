// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Search spaces in one line.
#include <string>
#include <vector>

#include "shoal/search/space.h"

namespace shoal::tuning {

/// The space of parameters that are written as for `shoal tune --param`.
inline Space space_of(const std::vector<std::string>& texts) {
  std::vector<Parameter> parameters;
  for (const std::string& text : texts) parameters.push_back(parse_parameter(text).value());
  return Space::create(std::move(parameters)).value();
}

}  // namespace shoal::tuning
