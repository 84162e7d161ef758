// SPDX-License-Identifier: Apache-2.0
#include "trainer/weight_receiver.h"

#include <algorithm>
#include <string>

#include "shoal/base/compute.h"
#include "trainer/end_patience.h"

namespace shoal::cluster {

using transport::Message;
using transport::MessageKind;

void WeightReceiver::bind(bool recodes) {
  recodes_ = recodes;
  parts_of_variables_ = bindings_.shards_of_variables();
  size_t parts = 0;
  for (const ServerTraffic& traffic : traffic_) parts += traffic.parts().size();
  arrived_ = std::vector<std::atomic<bool>>(parts);
}

Task<Result<void>> WeightReceiver::accept(size_t shard, Message first) {
  const uint64_t request = first.head.reply_to;
  SHOAL_CO_TRY_VOID(co_await accept_part(shard, 0, std::move(first)));
  for (size_t part = 1; part < traffic_[shard].parts().size(); ++part) {
    const Deadline deadline = env_.after(transfer_patience(traffic_[shard].arena_bytes()));
    SHOAL_CO_TRY(Message message, co_await servers_[shard].receive(request, deadline));
    SHOAL_CO_TRY_VOID(co_await accept_part(shard, part, std::move(message)));
  }
  co_return Result<void>{};
}

Task<Result<void>> WeightReceiver::accept_first(size_t shard, Message first) {
  if (recodes_ || traffic_[shard].parts().size() == 1) co_return co_await accept(shard, std::move(first));
  const uint64_t request = first.head.reply_to;
  drop(shard);  // An earlier answer may have arrived in part before its connection broke: drops these parts.
  SHOAL_CO_TRY_VOID(co_await accept_part(shard, 0, std::move(first)));
  servers_[shard].expect_late(request, traffic_[shard].parts().size() - 1, transfer_patience(traffic_[shard].arena_bytes()),
                              [this, shard](Message message) { return take_late(shard, std::move(message)); });
  co_return co_await servers_[shard].receive_late_so_far();
}

Task<Result<void>> WeightReceiver::pull(size_t shard, Deadline deadline) {
  drop(shard);
  auto first = co_await ask(shard, deadline);
  if (!first) co_return servers_.noted(Result<void>(std::move(first).error()));
  auto accepted = co_await accept(shard, std::move(first).value());
  co_return servers_.noted(std::move(accepted));
}

Task<Result<void>> WeightReceiver::pull_again(size_t shard, Deadline deadline, StopToken stop) {
  if (!servers_[shard].connected()) {
    auto connected = co_await servers_.reconnect(shard, deadline, std::move(stop));
    SHOAL_CO_TRY_VOID(servers_.noted(std::move(connected)));
  }
  co_return co_await pull(shard, servers_.answer_by());
}

Task<Result<Message>> WeightReceiver::ask(size_t shard, Deadline deadline) {
  Message message;
  message.head.kind = MessageKind::kPull;
  message.head.sequence = servers_[shard].next_sequence();
  SHOAL_CO_TRY(Message answer, co_await servers_[shard].request(std::move(message), servers_.epoch(), deadline));
  if (answer.head.kind == MessageKind::kWeights) co_return answer;
  SHOAL_CO_TRY(const transport::Control text, transport::read_control(answer));
  co_return text.verb == "finished" ? cancelled() : unavailable("the model is not ready");
}

Task<Result<void>> WeightReceiver::accept_part(size_t shard, size_t part, Message message) {
  const transport::MessageHead head = message.head;
  ShardTraffic& traffic = traffic_[shard].parts()[part];
  const auto take = [&traffic, &message] { return traffic.take(std::move(message)); };
  Result<void> taken;
  if (recodes_) {
    taken = co_await compute(env_, take);
  } else {
    taken = take();
  }
  co_return follow(shard, part, head, std::move(taken));
}

/// Called after a part was received, with the result, `taken`. If that is an error, returns it. Otherwise calls on_head_, a
/// function of the store that checks the head of the part's message. If on_head_ returns an error, drops the part.
Result<void> WeightReceiver::follow(size_t shard, size_t part, const transport::MessageHead& head, Result<void> taken) {
  if (!taken) return std::move(taken).error().with_context(to_string(servers_[shard].server()));
  Result<void> follows = on_head_(shard, part, head);
  if (!follows) traffic_[shard].parts()[part].drop_weights();
  return follows;
}

/// Takes a late part of the weights: one that follows the first part of an answer. Parts arrive in order, so this one is
/// the first part that is still missing.
Result<void> WeightReceiver::take_late(size_t shard, Message message) {
  std::vector<ShardTraffic>& parts = traffic_[shard].parts();
  const auto next = std::ranges::find_if(parts, [](const ShardTraffic& part) { return !part.has_weights(); });
  SHOAL_CHECK(next != parts.end());
  const auto part = size_t(next - parts.begin());
  const transport::MessageHead head = message.head;
  Result<void> taken = check_version(shard, part, message);
  if (taken) taken = next->take(std::move(message));
  SHOAL_TRY_VOID(follow(shard, part, head, std::move(taken)));
  const size_t number = traffic_[shard].number(part);
  bindings_.set_weights(number, next->weights());
  arrived_[number].store(true, std::memory_order_release);
  arrival_.notify_all();
  return {};
}

Result<void> WeightReceiver::check_version(size_t shard, size_t part, const Message& message) {
  SHOAL_TRY(const transport::Weights weights, transport::read_weights(message));
  const uint64_t begun = traffic_[shard].version();
  if (weights.version == begun) return {};
  env_.sometimes("trainer.weights_went_on");
  return unavailable("sent part " + std::to_string(part) + " of version " + std::to_string(weights.version) +
                     " of the weights, to a step that began with version " + std::to_string(begun));
}

void WeightReceiver::drop(size_t shard) {
  traffic_[shard].drop_weights();
  servers_[shard].forget_late();
}

bool WeightReceiver::has_weights(size_t shard) const {
  return traffic_[shard].has_weights() || servers_[shard].expects_late();
}

bool WeightReceiver::begin() {
  failed_.reset();
  bool all = true;
  for (const ServerTraffic& traffic : traffic_) {
    for (size_t part = 0; part < traffic.parts().size(); ++part) {
      const bool has = traffic.parts()[part].has_weights();
      const size_t number = traffic.number(part);
      if (has) bindings_.set_weights(number, traffic.parts()[part].weights());
      arrived_[number].store(has, std::memory_order_release);
      all &= has;
    }
  }
  if (!all) env_.sometimes("trainer.begins_with_some_weights");
  return all;
}

bool WeightReceiver::has_come(size_t variable) const {
  return std::ranges::all_of(parts_of_variables_[variable],
                             [this](size_t part) { return arrived_[part].load(std::memory_order_acquire); });
}

Task<Result<void>> WeightReceiver::receive_late(size_t shard, Deadline deadline, StopToken stop) {
  auto received = co_await receive_all_late(shard, deadline, std::move(stop));
  if (!received && !failed_) failed_ = received.error();
  arrival_.notify_all();
  co_return received;
}

Task<Result<void>> WeightReceiver::receive_all_late(size_t shard, Deadline deadline, StopToken stop) {
  ServerLink& link = servers_[shard];
  const std::function<bool()> over = [patience = EndPatience(env_), this, stop]() mutable {
    return stop.stop_requested() || patience.is_over(env_.interrupted().stop_requested());
  };
  while (!traffic_[shard].has_weights()) {
    if (stop.stop_requested()) co_return cancelled();
    Result<void> received;
    if (link.expects_late()) {
      received = co_await link.receive_late(over);
    } else {
      if (!link.connected()) SHOAL_CO_TRY_VOID(co_await servers_.reconnect(shard, deadline, stop));
      received = co_await pull_late(shard);
    }
    const bool broke = !received && received.error().kind() == ErrorKind::kUnavailable && !link.connected();
    if (!received && (!broke || env_.now() >= deadline)) co_return received;
  }
  co_return Result<void>{};
}

/// Requests the weights again whose messages were lost when the connection broke. They were the answer to a push; since
/// this push is committed already, it need not be sent again.
Task<Result<void>> WeightReceiver::pull_late(size_t shard) {
  env_.sometimes("trainer.late_weights_pulled");
  SHOAL_CO_TRY(Message message, co_await ask(shard, servers_.answer_by()));
  const uint64_t request = message.head.reply_to;
  const size_t parts = traffic_[shard].parts().size();
  for (size_t part = 0; part < parts; ++part) {
    if (part > 0) {
      const Deadline deadline = env_.after(transfer_patience(traffic_[shard].arena_bytes()));
      SHOAL_CO_TRY(message, co_await servers_[shard].receive(request, deadline));
    }
    // If this part has arrived before, kernels may be reading it. So only checks its version, and does not store it again.
    if (traffic_[shard].parts()[part].has_weights()) {
      SHOAL_CO_TRY_VOID(check_version(shard, part, message));
    } else {
      SHOAL_CO_TRY_VOID(take_late(shard, std::move(message)));
    }
  }
  co_return Result<void>{};
}

Task<Result<void>> WeightReceiver::arrival(size_t variable) {
  env_.sometimes("trainer.waits_for_a_variable");
  while (!has_come(variable)) {
    if (failed_) co_return *failed_;
    SHOAL_CO_TRY_VOID(co_await arrival_.wait("weights that are on their way", kNoDeadline));
  }
  co_return Result<void>{};
}

}  // namespace shoal::cluster
