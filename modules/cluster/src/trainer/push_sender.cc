// SPDX-License-Identifier: Apache-2.0
#include "trainer/push_sender.h"

namespace shoal::cluster {

void PushSender::bind(const ShardPlan& parts, const Bindings& bindings, bool early) {
  parts_of_updates_ = bindings.shards_of_updates();
  parts_.assign(parts.shards.size(), {});
  for (const std::vector<size_t>& pieces : parts_of_updates_) {
    for (const size_t number : pieces) ++parts_[number].updates;
  }
  any_ = false;
  for (size_t server = 0; server < traffic_.size(); ++server) {
    const size_t count = traffic_[server].parts().size();
    for (size_t index = 0; index < count; ++index) {
      const size_t number = traffic_[server].number(index);
      Part& part = parts_[number];
      part.server = server;
      part.index = index;
      const bool closes = index == 0;
      if (!early || closes || part.updates != parts.shards[number].segments.size()) part.updates = 0;
      any_ |= part.updates > 0;
    }
  }
}

void PushSender::begin() {
  sequences_.resize(servers_.size());
  for (size_t i = 0; i < servers_.size(); ++i) sequences_[i] = servers_[i].next_sequence();
  queues_.assign(servers_.size(), {});
  for (Part& part : parts_) part.sent = false;
}

void PushSender::start() {
  for (Part& part : parts_) part.missing = part.updates;
}

void PushSender::update_made(size_t index) {
  for (const size_t number : parts_of_updates_[index]) {
    Part& part = parts_[number];
    if (part.updates == 0 || --part.missing > 0) continue;
    // The strand runs the posted function before it learns that the program has ended. So the part is queued during the
    // step that it belongs to, and not after the next step has begun.
    env_.post([this, number, server = part.server] {
      queues_[server].push_back(number);
      made_.notify_all();
    });
  }
}

Task<Result<void>> PushSender::send_made(size_t server, StopToken stop) {
  while (!stop.stop_requested()) {
    if (queues_[server].empty()) {
      Result<void> woken = co_await made_.wait("the next gradient", kNoDeadline, stop);
      if (!woken) break;
      continue;
    }
    Part& part = parts_[queues_[server].front()];
    queues_[server].pop_front();
    Result<void> sent = co_await send(part);
    if (!sent) break;
    env_.sometimes("trainer.part_sent_early");
  }
  co_return Result<void>{};
}

Task<Result<void>> PushSender::send_rest(size_t server) {
  for (size_t index = traffic_[server].parts().size(); index-- > 0;) {
    Part& part = parts_[traffic_[server].number(index)];
    if (!part.sent) SHOAL_CO_TRY_VOID(co_await send(part));
  }
  co_return Result<void>{};
}

Task<Result<void>> PushSender::send_again(size_t server) {
  for (size_t index = 0; index < traffic_[server].parts().size(); ++index) {
    parts_[traffic_[server].number(index)].sent = false;
  }
  co_return co_await send_rest(server);
}

void PushSender::leave_step() {
  for (size_t server = 0; server < traffic_.size() && !parts_.empty(); ++server) {
    size_t sent = 0;
    const size_t count = traffic_[server].parts().size();
    for (size_t index = 0; index < count; ++index) sent += parts_[traffic_[server].number(index)].sent;
    if (sent == 0 || sent == count) continue;
    env_.sometimes("trainer.leaves_half_a_push");
    servers_[server].close(cancelled());
  }
  for (Part& part : parts_) part.sent = false;
}

Task<Result<void>> PushSender::send(Part& part) {
  transport::Message message = traffic_[part.server].parts()[part.index].push();
  message.head.sequence = sequences_[part.server];
  SHOAL_CO_TRY_VOID(co_await servers_[part.server].send(
      std::move(message), servers_.epoch(), env_.after(transfer_patience(traffic_[part.server].arena_bytes()))));
  part.sent = true;
  co_return Result<void>{};
}

}  // namespace shoal::cluster
