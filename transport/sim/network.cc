#include "network.h"

#include <algorithm>
#include <cmath>

namespace shoal::transport {
namespace sim {
namespace {

constexpr uint64_t kPacketBytes = 1460;
/// Linux's least time until a packet without successors is sent again (RFC 6298 says 1 s).
constexpr Duration kResendMin = std::chrono::milliseconds(200);
/// Of larger messages as many packets are drawn, and stand for all.
constexpr uint64_t kDrawnMax = 256;

Duration seconds_of(double seconds) { return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds)); }

}  // namespace

Names names_of(std::string_view a, std::string_view b) {
  return a < b ? Names(std::string(a), std::string(b)) : Names(std::string(b), std::string(a));
}

Stream::Sent Stream::send(SteadyTime now, uint64_t bytes, const SimLink& link) {
  const uint64_t packets = std::max<uint64_t>(1, (bytes + kPacketBytes - 1) / kPacketBytes);
  const uint64_t drawn = std::min(packets, kDrawnMax);
  uint64_t resent = 0, twice = 0, rounds = 0;
  bool tail_lost = false;
  if (link.loss > 0 || link.duplication > 0) {
    for (uint64_t packet = 0; packet < drawn; ++packet) {
      uint64_t tries = 0;
      while (double(random_.next_float()) < link.loss) ++tries;
      if (double(random_.next_float()) < link.duplication) ++twice;
      resent += tries;
      rounds = std::max(rounds, tries);
      tail_lost |= tries > 0 && packet + 3 >= drawn;  // too few behind it to tell the sender of the gap (RFC 5681, 3.2)
    }
  }
  const double scale = double(packets) / double(drawn);
  Sent sent{.arrival = std::max(now, free_), .packets_lost = uint64_t(std::llround(double(resent) * scale))};
  if (link.bytes_per_second > 0) {
    const double extra = double(resent + twice) * scale * double(kPacketBytes);
    sent.arrival += seconds_of((double(bytes) + extra) / link.bytes_per_second);
  }
  free_ = sent.arrival;
  sent.arrival += link.latency;
  if (link.jitter > Duration::zero())
    sent.arrival += seconds_of(std::chrono::duration<double>(link.jitter).count() * double(random_.next_float()));
  // Each time that a packet is lost costs a round trip; where nothing follows it, the sender has to wait for its timer.
  sent.arrival += int64_t(rounds) * (2 * link.latency) + (tail_lost ? kResendMin : Duration::zero());
  sent.arrival = std::max(sent.arrival, last_arrival_);
  last_arrival_ = sent.arrival;
  return sent;
}

void Wire::wake(const std::shared_ptr<Wire>& wire, int index) {
  const auto& postbox = wire->ends[size_t(index)].postbox;
  if (!postbox) return;
  postbox->post([wire, index] {
    if (const auto waits = wire->ends[size_t(index)].waits) waits->wake_all();
  });
}

}  // namespace sim

const SimLink& SimNetwork::State::link(const sim::Names& names) const {
  const auto found = links.find(names);
  return found == links.end() ? everywhere : found->second;
}

std::optional<SteadyTime> SimNetwork::State::cut_since(std::string_view a, std::string_view b) const {
  const auto found = cuts.find(sim::names_of(a, b));
  return found == cuts.end() ? std::nullopt : std::optional(found->second);
}

SteadyTime SimNetwork::State::now() const {
  for (const auto& task : tasks) {
    const auto postbox = task.lock();
    if (Environment* const env = postbox ? postbox->environment() : nullptr) return env->now();
  }
  return SteadyTime{};
}

void SimNetwork::State::wake(const std::optional<sim::Names>& between) {
  for (auto& [id, weak] : wires) {
    const auto wire = weak.lock();
    if (!wire || (between && sim::names_of(wire->ends[0].task, wire->ends[1].task) != *between)) continue;
    for (const int index : {0, 1}) sim::Wire::wake(wire, index);
  }
}

SimNetwork::SimNetwork(uint64_t seed, SimLink everywhere) : state_(std::make_shared<State>()) {
  state_->seed = seed;
  state_->everywhere = everywhere;
}
SimNetwork::~SimNetwork() = default;

void SimNetwork::set_link(std::string_view a, std::string_view b, SimLink link) {
  state_->links.insert_or_assign(sim::names_of(a, b), link);
}

void SimNetwork::cut(std::string_view a, std::string_view b) {
  const sim::Names names = sim::names_of(a, b);
  state_->cuts.emplace(names, state_->now());
  state_->wake(names);
}

void SimNetwork::heal(std::string_view a, std::string_view b) {
  const sim::Names names = sim::names_of(a, b);
  state_->cuts.erase(names);
  state_->wake(names);
}

void SimNetwork::partition(const std::vector<std::string>& some, const std::vector<std::string>& others) {
  for (const std::string& a : some) {
    for (const std::string& b : others) cut(a, b);
  }
}

void SimNetwork::heal() {
  state_->cuts.clear();
  state_->wake(std::nullopt);
}

SimNetwork::Stats SimNetwork::stats() const { return state_->stats; }

}  // namespace shoal::transport
