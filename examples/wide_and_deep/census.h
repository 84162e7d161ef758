#pragma once
/// The adult census data ("does this person earn more than 50,000 dollars a year?") as ids and numbers.
#include <optional>
#include <string>

#include "shoal/data/dataset.h"

namespace wide_and_deep {

/// Categorical columns become ids by hashing their text: each column has this many.
inline constexpr int64_t kIds = 1000;
inline constexpr int64_t kIdColumns = 8;
inline constexpr int64_t kNumberColumns = 6;

enum class Part { kTraining, kTest };
/// Features "ids" [8] int64 and "numbers" [6] float32 (each roughly between -1 and 3), label [1] float32: 1 for more than
/// 50,000, else 0. `data_dir`: the folder of adult.data and adult.test, or its parent. Raises NotFound if it is neither.
shoal::data::Dataset census(const std::string& data_dir, Part part);

}  // namespace wide_and_deep
