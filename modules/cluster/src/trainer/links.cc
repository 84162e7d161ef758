// SPDX-License-Identifier: Apache-2.0
#include "trainer/links.h"

#include <algorithm>

#include "shoal/cluster/cluster_spec.h"

namespace shoal::cluster {
namespace {

constexpr auto kShowUpEvery = std::chrono::seconds(5);
// The pause before a message is sent again whose connection broke, or that a server which is ending could not take.
constexpr auto kTellAgain = std::chrono::milliseconds(10);

}  // namespace

using transport::Message;

ServerLinks::ServerLinks(Environment& env, const RemoteStoreOptions& options) : env_(env), options_(options) {
  transport::LinkOptions link = options_.link;
  for (const transport::Endpoint& server : options_.servers) {
    const int32_t index = index_at(options_.identity.sparse.servers, int32_t(links_.size()));
    link.expected_peer = transport::PeerIdentity{.role = std::string(kPsRole), .index = index};
    links_.push_back(std::make_unique<ServerLink>(env_, options_.identity, server, link, options_.compression.weights));
  }
  followed_.resize(links_.size());
}

Task<Result<void>> ServerLinks::connect(Deadline deadline) {
  for (auto& link : links_) {
    if (link->connected()) continue;
    std::function<bool()> give_up = options_.job_ended;
    SHOAL_CO_TRY_VOID(co_await link->connect(deadline, std::move(give_up)));
    tell_connected();
  }
  co_return Result<void>{};
}

void ServerLinks::note_lost() {
  lost_ = true;
  tell_connected();
}

void ServerLinks::tell_connected() const {
  if (!options_.observer) return;
  options_.observer->connected(int(std::ranges::count_if(links_, [](const auto& link) { return link->connected(); })));
}

Task<Result<void>> ServerLinks::reconnect(size_t shard, Deadline deadline, StopToken stop) {
  ServerLink& link = *links_[shard];
  std::function<bool()> give_up = [this, stop] {
    return stop.stop_requested() || (options_.job_ended && options_.job_ended());
  };
  SHOAL_CO_TRY_VOID(co_await link.connect(deadline, std::move(give_up)));
  tell_connected();
  if (link.welcome().phase == Phase::kFinished) co_return cancelled();
  if (is_followed(shard)) co_return Result<void>{};
  env_.sometimes("trainer.server_lost");
  Error lost = unavailable(to_string(link.server()) + " lost its state");
  link.close(lost);
  co_return lost;
}

/// Called right after connecting, when the server's welcome message has come. True if the server still has the model that
/// this trainer trains, and has not loaded it anew.
bool ServerLinks::is_followed(size_t shard) const {
  const ServerLink& link = *links_[shard];
  const Welcome& welcome = link.welcome();
  return welcome.phase == Phase::kReady && welcome.epoch == epoch_ && link.server_incarnation() == followed_[shard];
}

Task<Result<Message>> ServerLinks::request(size_t shard, Message message, Deadline deadline) {
  message.head.sequence = links_[shard]->next_sequence();
  auto answer = co_await links_[shard]->request(std::move(message), epoch_, deadline);
  co_return noted(std::move(answer));
}

Task<Result<Message>> ServerLinks::control(size_t shard, std::string_view verb, std::string text, Deadline deadline) {
  Message message = transport::make_control(env_.buffers(), verb, text);
  co_return co_await request(shard, std::move(message), deadline);
}

/// Late messages are those of earlier answers that are still on their way. Receives the late messages of all servers, since
/// a server usually sends them before it answers a new request. Returns `deadline`, extended by the time that the receiving
/// took.
Task<Deadline> ServerLinks::after_late(Deadline deadline) {
  const SteadyTime before = env_.now();
  for (auto& link : links_) {
    std::function<bool()> never;
    Result<void> received = co_await link->receive_late(std::move(never));
    static_cast<void>(received);  // Ignores an error: the next request returns it again.
  }
  co_return deadline == kNoDeadline ? deadline : deadline + (env_.now() - before);
}

bool ServerLinks::asked_to_save() const {
  return std::ranges::any_of(links_, [](const auto& link) { return link->asks_to_save(); });
}

Task<Result<void>> ServerLinks::tell_all(std::string_view verb, Deadline deadline, std::string text) {
  deadline = co_await after_late(deadline);
  Result<void> outcome;
  for (size_t i = 0; i < links_.size(); ++i) {
    if (!links_[i]->connected()) continue;
    auto told = co_await control(i, verb, text, deadline);
    if (!told && outcome) outcome = std::move(told).error();
  }
  co_return outcome;
}

Task<Result<void>> ServerLinks::check_lease(Deadline deadline) {
  const Result<Message> answer = co_await control(0, "lease", {}, deadline);
  if (!answer) co_return answer.error();
  co_return Result<void>{};
}

Task<bool> ServerLinks::stay(StopToken stop) {
  const Duration pause = std::min<Duration>(kShowUpEvery, options_.ready_timeout / 4);
  for (bool shown = false;; shown = true) {
    SteadyTime heard_at = env_.now();  // Lowered below to the oldest sent_at() of all links.
    for (const auto& link : links_) heard_at = std::min(heard_at, link->sent_at());
    // Sends the first messages once `pause` has passed since this trainer last sent a message to the server that has waited
    // longest. Each later round comes `pause` after the one before. Otherwise an unreachable server, whose sent_at() stays
    // the same, would be tried without any pause.
    const SteadyTime next = shown ? env_.now() + pause : heard_at + pause;
    Result<void> slept = co_await env_.sleep_for(std::max(next - env_.now(), Duration{}), stop);
    if (!slept) co_return shown;
    for (size_t i = 0; i < links_.size(); ++i) co_await show_up(i);
  }
}

Task<void> ServerLinks::show_up(size_t shard) {
  ServerLink& link = *links_[shard];
  if (!link.connected()) {
    std::function<bool()> give_up;
    Result<void> connected = co_await link.connect(env_.after(kShowUpEvery), std::move(give_up));
    if (!connected) co_return;
    if (!is_followed(shard)) co_return link.close(unavailable(to_string(link.server()) + " lost its state"));
    env_.sometimes("chief.connects_beside_other_work");
  }
  Message message = transport::make_control(env_.buffers(), "lease");
  message.head.sequence = link.next_sequence();
  Result<Message> answer = co_await link.request(std::move(message), epoch_, answer_by());
  static_cast<void>(answer);  // Ignores an error: if the server is lost, the next step reports that.
}

Task<Result<ServerStatus>> ServerLinks::status(size_t shard, Deadline deadline, std::optional<uint64_t> seen) {
  auto status = co_await look(shard, deadline, seen);
  co_return noted(std::move(status));
}

/// Asks every server, not only shard 0: the caller makes no steps, and would not notice otherwise that a server was
/// restarted and lacks the model, for which all other trainers wait.
Task<Result<ServerStatus>> ServerLinks::status_of_all(Deadline deadline, std::optional<uint64_t> seen) {
  deadline = co_await after_late(deadline);
  SHOAL_CO_TRY(ServerStatus first, co_await status(0, deadline, seen));
  for (size_t i = 0; i < links_.size(); ++i) {
    Phase phase = first.phase;
    if (i > 0) {
      SHOAL_CO_TRY(const ServerStatus other, co_await status(i, deadline));
      phase = other.phase;
      if (other.failure && other.failure->of_values()) first.failure = other.failure;
    }
    if (phase == Phase::kReady) continue;
    co_return noted(Result<ServerStatus>(unavailable(to_string(links_[i]->server()) + " lost its state")));
  }
  co_return first;
}

Task<Result<ServerStatus>> ServerLinks::look(size_t shard, Deadline deadline, std::optional<uint64_t> seen) {
  ServerLink& link = *links_[shard];
  Message message = transport::make_control(env_.buffers(), "status", seen ? std::to_string(*seen) : std::string());
  message.head.sequence = link.next_sequence();
  SHOAL_CO_TRY(const Message answer, co_await link.request(std::move(message), epoch_, deadline));
  SHOAL_CO_TRY(const transport::Control text, transport::read_control(answer));
  co_return parse_server_status(text.text);
}

Task<Result<Welcome>> ServerLinks::welcome(size_t shard, uint64_t newest_push, Deadline deadline) {
  const std::string given_up = newest_push == 0 ? std::string() : std::to_string(newest_push);
  SHOAL_CO_TRY(const Message answer, co_await control(shard, "welcome", given_up, deadline));
  SHOAL_CO_TRY(const transport::Control text, transport::read_control(answer));
  co_return parse_welcome(text.text);
}

Task<Result<void>> ServerLinks::finish(JobEnd end, Deadline deadline) {
  TaskGroup group(env_);
  for (size_t i = 0; i < links_.size(); ++i) group.spawn(finish_one(i, to_json(end), deadline));
  co_return co_await group.join();
}

bool ServerLinks::may_tell_again(const Error& error, Deadline deadline) const {
  return error.kind() == ErrorKind::kUnavailable && env_.now() < deadline;
}

/// Tells one server how the job has ended. Connects again if there is no connection, or if it breaks before the answer.
Task<Result<void>> ServerLinks::finish_one(size_t shard, std::string end, Deadline deadline) {
  for (;;) {
    if (!links_[shard]->connected()) {
      std::function<bool()> give_up;
      SHOAL_CO_TRY_VOID(co_await links_[shard]->connect(deadline, std::move(give_up)));
      if (links_[shard]->welcome().phase == Phase::kFinished) co_return Result<void>{};
    }
    auto told = co_await control(shard, "finish", end, deadline);
    if (told) co_return Result<void>{};
    if (!may_tell_again(told.error(), deadline)) co_return std::move(told).error();
    SHOAL_CO_TRY_VOID(co_await env_.sleep_for(kTellAgain));
  }
}

Task<Result<void>> ServerLinks::tell_failure(JobFailure failure, Deadline deadline) {
  for (;;) {
    if (!links_[0]->connected()) {
      std::function<bool()> give_up;
      SHOAL_CO_TRY_VOID(co_await links_[0]->connect(deadline, std::move(give_up)));
    }
    if (links_[0]->job_end()) co_return Result<void>{};  // The job has ended already, so nobody needs the news.
    auto told = co_await control(0, "failed", to_json(failure), deadline);
    if (told) co_return Result<void>{};
    if (!may_tell_again(told.error(), deadline)) co_return std::move(told).error();
    SHOAL_CO_TRY_VOID(co_await env_.sleep_for(kTellAgain));
  }
}

Task<Result<void>> ServerLinks::look_for_poison() {
  if (!poisoned_) co_return Result<void>{};
  const auto told = co_await control(*poisoned_, "failure", {}, answer_by());
  if (!told) co_return told.error();
  poisoned_.reset();
  co_return Result<void>{};
}

std::optional<JobEnd> ServerLinks::job_end() const {
  for (const auto& link : links_) {
    if (link->job_end()) return link->job_end();
  }
  return std::nullopt;
}

}  // namespace shoal::cluster
