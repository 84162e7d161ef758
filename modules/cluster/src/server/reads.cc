#include "server/reads.h"

namespace shoal::cluster {
namespace {

constexpr uint64_t kReadBytesMax = uint64_t(64) << 20;

Result<transport::Message> read_part(BufferPool& pool, const ReadRange& range, const PartedArena& arena, uint64_t version) {
  if (range.bytes > kReadBytesMax || range.offset > arena.size() || range.bytes > arena.size() - range.offset) {
    return invalid_argument("read beyond the end of the arena");
  }
  const std::string name = arena_name(range.arena);
  const Snapshot::Part part = arena.read(range.offset, range.bytes, pool);
  return transport::make_snapshot_part(
      pool, {.version = version, .name = name, .offset = range.offset, .total_bytes = arena.size(), .payload = part.bytes});
}

Result<transport::Message> read_part(BufferPool& pool, const ReadRange& range, Ref<const Buffer> residual,
                                     uint64_t version) {
  PartedArena arena;
  arena.add(residual->bytes(), residual);
  return read_part(pool, range, arena, version);
}

}  // namespace

Result<transport::Message> read_held(BufferPool& pool, const ServerState& state, const HeldState* held,
                                     std::string_view text) {
  SHOAL_TRY(const ReadRange range, parse_read_range(text));
  if (!held) return failed_precondition("nothing is held");
  const uint64_t version = held->text.counters.version;
  if (range.arena >= 0 && size_t(range.arena) < held->arenas.size())
    return read_part(pool, range, held->arenas[size_t(range.arena)], version);
  if (residual_trainer(range.arena) < 0 || held->residuals == 0) return invalid_argument("no such arena");
  const Ref<const Buffer> residual = state.residuals().held_of(residual_trainer(range.arena), held->residuals);
  if (!residual) return unavailable("what a trainer's compression kept back is not held, or not any more");
  return read_part(pool, range, residual, version);
}

Result<transport::Message> read_residual(BufferPool& pool, const ServerState& state, int trainer, std::string_view text) {
  SHOAL_TRY(const ReadRange range, parse_read_range(text));
  const Ref<const Buffer> residual = state.residuals().newest_of(trainer);
  if (!residual || range.arena != residual_arena(trainer)) return not_found("there is no such residual");
  return read_part(pool, range, residual, 0);
}

}  // namespace shoal::cluster
