// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Adds up the memory that a task is going to hold and compares it with RuntimeOptions::memory_limit. docs/memory.md has
/// the formula.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/result.h"
#include "shoal/estimator/run_config.h"

namespace shoal {

class MemoryBudget {
 public:
  /// A budget without a limit: everything fits, and nothing is measured.
  MemoryBudget() = default;
  /// Measures the memory that the process holds now. This is the first part of the sum; set() adds the other parts.
  explicit MemoryBudget(const RunConfig& config);

  bool has_limit() const { return limit_ != 0; }
  /// Measures the process's memory again. Call it before the parts that set() announces are in memory, since they would
  /// count twice.
  void measure();
  /// Sets how many bytes `part` ("weights") is going to take. `remedy`: a change that helps ("a smaller batch").
  void set(std::string_view part, uint64_t bytes, std::string_view remedy = "");
  uint64_t total() const;
  /// The sum and its parts as text: "212.4 MiB (the process so far 40.1, weights 12.5, ...)"
  std::string text() const;
  /// Returns FailedPrecondition if the sum is more than the limit. The error message begins with `whose` ("the model"), and
  /// lists remedies (see set()), beginning with those for the largest parts.
  Result<void> check(std::string_view whose) const;

 private:
  struct Part {
    std::string name;
    uint64_t bytes;
    std::string remedy;
  };

  uint64_t limit_ = 0;
  std::vector<Part> parts_;
};

}  // namespace shoal
