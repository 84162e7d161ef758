// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Gradients by rows, as servers take them: as rows, or in a dense push, which is zero but for the rows that the batch
/// touches.
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "shoal/cluster/row_gradients.h"
#include "state/row_sums.h"
#include "trainer/bindings.h"

namespace shoal::cluster {

/// The variables of a plan that a program has gradients by rows of. Allocates no more once it has seen the largest batch.
class RowPush {
 public:
  /// NotFound if the plan lacks one of them, FailedPrecondition if it is not planned for updates by rows.
  Result<void> bind(const ShardPlan& plan, const std::vector<std::string>& by_rows);
  /// Points at the push to shard `shard`.
  void set_updates(size_t shard, std::byte* arena) { bindings_.set_updates(shard, arena); }
  /// Adds up the gradients of one step and writes the whole gradient of each variable: zeros, and the sums in their rows.
  /// A server takes rows of zeros as untouched.
  Result<void> write(std::span<const RowGradients> gradients);
  /// Adds up without writing, for pushes by rows.
  Result<void> sum(std::span<const RowGradients> gradients) { return sum_rows(gradients, denormals_, sums_); }
  /// The sums of the variable of that name; null if it is not one of those bound.
  const RowSums* sums_of(const std::string& name) const;

 private:
  Bindings bindings_;
  std::map<std::string, size_t, std::less<>> places_;  // Position among the bound variables, by name.
  Denormals denormals_ = Denormals::kZero;             // As the shards take them.
  std::vector<RowSums> sums_;                          // One entry for each variable, as bound.
};

}  // namespace shoal::cluster
