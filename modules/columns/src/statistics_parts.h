// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The contents of Statistics, kept out of the public header because maps compile slowly (docs/decisions/light-headers.md).
#include <map>
#include <string>

#include "shoal/columns/statistics.h"

namespace shoal::columns {

struct Statistics::Part {
  std::map<std::string, NumberStatistics> numbers;
  std::map<std::string, TextStatistics> texts;
};

struct Statistics::Parts {
  Part features, labels;
};

}  // namespace shoal::columns
