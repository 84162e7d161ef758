// SPDX-License-Identifier: Apache-2.0
#include "shoal/cluster/rendezvous.h"

#include "job/rendezvous/part.h"

namespace shoal::cluster {

std::string rank_name(const ClusterSize& plan, int32_t rank) {
  return "rank " + std::to_string(rank) + " (" + to_string(seat_of(plan, rank)) + ")";
}

std::string missing_text(const ClusterSize& plan, const Missing& missing) {
  std::string text;
  for (const int32_t rank : missing.ranks) text += (text.empty() ? "" : ", ") + rank_name(plan, rank);
  const int32_t others = missing.count - int32_t(missing.ranks.size());
  if (others > 0) text += " and " + std::to_string(others) + " more";
  return text;
}

transport::Message make_word(Environment& env, uint64_t incarnation, std::string_view verb, const std::string& text) {
  transport::Message message = transport::make_control(env.buffers(), verb, text);
  message.head.incarnation = incarnation;
  return message;
}

Rendezvous::Rendezvous(Environment& env, RendezvousOptions options) : env_(env) {
  SHOAL_CHECK(options.place.size > 1 && !options.place.rendezvous.empty());
  options.link.receive_bytes_max = rendezvous_bytes_max(options.place.size);
  // 64 more than there are ranks, since a rank that connects again may have two connections for a while.
  options.link.connections_max = options.place.size + 64;
  const uint64_t incarnation = env.entropy() | 1;
  part_ = options.place.rank == 0 ? make_host(env, options, incarnation) : make_guest(env, options, incarnation);
}

Rendezvous::~Rendezvous() = default;

Task<Result<Gathering>> Rendezvous::meet() { return part_->meet(); }
Task<Result<void>> Rendezvous::close() { return part_->close(); }

Task<Result<void>> Rendezvous::attend(StopToken stop) {
  static_cast<void>(co_await env_.sleep_until(kNoDeadline, std::move(stop)));
  co_return co_await close();
}

}  // namespace shoal::cluster
