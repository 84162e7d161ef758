// SPDX-License-Identifier: Apache-2.0
#include "model/checkpoint_layout.h"

#include <set>

#include "shoal/base/number_text.h"
#include "shoal/nn/update_rule.h"

namespace shoal {
namespace {

constexpr std::string_view kResidual = "/residual/";

bool is_residual(const checkpoint::TensorEntry& tensor) {
  return tensor.is_slot() && tensor.name.starts_with(tensor.slot_of + std::string(kResidual));
}

/// The trainers whose residuals (gradient values that they have not sent yet) are among the checkpoint's tensors.
std::vector<int> residuals_in(const checkpoint::Manifest& manifest) {
  std::set<int> trainers;
  for (const checkpoint::TensorEntry& tensor : manifest.tensors) {
    if (!is_residual(tensor)) continue;
    const std::string_view number = std::string_view(tensor.name).substr(tensor.slot_of.size() + kResidual.size());
    const int trainer = number_from<int>(number).value_or(-1);
    if (trainer >= 0 && trainer < cluster::kTrainersMax) trainers.insert(trainer);
  }
  return {trainers.begin(), trainers.end()};
}

}  // namespace

bool changes_little(const cluster::VariableSpec& variable) {
  return variable.lazy_rows || variable.rule.kind == nn::UpdateRule::Kind::kNone;
}

std::string tensor_name(const cluster::Segment& segment, cluster::ArenaIndex arena) {
  if (arena == 0) return segment.variable.name;
  if (const int trainer = cluster::residual_trainer(arena); trainer >= 0)
    return segment.variable.name + std::string(kResidual) + std::to_string(trainer);
  return segment.variable.name + "/" + std::string(nn::slot_name(segment.variable.rule, arena - 1));
}

std::vector<cluster::ArenaIndex> saved_arenas(const cluster::ShardSpec& spec, const cluster::StateInfo& state) {
  std::vector<cluster::ArenaIndex> arenas;
  for (cluster::ArenaIndex arena = 0; arena <= spec.slot_count; ++arena) arenas.push_back(arena);
  for (const int trainer : state.residuals) arenas.push_back(cluster::residual_arena(trainer));
  return arenas;
}

checkpoint::ArenaLayout arena_layout(const cluster::ShardSpec& spec, const cluster::StateInfo& state) {
  checkpoint::ArenaLayout layout;
  for (const cluster::ArenaIndex arena : saved_arenas(spec, state)) {
    const bool residual = cluster::residual_trainer(arena) >= 0;
    for (const cluster::Segment& segment : spec.segments) {
      if (!residual && arena > nn::slot_count(segment.variable.rule)) continue;
      layout.segments.push_back({.name = tensor_name(segment, arena),
                                 .dtype = segment.variable.dtype,
                                 .shape = segment.variable.shape,
                                 .slot_of = arena == 0 ? std::string() : segment.variable.name,
                                 .offset = layout.bytes + segment.offset,
                                 .row_begin = segment.row_begin,
                                 .row_end = segment.row_end,
                                 .changes_little = !residual && changes_little(segment.variable)});
    }
    layout.bytes += spec.arena_bytes;
  }
  return layout;
}

CheckpointSource::CheckpointSource(std::unique_ptr<checkpoint::Reader> reader) : reader_(std::move(reader)) {
  const checkpoint::Manifest& manifest = reader_->manifest();
  info_.global_step = uint64_t(manifest.global_step);
  for (size_t i = 0;; ++i) {
    const auto counter = manifest.info.counters.find("update_count/" + std::to_string(i));
    if (counter == manifest.info.counters.end()) break;
    info_.shards.push_back({.version = 0, .update_count = counter->second});
  }
  for (const auto& [trainer, position] : manifest.info.positions) {
    if (const int index = number_from<int>(trainer).value_or(-1); index >= 0) info_.positions[index] = position;
  }
  for (const std::string& trainer : manifest.info.ended) {
    if (const int index = number_from<int>(trainer).value_or(-1); index >= 0) info_.ended.insert(index);
  }
  info_.residuals = residuals_in(manifest);
}

Result<void> CheckpointSource::read(const cluster::Segment& segment, cluster::ArenaIndex arena, std::span<std::byte> out) {
  const std::string name = tensor_name(segment, arena);
  SHOAL_TRY_VOID(check_variable(*reader_, name, segment.variable.dtype, segment.variable.shape));
  return reader_->read_rows(name, segment.row_begin, segment.row_end, out);
}

std::vector<std::string> CheckpointSource::left_out_of(const cluster::ShardPlan& plan) const {
  std::set<std::string> taken;
  for (const cluster::ShardSpec& shard : plan.shards) {
    for (const cluster::Segment& segment : shard.segments) {
      for (int slot = 0; slot <= nn::slot_count(segment.variable.rule); ++slot) taken.insert(tensor_name(segment, slot));
    }
  }
  std::vector<std::string> left_out;
  for (const checkpoint::TensorEntry& tensor : reader_->manifest().tensors) {
    if (!is_residual(tensor) && !taken.contains(tensor.name)) left_out.push_back(tensor.name);
  }
  return left_out;
}

Result<void> check_variable(const checkpoint::Reader& reader, std::string_view name, DType dtype, const Shape& shape) {
  const checkpoint::TensorEntry* entry = reader.manifest().find(name);
  const std::string where = "checkpoint " + reader.prefix() + ": ";
  if (!entry) {
    return invalid_argument(where + "has no variable " + std::string(name) +
                            "; the model or its optimizer changed since: use another model_dir, or the old model");
  }
  if (!(entry->shape == shape) || entry->dtype != dtype) {
    return invalid_argument(where + "variable " + std::string(name) + " is " + std::string(to_string(entry->dtype)) + " " +
                            to_string(entry->shape) + " there and " + std::string(to_string(dtype)) + " " +
                            to_string(shape) + " in the model: use another model_dir, or the old model");
  }
  return {};
}

}  // namespace shoal
