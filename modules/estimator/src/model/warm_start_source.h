// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A warm start as the stores see it: the restore of some variables, at step 0 (CONTRACT EST-14).
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/initial_values.h"
#include "model/warm_start_choice.h"
#include "shoal/base/environment.h"
#include "shoal/checkpoint/reader.h"
#include "shoal/cluster/snapshot.h"

namespace shoal {

class WarmStartSource final : public cluster::RestoreSource {
 public:
  /// Opens what `start` names and compares it with the variables of `graph`, a model of `mode`. `values` say how rows start
  /// that it does not bring. Errors: see WarmStart.
  static Result<std::unique_ptr<WarmStartSource>> open(Environment& env, const WarmStart& start, const Graph& graph,
                                                       const InitialValues& values, Mode mode);

  /// Step 0, and no position in an input.
  const cluster::StateInfo& info() const override { return info_; }
  /// True for the weights of variables that were chosen.
  bool holds(const cluster::Segment& segment, cluster::ArenaIndex arena) const override;
  /// DataLoss naming the file, if it is damaged.
  Result<void> read(const cluster::Segment& segment, cluster::ArenaIndex arena, std::span<std::byte> out) override;

  /// "warm start: 2 of 4 variables start from checkpoint m1/model.ckpt-20 of global step 20, 3 of the 5 rows of
  /// words/table"
  const std::string& summary() const { return summary_; }

 private:
  /// Where the values of one variable come from.
  struct Origin {
    std::string old_name;
    /// By rows: the source's row for each of the first rows of the variable, -1 for one that it has not.
    std::optional<std::vector<int64_t>> old_rows = {};
    std::optional<nn::InitializerSpec> backup_initializer = {};
  };

  WarmStartSource(std::unique_ptr<checkpoint::Reader> reader, InitialValues values)
      : reader_(std::move(reader)), values_(std::move(values)) {}
  Result<Origin> origin_of(const WarmStartedVariable& chosen) const;
  Result<void> read_by_token(const Origin& origin, const cluster::Segment& segment, std::span<std::byte> out) const;

  std::unique_ptr<checkpoint::Reader> reader_;
  const InitialValues values_;
  cluster::StateInfo info_;
  std::map<std::string, Origin, std::less<>> origins_;  // By variable of the model.
  std::string summary_;
};

}  // namespace shoal
