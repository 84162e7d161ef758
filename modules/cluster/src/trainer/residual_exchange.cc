// SPDX-License-Identifier: Apache-2.0
#include "trainer/residual_exchange.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace shoal::cluster {
namespace {

// The size of the parts in which a residual is sent. It is small, so that the server sees parts arrive even over a slow
// connection.
constexpr uint64_t kResidualPartBytes = uint64_t(1) << 20;
// The longest time that a checkpoint waits for the residuals of the other trainers while these keep sending.
constexpr auto kAllResidualsMax = std::chrono::minutes(10);
constexpr auto kResidualsNoteEvery = std::chrono::seconds(10);

/// For a trainer without top-k compression: does nothing.
class NoResiduals final : public ResidualExchange {
 public:
  explicit NoResiduals(size_t shards) : shards_(shards) {}
  void note(size_t, uint8_t) override {}
  Task<Result<void>> hand_in_asked() override { co_return Result<void>{}; }
  Task<Result<void>> hand_in_last(SteadyTime, Deadline) override { co_return Result<void>{}; }
  Task<Result<void>> fetch() override { co_return Result<void>{}; }
  bool on() const override { return false; }
  void set_others_asked(bool) override {}
  Task<Result<std::vector<int>>> held() override { co_return std::vector<int>(); }
  std::vector<PartedArena> own() const override { return std::vector<PartedArena>(shards_); }

 private:
  size_t shards_;
};

class TopKResiduals final : public ResidualExchange {
 public:
  TopKResiduals(Environment& env, const RemoteStoreOptions& options, ServerLinks& servers,
                std::vector<ServerTraffic>& traffic)
      : env_(env), options_(options), servers_(servers), traffic_(traffic), asked_(servers.size()) {}

  void note(size_t shard, uint8_t status) override {
    if (status & kStatusResidualBit) asked_[shard] = Asked::kBefore;
    if (status & kStatusSaveBit) asked_[shard] = Asked::kAfter;
  }
  Task<Result<void>> hand_in_asked() override;
  Task<Result<void>> hand_in_last(SteadyTime enough, Deadline deadline) override;
  Task<Result<void>> fetch() override;
  bool on() const override { return true; }
  void set_others_asked(bool asked) override { others_asked_ = asked; }
  Task<Result<std::vector<int>>> held() override;
  std::vector<PartedArena> own() const override;

 private:
  /// Which residual a server asks for: none, the one before the newest push, or the one after it.
  enum class Asked { kNot, kBefore, kAfter };
  Task<Result<void>> hand_in(size_t shard, ServerTraffic::Residual residual, SteadyTime enough, Deadline deadline);
  Task<Result<void>> fetch_from(size_t shard);
  Task<Result<void>> ask_held(size_t shard, std::vector<int>& trainers);
  bool chief() const { return options_.identity.trainer_index == 0; }
  ArenaIndex own_arena() const { return residual_arena(options_.identity.trainer_index); }

  Environment& env_;
  const RemoteStoreOptions& options_;
  ServerLinks& servers_;
  std::vector<ServerTraffic>& traffic_;
  std::vector<Asked> asked_;  // By server.
  bool others_asked_ = false;
};

Task<Result<void>> TopKResiduals::hand_in_asked() {
  for (size_t i = 0; i < asked_.size(); ++i) {
    const Asked asked = std::exchange(asked_[i], Asked::kNot);
    if (asked == Asked::kNot) continue;
    auto residual = asked == Asked::kAfter ? traffic_[i].residual() : traffic_[i].residual_before();
    SHOAL_CO_TRY_VOID(co_await hand_in(i, std::move(residual), kNoDeadline, kNoDeadline));
  }
  co_return Result<void>{};
}

Task<Result<void>> TopKResiduals::hand_in_last(SteadyTime enough, Deadline deadline) {
  if (chief() || servers_.job_end()) co_return Result<void>{};
  for (size_t i = 0; i < traffic_.size(); ++i) {
    SHOAL_CO_TRY_VOID(co_await hand_in(i, traffic_[i].residual(), enough, deadline));
  }
  co_return Result<void>{};
}

/// Sends a residual to one server. Logs errors and does not return them: the next request to a lost server fails anyway.
Task<Result<void>> TopKResiduals::hand_in(size_t shard, ServerTraffic::Residual residual, SteadyTime enough,
                                          Deadline deadline) {
  const uint64_t bytes = residual.arena.size();  // 0 before the first push, when no residual exists.
  const std::string name = arena_name(own_arena());
  for (uint64_t done = 0; done < bytes && env_.now() < enough; done += kResidualPartBytes) {
    if (!servers_[shard].connected()) break;
    const uint64_t count = std::min(kResidualPartBytes, bytes - done);
    const Snapshot::Part piece = residual.arena.read(done, count, env_.buffers());
    const transport::SnapshotPart part{
        .version = residual.after, .name = name, .offset = done, .total_bytes = bytes, .payload = piece.bytes};
    transport::Message message = transport::make_snapshot_part(env_.buffers(), part);
    const Deadline soon = std::min(deadline, servers_.answer_by());
    auto answer = co_await servers_.request(shard, std::move(message), soon);
    if (answer) continue;
    env_.log().info(to_string(servers_[shard].server()) +
                    " does not get the residual of this trainer's compression: " + answer.error().message());
    break;
  }
  co_return Result<void>{};
}

Task<Result<void>> TopKResiduals::fetch() {
  for (size_t i = 0; i < traffic_.size(); ++i) SHOAL_CO_TRY_VOID(co_await fetch_from(i));
  co_return Result<void>{};
}

Task<Result<void>> TopKResiduals::fetch_from(size_t shard) {
  const uint64_t bytes = traffic_[shard].arena_bytes();
  const Ref<Buffer> arena = env_.buffers().get(bytes);
  for (uint64_t done = 0; done < bytes; done += kResidualPartBytes) {
    std::string range = to_json(ReadRange{own_arena(), done, std::min(kResidualPartBytes, bytes - done)});
    auto answer = co_await servers_.control(shard, "residual", std::move(range), servers_.answer_by());
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

/// Returns the trainers whose residual all servers have. Asks all servers at once, so that their waits overlap.
Task<Result<std::vector<int>>> TopKResiduals::held() {
  std::vector<std::vector<int>> by_shard(traffic_.size());
  TaskGroup group(env_);
  for (size_t i = 0; i < traffic_.size(); ++i) group.spawn(ask_held(i, by_shard[i]));
  SHOAL_CO_TRY_VOID(co_await group.join());
  std::optional<std::vector<int>> all;
  for (size_t i = 0; i < traffic_.size(); ++i) {
    std::vector<int> both;
    if (all) std::ranges::set_intersection(*all, by_shard[i], std::back_inserter(both));
    all = all ? std::move(both) : std::move(by_shard[i]);
  }
  if (!all) all.emplace();
  all->insert(all->begin(), options_.identity.trainer_index);
  co_return std::move(*all);
}

Task<Result<void>> TopKResiduals::ask_held(size_t shard, std::vector<int>& trainers) {
  const SteadyTime end = env_.after(std::min<Duration>(kAllResidualsMax, options_.ready_timeout));
  SteadyTime note = env_.after(kResidualsNoteEvery);
  for (;;) {
    if (env_.now() >= note) {
      env_.log().info("waiting for " + to_string(servers_[shard].server()) +
                      " to be given the residuals of all trainers' compression, for a checkpoint");
      note = env_.after(kResidualsNoteEvery);
    }
    const bool now = !others_asked_ || env_.now() >= end || env_.interrupted().stop_requested();
    std::string how = now ? "now" : "";
    SHOAL_CO_TRY(const transport::Message answer,
                 co_await servers_.control(shard, "residuals", std::move(how), servers_.answer_by()));
    SHOAL_CO_TRY(const transport::Control text, transport::read_control(answer));
    if (text.verb == "residuals") {
      SHOAL_CO_TRY(trainers, parse_trainers(text.text));
      co_return Result<void>{};
    }
    if (text.verb != "more" || now) co_return data_loss("a server answered '" + std::string(text.verb) + "' to residuals");
  }
}

std::vector<PartedArena> TopKResiduals::own() const {
  std::vector<PartedArena> own;
  for (const ServerTraffic& traffic : traffic_) own.push_back(traffic.kept_back());
  return own;
}

}  // namespace

std::unique_ptr<ResidualExchange> make_residual_exchange(Environment& env, const RemoteStoreOptions& options,
                                                         ServerLinks& servers, std::vector<ServerTraffic>& traffic) {
  if (options.compression.gradients != transport::Encoding::kTopK) return std::make_unique<NoResiduals>(servers.size());
  return std::make_unique<TopKResiduals>(env, options, servers, traffic);
}

}  // namespace shoal::cluster
