#pragma once
// What a server does in steps, of which the long ones run beside its strand, one after another on this thread.
#include <algorithm>

#include "shoal/base/result.h"
#include "state/server_state.h"

namespace shoal::cluster {

/// True: the push counts, by now or before.
inline Result<bool> push_at_once(ServerState& state, int trainer, const transport::MessageHead& head,
                                 std::span<const transport::Chunk> chunks) {
  SHOAL_TRY(const ServerState::Push push, state.look_at(trainer, head, chunks));
  if (push != ServerState::Push::kNew) return push == ServerState::Push::kCounts;
  SHOAL_TRY_VOID(state.take(chunks));
  state.count(trainer, head, chunks);
  state.apply(chunks);
  state.applied();
  return true;
}

inline Result<void> prepare_at_once(ServerState& state, Prepare prepare) {
  SHOAL_TRY_VOID(state.prepare(std::move(prepare)));
  state.build();
  return state.built();
}

inline Result<void> restore_at_once(ServerState& state, const transport::SnapshotPart& part) {
  SHOAL_TRY(const std::span<std::byte> place, state.place_to_restore(part));
  std::ranges::copy(part.payload, place.begin());
  return {};
}

inline std::vector<transport::Message> weights_at_once(ServerState& state, transport::Encoding encoding, uint64_t has = 0) {
  std::vector<transport::Message> messages = state.weights_at_hand(encoding, has);
  if (!messages.empty()) return messages;
  messages = state.make_weights(encoding, has);
  state.keep_weights(encoding, messages);
  return messages;
}

}  // namespace shoal::cluster
