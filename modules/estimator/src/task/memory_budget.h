// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What a task is going to hold, against RuntimeOptions::memory_limit. docs/memory.md has the formula.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/result.h"
#include "shoal/estimator/run_config.h"

namespace shoal {

class MemoryBudget {
 public:
  /// Without a limit: anything fits, and nothing is measured.
  MemoryBudget() = default;
  /// Measures what the process holds now, which is the first part. What is added later is not there yet.
  explicit MemoryBudget(const RunConfig& config);

  bool has_limit() const { return limit_ != 0; }
  /// Measures anew what the process holds, while nothing is there of what was said to be going to take memory.
  void measure();
  /// Says that `part` ("weights") is going to take so many bytes; said again, it takes as many as were said last. `remedy` is what makes
  /// this part smaller ("a smaller batch").
  void set(std::string_view part, uint64_t bytes, std::string_view remedy = "");
  uint64_t total() const;
  /// "212.4 MiB (the process so far 40.1, weights 12.5, ...)"
  std::string text() const;
  /// FailedPrecondition if that is more than the limit: `whose` is what does not fit ("the model"), and the remedies of the largest parts
  /// come first in what to do.
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
