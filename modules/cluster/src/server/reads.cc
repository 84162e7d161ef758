// SPDX-License-Identifier: Apache-2.0
#include "server/reads.h"

namespace shoal::cluster {
namespace {

constexpr uint64_t kReadBytesMax = uint64_t(64) << 20;

Result<ArenaRead> checked(ArenaRead read) {
  const ReadRange& range = read.range;
  const uint64_t size = read.arena.size();
  if (range.bytes > kReadBytesMax || range.offset > size || range.bytes > size - range.offset) {
    return invalid_argument("read beyond the end of the arena");
  }
  return read;
}

PartedArena arena_of(const Ref<const Buffer>& residual) {
  PartedArena arena;
  arena.add(residual->bytes(), residual);
  return arena;
}

}  // namespace

transport::Message ArenaRead::to_message(BufferPool& pool) const {
  const std::string name = arena_name(range.arena);
  const Snapshot::Part part = arena.read(range.offset, range.bytes, pool);
  return transport::make_snapshot_part(
      pool, {.version = version, .name = name, .offset = range.offset, .total_bytes = arena.size(), .payload = part.bytes});
}

Result<ArenaRead> read_held(const ServerState& state, const HeldState* held, std::string_view text) {
  SHOAL_TRY(const ReadRange range, parse_read_range(text));
  if (!held) return unavailable("there is no snapshot, or no more: the connection that it was made for has ended");
  const uint64_t version = held->text.counters.version;
  if (range.arena >= 0 && size_t(range.arena) < held->arenas.size())
    return checked({range, held->arenas[size_t(range.arena)], version});
  if (residual_trainer(range.arena) < 0 || held->residuals == 0) return invalid_argument("no such arena");
  const Ref<const Buffer> residual = state.residuals().held_of(residual_trainer(range.arena), held->residuals);
  if (!residual) return unavailable("the snapshot has no residual of this trainer's compression, or was let go");
  return checked({range, arena_of(residual), version});
}

Result<ArenaRead> read_residual(const ServerState& state, int trainer, std::string_view text) {
  SHOAL_TRY(const ReadRange range, parse_read_range(text));
  const Ref<const Buffer> residual = state.residuals().newest_of(trainer);
  if (!residual || range.arena != residual_arena(trainer)) return not_found("there is no such residual");
  return checked({range, arena_of(residual), 0});
}

}  // namespace shoal::cluster
