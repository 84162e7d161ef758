// SPDX-License-Identifier: Apache-2.0
#pragma once
// The steps of a server's commit, of which the long ones otherwise run on other threads, one after another on this
// thread.
#include <algorithm>

#include "shoal/base/result.h"
#include "state/server_state.h"

namespace shoal::cluster {

/// Keeps a push whose message lives elsewhere. FailedPrecondition if the push is not new.
inline Result<transport::PushId> keep_at_once(ServerState& state, int trainer, const transport::MessageHead& head,
                                              std::span<const transport::Chunk> chunks) {
  SHOAL_TRY(const ServerState::Push found, state.look_at(trainer, head, chunks));
  if (found != ServerState::Push::kNew) return failed_precondition("not new");
  HeldPush push;
  push.id = {trainer, head.incarnation, chunks.back().push};
  push.chunks.assign(chunks.begin(), chunks.end());
  SHOAL_TRY_VOID(state.decode(push));
  const transport::PushId id = push.id;
  state.keep(std::move(push));
  return id;
}

/// Commits the kept pushes as one update.
inline Result<void> commit_at_once(ServerState& state, std::vector<transport::PushId> pushes) {
  const transport::Order order{
      .number = state.version() + 1, .global_step = state.global_step() + 1, .pushes = std::move(pushes)};
  SHOAL_TRY_VOID(state.begin_commit(order));
  state.apply();
  state.end_commit(order);
  return {};
}

/// True if the push counts, now or already before.
inline Result<bool> push_at_once(ServerState& state, int trainer, const transport::MessageHead& head,
                                 std::span<const transport::Chunk> chunks) {
  SHOAL_TRY(const ServerState::Push found, state.look_at(trainer, head, chunks));
  if (found != ServerState::Push::kNew) return found == ServerState::Push::kDecided;
  SHOAL_TRY(const transport::PushId id, keep_at_once(state, trainer, head, chunks));
  SHOAL_TRY_VOID(commit_at_once(state, {id}));
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
