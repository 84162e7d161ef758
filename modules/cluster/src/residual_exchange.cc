#include "residual_exchange.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace shoal::cluster {
namespace {

constexpr uint64_t kResidualPartBytes = uint64_t(1) << 20;   // so that slow links show that something comes
constexpr auto kAllResidualsMax = std::chrono::minutes(10);  // that a checkpoint waits for trainers that keep sending

}  // namespace

ResidualExchange::ResidualExchange(Environment& env, const RemoteStoreOptions& options, ServerLinks& servers,
                                   std::vector<ShardTraffic>& traffic)
    : env_(env),
      options_(options),
      servers_(servers),
      traffic_(traffic),
      on_(options.compression.gradients == transport::Encoding::kTopK),
      asked_(servers.size()) {}

void ResidualExchange::note(size_t shard, uint8_t status) {
  if (on_ && (status & kStatusResidualBit)) asked_[shard] = true;
}

Task<Result<void>> ResidualExchange::hand_in_asked() {
  for (size_t i = 0; i < asked_.size(); ++i) {
    if (!asked_[i]) continue;
    asked_[i] = false;
    SHOAL_CO_TRY_VOID(co_await hand_in(i, traffic_[i].residual_before(), kNoDeadline));
  }
  co_return Result<void>{};
}

Task<Result<void>> ResidualExchange::hand_in_last(Deadline deadline) {
  for (size_t i = 0; i < traffic_.size(); ++i) {
    if (!servers_[i].connected()) continue;
    SHOAL_CO_TRY_VOID(co_await hand_in(i, traffic_[i].residual(), deadline));
  }
  co_return Result<void>{};
}

/// Unavailable is not told here: whoever needs the server next finds it gone.
Task<Result<void>> ResidualExchange::hand_in(size_t shard, ShardTraffic::Residual residual, Deadline deadline) {
  if (!residual.arena) co_return Result<void>{};
  const std::string name = arena_name(own_arena());
  const std::span<const std::byte> arena = residual.arena->bytes();
  for (uint64_t done = 0; done < arena.size(); done += kResidualPartBytes) {
    const transport::SnapshotPart part{.version = residual.after,
                                       .name = name,
                                       .offset = done,
                                       .total_bytes = arena.size(),
                                       .payload = arena.subspan(done, std::min(kResidualPartBytes, arena.size() - done))};
    transport::Message message = transport::make_snapshot_part(env_.buffers(), part);
    const Deadline soon = std::min(deadline, env_.after(kRequestTimeout));
    auto answer = co_await servers_.request(shard, std::move(message), soon);
    if (answer) continue;
    if (answer.error().kind() == ErrorKind::kCancelled) co_return std::move(answer).error();
    env_.log().info(to_string(servers_[shard].server()) +
                    " does not get what compression has kept back: " + answer.error().message());
    co_return Result<void>{};
  }
  co_return Result<void>{};
}

Task<Result<void>> ResidualExchange::fetch(Deadline deadline) {
  for (size_t i = 0; on_ && i < traffic_.size(); ++i) SHOAL_CO_TRY_VOID(co_await fetch(i, deadline));
  co_return Result<void>{};
}

Task<Result<void>> ResidualExchange::fetch(size_t shard, Deadline deadline) {
  const uint64_t bytes = traffic_[shard].spec().arena_bytes;
  if (bytes == 0) co_return Result<void>{};
  const Ref<Buffer> arena = env_.buffers().get(bytes);
  for (uint64_t done = 0; done < bytes; done += kResidualPartBytes) {
    std::string range = to_json(ReadRange{own_arena(), done, std::min(kResidualPartBytes, bytes - done)});
    auto answer = co_await servers_.control(shard, "residual", std::move(range), deadline);
    if (!answer && answer.error().kind() == ErrorKind::kNotFound) co_return Result<void>{};
    if (!answer) co_return std::move(answer).error();
    SHOAL_CO_TRY(const transport::SnapshotPart part, transport::read_snapshot_part(*answer));
    if (part.offset != done || part.payload.size() != std::min(kResidualPartBytes, bytes - done))
      co_return data_loss("a server sent another part of a residual than asked");
    std::ranges::copy(part.payload, arena->data() + done);
  }
  traffic_[shard].resume(arena->bytes());
  co_return Result<void>{};
}

Task<Result<void>> ResidualExchange::restore_own(const ShardPlan& plan, RestoreSource& restore) {
  const std::vector<int>& saved = restore.info().residuals;
  if (!on_ || !std::ranges::binary_search(saved, options_.identity.trainer_index)) co_return Result<void>{};
  Result<void> restored;
  Work read = [&] {
    for (size_t i = 0; i < plan.shards.size() && restored; ++i) {
      const Ref<Buffer> arena = env_.buffers().get(plan.shards[i].arena_bytes);
      std::ranges::fill(arena->bytes(), std::byte());
      for (const Segment& segment : plan.shards[i].segments) {
        if (restored) restored = restore.read(segment, own_arena(), arena->bytes().subspan(segment.offset, segment.bytes));
      }
      if (restored) traffic_[i].resume(arena->bytes());
    }
  };
  SHOAL_CO_TRY_VOID(co_await env_.offload(std::move(read)));
  co_return restored;
}

Task<Result<std::vector<int>>> ResidualExchange::held() {
  if (!on_) co_return std::vector<int>();
  std::vector<int> all;
  bool first = true;
  for (size_t i = 0; i < servers_.size(); ++i) {
    if (traffic_[i].spec().arena_bytes == 0) continue;
    SHOAL_CO_TRY(std::vector<int> here, co_await held_by(i));
    if (!std::exchange(first, false)) {
      std::vector<int> both;
      std::ranges::set_intersection(all, here, std::back_inserter(both));
      here = std::move(both);
    }
    all = std::move(here);
  }
  all.insert(all.begin(), options_.identity.trainer_index);
  co_return all;
}

Task<Result<std::vector<int>>> ResidualExchange::held_by(size_t shard) {
  const SteadyTime end = env_.after(kAllResidualsMax);
  for (;;) {
    SHOAL_CO_TRY(const transport::Message answer,
                 co_await servers_.control(shard, "residuals", {}, env_.after(kRequestTimeout)));
    SHOAL_CO_TRY(const transport::Control text, transport::read_control(answer));
    if (text.verb == "residuals") co_return parse_trainers(text.text);
    if (text.verb != "more") co_return data_loss("a server answered '" + std::string(text.verb) + "' to residuals");
    if (env_.now() >= end) co_return std::vector<int>();
  }
}

std::vector<Ref<const Buffer>> ResidualExchange::own() const {
  std::vector<Ref<const Buffer>> own;
  for (const ShardTraffic& traffic : traffic_) own.push_back(traffic.kept_back());
  return own;
}

}  // namespace shoal::cluster
