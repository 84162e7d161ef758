// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Maps the contents of a store (the weights, slots and residuals on servers or in this process) to the names and the
/// layout of a checkpoint. Lets a store be restored from a checkpoint.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/checkpoint/reader.h"
#include "shoal/checkpoint/writer.h"
#include "shoal/cluster/shard_plan.h"
#include "shoal/cluster/snapshot.h"

namespace shoal {

/// The arenas (numbered blocks of memory) of one shard that a checkpoint contains, in its order: weights, slots, residuals.
std::vector<cluster::ArenaIndex> saved_arenas(const cluster::ShardSpec& spec, const cluster::StateInfo& state);
/// The layout of one shard's segments in a checkpoint's data file: those of the first of the saved_arenas(), then those of
/// the second one, and so on, without gaps between arenas.
checkpoint::ArenaLayout arena_layout(const cluster::ShardSpec& spec, const cluster::StateInfo& state);
/// True for variables that change little from one checkpoint to the next: no update changes them, or an update changes only
/// the rows that a batch has.
bool changes_little(const cluster::VariableSpec& variable);
/// The name of a tensor in a checkpoint: "dense/kernel" for a variable, "dense/kernel/momentum" for a slot,
/// "dense/kernel/residual/0" for the values of gradients that top-k compression in trainer 0 has not sent yet.
std::string tensor_name(const cluster::Segment& segment, cluster::ArenaIndex arena);

/// A checkpoint as the source of a restore. The job that is restored may have another number of shards than the job that
/// saved the checkpoint.
class CheckpointSource final : public cluster::RestoreSource {
 public:
  explicit CheckpointSource(std::unique_ptr<checkpoint::Reader> reader);
  const cluster::StateInfo& info() const override { return info_; }
  Result<void> read(const cluster::Segment& segment, cluster::ArenaIndex arena, std::span<std::byte> out) override;
  /// Forgets which trainers had come to the end of their inputs. Called if there are new inputs, on which all trainers
  /// train again.
  void forget_ended() { info_.ended.clear(); }
  const std::string& prefix() const { return reader_->prefix(); }
  /// The contents of the checkpoint other than tensors: counters, input positions and so on.
  const checkpoint::SaveInfo& saved() const { return reader_->manifest().info; }
  /// Names of the variables and slots that the checkpoint has and `plan` lacks, so that the next checkpoint will not have
  /// them. Residuals are not listed.
  std::vector<std::string> left_out_of(const cluster::ShardPlan& plan) const;

 private:
  std::unique_ptr<checkpoint::Reader> reader_;
  cluster::StateInfo info_;
};

/// Checks, before a restore reads a variable, that the checkpoint has it with this type and shape. Otherwise
/// InvalidArgument, such as "variable dense/kernel is [10, 5] in the checkpoint, the model has [10, 6]". A missing variable
/// is InvalidArgument, too, and not NotFound, because it means that the model has changed.
Result<void> check_variable(const checkpoint::Reader& reader, std::string_view name, DType dtype, const Shape& shape);

}  // namespace shoal
