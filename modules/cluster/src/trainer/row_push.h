// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Puts gradients of single rows (of embedding tables) into a push: as rows, or as a dense gradient that is zero in all
/// rows without a gradient.
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "shoal/cluster/row_gradients.h"
#include "state/row_sums.h"
#include "trainer/bindings.h"

namespace shoal::cluster {

/// Sums gradients of single rows, and writes the sums into pushes. Allocates memory only for a batch that is the largest so
/// far.
class RowPush {
 public:
  /// Prepares sums for the variables that are updated by rows; `by_rows` has their names. NotFound if `plan` lacks one of
  /// them, FailedPrecondition if one cannot be updated by rows according to `plan`.
  Result<void> bind(const ShardPlan& plan, const std::vector<std::string>& by_rows);
  /// Sets the memory into which write() writes gradients for shard `shard`.
  void set_updates(size_t shard, std::byte* arena) { bindings_.set_updates(shard, arena); }
  /// Adds up the gradients of one step, and writes a dense gradient for each variable: the sums, and zeros in rows that
  /// have no gradient in this step. A server treats a row of zeros as a row without a gradient.
  Result<void> write(std::span<const RowGradients> gradients);
  /// Only adds up the gradients. Used instead of write() if pushes contain single rows and no dense gradients.
  Result<void> sum(std::span<const RowGradients> gradients) { return sum_rows(gradients, denormals_, sums_); }
  /// The sums of the variable `name`; null if it is not bound.
  const RowSums* sums_of(const std::string& name) const;

 private:
  Bindings bindings_;
  std::map<std::string, size_t, std::less<>> places_;  // For the name of each bound variable: its index in sums_.
  Denormals denormals_ = Denormals::kZero;             // How sums treat denormal floats, as the ShardPlan says.
  std::vector<RowSums> sums_;                          // One entry for each bound variable.
};

}  // namespace shoal::cluster
