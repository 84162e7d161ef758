// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What Statistics are made of. It stands here since maps in a public header cost whoever includes it (decision 0126).
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
