// SPDX-License-Identifier: Apache-2.0
// The JSON texts of control messages; the first byte of the input says which. What is understood is understood again as
// it is written, and a shard that is small enough is set up, and takes a push, as on a server.
#include <algorithm>

#include "../cluster/at_once.h"
#include "shoal/base/check.h"
#include "shoal/cluster/server_memory.h"
#include "shoal/cluster/shard_plan.h"
#include "shoal/cluster/task_status.h"
#include "state/server_state.h"
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
  constexpr double kRowsMax = 64;  // The most rows of an orthogonal matrix.
  return spec.arena_bytes <= kArenaBytesMax && std::ranges::all_of(spec.segments, [](const Segment& segment) {
           const Initializer& initializer = segment.variable.initializer;
           return initializer.kind != Initializer::Kind::kOrthogonal || initializer.b <= kRowsMax;
         });
}

void set_up(Prepare prepare) {
  fuzz::touch(to_string(server_memory(prepare.spec, 3)));
  if (!is_small(prepare.spec)) return;
  static const std::shared_ptr<BufferPool> pool = BufferPool::create();
  static Logger log([](const LogRecord&) {}, "", [] { return WallTime(); });
  ServerState state(true, *pool, log);
  StateText text{.epoch = prepare.epoch, .global_step = 0, .counters = {}, .positions = {}};
  if (!prepare_at_once(state, std::move(prepare)) || !state.activate(std::move(text))) return;
  const std::vector<ShardPart> parts = parts_of(state.spec());
  std::vector<transport::OutgoingChunk> push;
  std::vector<transport::Chunk> chunks;
  for (const ShardPart& part : parts) {
    const uint64_t bytes = part.spec.arena_bytes;
    const bool closing = push.empty();
    push.push_back(transport::make_chunk(*pool,
                                         {.range_begin = part.begin,
                                          .range_end = part.begin + bytes,
                                          .chunk_index = uint32_t(push.size()),
                                          .chunk_count = uint32_t(parts.size()),
                                          .closing = closing,
                                          .push = 1},
                                         bytes, closing ? size_t(part.spec.scalar_count) : 0));
    std::ranges::fill(push.back().payload, std::byte(0x3c));
    std::ranges::fill(push.back().scalars, 0.25);
    chunks.push_back(value_or_raise(transport::read_chunk(push.back().message)));
  }
  SHOAL_CHECK(value_or_raise(push_at_once(state, 0, {.epoch = state.epoch(), .sequence = 1}, chunks)));
  SHOAL_CHECK(state.hold());
}

void read_text(uint8_t which, std::string_view text) {
  switch (which % 12) {
    case 0: (void)read<Welcome>(text, &parse_welcome); break;
    case 1: (void)read<ServerStatus>(text, &parse_server_status); break;
    case 2: (void)read<StateText>(text, &parse_state); break;
    case 3: (void)read<ReadRange>(text, &parse_read_range); break;
    case 4: (void)read<JobEnd>(text, &parse_job_end); break;
    case 5: (void)read<ShardSpec>(text, &parse_shard_spec); break;
    case 7: (void)read<HoldRequest>(text, &parse_hold_request); break;
    case 11: (void)read<JobFailure>(text, &parse_job_failure); break;
    case 8: (void)read<TaskStatus>(text, &parse_task_status); break;
    case 9: (void)read<Rest>(text, &parse_rest); break;
    case 10: (void)read<RestNews>(text, &parse_rest_news); break;
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
