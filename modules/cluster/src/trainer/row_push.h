// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Writes gradients by rows (embedding tables) into a push: as rows, or as a dense gradient that is zero except in the
/// rows that the batch touches.
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "shoal/cluster/row_gradients.h"
#include "state/row_sums.h"
#include "trainer/bindings.h"

namespace shoal::cluster {

/// Sums gradients by rows, and writes them into pushes. Allocates memory only for a batch that is the largest so far.
class RowPush {
 public:
  /// NotFound if the plan lacks a variable; FailedPrecondition if the plan does not allow a variable's updates by rows.
  Result<void> bind(const ShardPlan& plan, const std::vector<std::string>& by_rows);
  /// Sets the memory into which write() writes gradients for shard `shard`.
  void set_updates(size_t shard, std::byte* arena) { bindings_.set_updates(shard, arena); }
  /// Adds up the gradients of one step, and writes a dense gradient for each variable: zeros, except for the sums of
  /// touched rows. A server treats a row of zeros as untouched.
  Result<void> write(std::span<const RowGradients> gradients);
  /// Adds up the gradients without writing them, for pushes by rows.
  Result<void> sum(std::span<const RowGradients> gradients) { return sum_rows(gradients, denormals_, sums_); }
  /// The sums of the variable `name`; null if it is not bound.
  const RowSums* sums_of(const std::string& name) const;

 private:
  Bindings bindings_;
  std::map<std::string, size_t, std::less<>> places_;  // By name: the position among the bound variables.
  Denormals denormals_ = Denormals::kZero;             // How sums treat denormals: as the shards' specs say.
  std::vector<RowSums> sums_;                          // One entry for each bound variable.
};

}  // namespace shoal::cluster
