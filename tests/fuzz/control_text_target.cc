// The JSON texts of control messages; the first byte of the input says which. What is understood is understood again as
// it is written, and a shard that is small enough is set up, and takes a push, as on a server.
#include <algorithm>

#include "server_state.h"
#include "shoal/base/check.h"
#include "shoal/cluster/server_memory.h"
#include "shoal/cluster/shard_plan.h"
#include "target.h"

namespace shoal::cluster {
namespace {

template <class T>
Result<T> read(std::string_view text, Result<T> (*parse)(std::string_view)) {
  Result<T> value = parse(text);
  if (!value) {
    fuzz::touch(value.error().message());
    return value;
  }
  const std::string written = to_json(*value);
  const Result<T> again = parse(written);
  SHOAL_CHECK(again && to_json(*again) == written);
  return value;
}

/// A chief may ask for what takes long; this shall not.
bool is_small(const ShardSpec& spec) {
  constexpr uint64_t kArenaBytesMax = 1 << 14;
  constexpr double kRowsMax = 64;  // of orthogonal matrices
  return spec.arena_bytes <= kArenaBytesMax && std::ranges::all_of(spec.segments, [](const Segment& segment) {
           const Initialiser& initialiser = segment.variable.initialiser;
           return initialiser.kind != Initialiser::Kind::kOrthogonal || initialiser.b <= kRowsMax;
         });
}

void set_up(Prepare prepare) {
  fuzz::touch(to_string(server_memory(prepare.spec, 3)));
  if (!is_small(prepare.spec)) return;
  static const std::shared_ptr<BufferPool> pool = BufferPool::create();
  static Logger log([](const LogRecord&) {}, "", [] { return WallTime(); });
  ServerState state(true, *pool, log);
  StateText text{.epoch = prepare.epoch, .global_step = 0, .counters = {}, .positions = {}};
  if (!state.prepare(std::move(prepare)) || !state.activate(std::move(text))) return;
  const transport::OutgoingChunk push = transport::make_chunk(*pool, {.range_end = state.arena_bytes(), .closing = true},
                                                              state.arena_bytes(), size_t(state.spec().scalar_count));
  std::ranges::fill(push.payload, std::byte(0x3c));
  std::ranges::fill(push.scalars, 0.25);
  const Result<transport::Chunk> chunk = transport::read_chunk(push.message);
  (void)state.push(0, {.epoch = state.epoch(), .sequence = 1}, *chunk);
  SHOAL_CHECK(state.hold());
}

void read_text(uint8_t which, std::string_view text) {
  switch (which % 7) {
    case 0: (void)read<Welcome>(text, &parse_welcome); break;
    case 1: (void)read<ServerStatus>(text, &parse_server_status); break;
    case 2: (void)read<StateText>(text, &parse_state); break;
    case 3: (void)read<ReadRange>(text, &parse_read_range); break;
    case 4: (void)read<JobEnd>(text, &parse_job_end); break;
    case 5: (void)read<ShardSpec>(text, &parse_shard_spec); break;
    default:
      if (Result<Prepare> prepare = read<Prepare>(text, &parse_prepare); prepare) set_up(std::move(*prepare));
  }
}

}  // namespace
}  // namespace shoal::cluster

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  shoal::fuzz::Input input(data, size);
  const auto which = input.take<uint8_t>();
  shoal::cluster::read_text(which, input.text());
  return 0;
}
