// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What a checkpoint holds of a store, under which names, and a checkpoint as what a store is restored from.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/checkpoint/reader.h"
#include "shoal/checkpoint/writer.h"
#include "shoal/cluster/shard_plan.h"
#include "shoal/cluster/snapshot.h"

namespace shoal {

/// The arenas of one shard that a checkpoint holds, in its order: weights, slots, residuals.
std::vector<cluster::ArenaIndex> saved_arenas(const cluster::ShardSpec& spec, const cluster::StateInfo& state);
/// The segments of one shard as a checkpoint's data file holds them: saved_arenas() laid end to end.
checkpoint::ArenaLayout arena_layout(const cluster::ShardSpec& spec, const cluster::StateInfo& state);
/// Whether most checkpoints differ little in it: no update changes it, or updates change only the rows that a batch has.
bool changes_little(const cluster::VariableSpec& variable);
/// "dense/kernel"; "dense/kernel/momentum" for a slot, "dense/kernel/residual/0" for what top-k keeps back in trainer 0.
std::string tensor_name(const cluster::Segment& segment, cluster::ArenaIndex arena);

/// A checkpoint as the source of a restore: any number of shards then, any number now.
class CheckpointSource final : public cluster::RestoreSource {
 public:
  explicit CheckpointSource(std::unique_ptr<checkpoint::Reader> reader);
  const cluster::StateInfo& info() const override { return info_; }
  Result<void> read(const cluster::Segment& segment, cluster::ArenaIndex arena, std::span<std::byte> out) override;
  /// Who had ended is of inputs that are no more: all train.
  void forget_ended() { info_.ended.clear(); }
  const std::string& prefix() const { return reader_->prefix(); }
  /// What the checkpoint says of itself beside its tensors.
  const checkpoint::SaveInfo& saved() const { return reader_->manifest().info; }
  /// Variables and slots that the checkpoint has and `plan` has not, by name: they are lost with the next save. Residuals are
  /// not among them.
  std::vector<std::string> left_out_of(const cluster::ShardPlan& plan) const;

 private:
  std::unique_ptr<checkpoint::Reader> reader_;
  cluster::StateInfo info_;
};

/// "Variable dense/kernel is [10, 5] in the checkpoint, the model has [10, 6]", NotFound turned into a changed model: the
/// checks that a restore makes before it reads. InvalidArgument.
Result<void> check_variable(const checkpoint::Reader& reader, std::string_view name, DType dtype, const Shape& shape);

}  // namespace shoal
