// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The RestoreSource of a warm start: stores read from it the initial values of the variables that the warm start sets.
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/initial_values.h"
#include "model/warm_start_choice.h"
#include "model/warm_start_origin.h"
#include "shoal/base/environment.h"
#include "shoal/cluster/snapshot.h"

namespace shoal {

class WarmStartSource final : public cluster::RestoreSource {
 public:
  /// Opens the source that `start` names, and compares its tensors with the variables of `graph`, which was built for
  /// `mode`. Rows that the source lacks are taken from `values`. `env` outlives the result. Errors: see WarmStart.
  static Result<std::unique_ptr<WarmStartSource>> open(Environment& env, const WarmStart& start, const Graph& graph,
                                                       const InitialValues& values, Mode mode);

  /// The state at the start of training: step 0, and no position in an input.
  const cluster::StateInfo& info() const override { return info_; }
  /// True for the weights of the variables that the warm start sets.
  bool holds(const cluster::Segment& segment, cluster::ArenaIndex arena) const override;
  /// Reads a segment (some rows of a variable) into `out`. DataLoss, naming the file, if the source is damaged. Logs a
  /// warning if values are not finite.
  Result<void> read(const cluster::Segment& segment, cluster::ArenaIndex arena, std::span<std::byte> out) override;

  /// A text for the log, such as "warm start: 2 of 4 variables start from checkpoint m1/model.ckpt-20 of global step 20, 3
  /// of the 5 rows of words/table". For a file of another program it also names the tensors that no variable starts from.
  const std::string& summary() const { return summary_; }

 private:
  /// The source of one variable's values.
  struct Start {
    SourceTensor source;
    /// Set if each row belongs to a token (a text of a vocabulary), and is copied from the source's row of the same token:
    /// for each of the variable's first rows, the number of the source's row; -1 if the source lacks the token.
    std::optional<std::vector<int64_t>> old_rows = {};
    std::optional<nn::InitializerSpec> backup_initializer = {};
  };

  WarmStartSource(Logger& log, std::unique_ptr<WarmStartOrigin> origin, InitialValues values)
      : log_(log), origin_(std::move(origin)), values_(std::move(values)) {}
  Result<void> take(const WarmStartedVariables& chosen, const Graph& graph, Mode mode);
  Result<Start> start_of(const WarmStartedVariable& chosen) const;
  Result<Tensor> whole(const Start& start) const;
  Result<void> read_rows(const Start& start, const cluster::Segment& segment, std::span<std::byte> out) const;
  Result<void> read_by_token(const Start& start, const cluster::Segment& segment, std::span<std::byte> out) const;
  void tell_of_non_finite(const Start& start, const cluster::Segment& segment, std::span<const std::byte> values) const;

  Logger& log_;
  std::unique_ptr<WarmStartOrigin> origin_;
  const InitialValues values_;
  cluster::StateInfo info_;
  std::map<std::string, Start, std::less<>> starts_;  // The key is the name of the variable that gets the values.
  std::string summary_;
};

}  // namespace shoal
