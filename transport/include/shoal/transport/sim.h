// SPDX-License-Identifier: Apache-2.0
#pragma once
/// sim: the network of simulations. Tasks of one VirtualWorld, with links between them that take time, lose packets and
/// break, all from a seed: the same seed gives the same run.
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/production.h"
#include "shoal/transport/transport.h"

namespace shoal::transport {

/// One direction of a link, as a stream of packets of 1,460 bytes over it behaves. Packets that are lost are sent again,
/// the stream waits for them: so loss, duplicates and reordering are seen as time, as over TCP, and messages stay in order.
struct SimLink {
  Duration latency = std::chrono::microseconds(50);  ///< The time one way.
  Duration jitter{};                                 ///< How much longer a message takes at most; evenly spread.
  double bytes_per_second = 0;                       ///< The rate; 0 for as much as comes.
  double loss = 0;                                   ///< The share of packets that are lost, in [0, 1).
  double duplication = 0;                            ///< The share of packets that travel twice, in [0, 1].
};

/// Where the tasks of one simulation meet. To be used on the thread that runs the world.
///
///   auto network = std::make_shared<SimNetwork>(seed, SimLink{.latency = 25ms, .bytes_per_second = 1.25e6});
///   world.add_task({.task = "worker 0", .transports = {{"sim", sim_factory(network, "worker 0")}}});
///
/// Connections fail as they do over tcp. Each side hears of the other by heartbeats, which cost nothing here, and judges by
/// its own hearing: who hears nothing for three of its peer's intervals (LinkOptions::heartbeat_interval; zero on either
/// side: no judgement) ends the connection with Unavailable, and says so to the other side as far as that can be reached.
/// The count begins when the way to it fell silent.
///
/// VirtualWorld knows nothing of the network: whoever kills, freezes or thaws a task there says so here as well, at the
/// same moment (process_died() or host_died(), set_frozen()).
class SimNetwork {
 public:
  explicit SimNetwork(uint64_t seed = 1, SimLink everywhere = {});
  ~SimNetwork();
  SimNetwork(const SimNetwork&) = delete;
  SimNetwork& operator=(const SimNetwork&) = delete;

  /// Sets both directions between two tasks, from now on.
  void set_link(std::string_view a, std::string_view b, SimLink link);
  void set_link_one_way(std::string_view from, std::string_view to, SimLink link);

  /// Nothing gets through between the two until heal(). What had not arrived is sent again then, unless the connection was
  /// given up meanwhile: it never arrives then. Connecting waits for the cut to heal.
  void cut(std::string_view a, std::string_view b);
  /// Nothing gets from `from` to `to`. What goes the other way arrives, but its acknowledgements do not come back: who
  /// sends there goes on until its queue is full, and hears nothing.
  void cut_one_way(std::string_view from, std::string_view to);
  void heal(std::string_view a, std::string_view b);
  void heal_one_way(std::string_view from, std::string_view to);
  void heal();  ///< Heals every cut.
  /// Calls cut() between each of `some` and each of `others`.
  void partition(const std::vector<std::string>& some, const std::vector<std::string>& others);
  /// Three intervals, where nobody chose another one.
  static constexpr Duration kSilenceMax = std::chrono::seconds(15);

  /// All present connections between the two end at once, at both ends, with Unavailable (connection reset by peer). What
  /// had not arrived is lost.
  void reset(std::string_view a, std::string_view b);

  /// The present process of `task` was killed, and the kernel of its host lives. Its peers find their connections closed
  /// (Unavailable) as soon as the news has travelled, behind what was sent before. Whoever connects to its addresses is
  /// refused, until the next process of the task listens there, at once if it likes. What the dead one still holds and lets
  /// go of later disturbs nobody.
  void process_died(std::string_view task);
  /// The host of `task` has lost its power: what had not left it is lost, and nobody is told. Its peers notice by silence.
  /// Whoever connects to its addresses waits in vain. The host is back when the next process of the task has its transport:
  /// it answers what comes for the dead one with a reset.
  void host_died(std::string_view task);
  /// A frozen task takes part no more: its peers may send until their queues are full, hear nothing of it, and connecting
  /// to it fails when the handshake times out. Thawed, it finds what its peers have done. It does not take a peer for
  /// silent before it has heard what came meanwhile.
  void set_frozen(std::string_view task, bool frozen);

  /// Decides about each message of each connection: true loses it and resets its connection. Asked when `from` sends, or
  /// when `to` is about to receive. Null: no such decisions. It may kill, cut and so on, but not choose who chooses.
  using Choice = std::function<bool(std::string_view from, std::string_view to, const Message& message)>;
  void lose_when_sent(Choice choice);
  void lose_when_received(Choice choice);

  /// What has happened since the network was made.
  struct Stats {
    uint64_t messages = 0;
    uint64_t bytes = 0;         ///< Bodies and heads, each counted once.
    uint64_t packets_lost = 0;  ///< Packets that were lost, and sent again.
    // Faults:
    uint64_t cuts = 0;           ///< Directions that were cut.
    uint64_t resets = 0;         ///< Connections that ended by reset() and the two choices.
    uint64_t messages_lost = 0;  ///< Messages that were sent, and never arrive.
    uint64_t process_deaths = 0;
    uint64_t host_deaths = 0;
    uint64_t freezes = 0;
    uint64_t silences = 0;  ///< Ends of connections that heard nothing for too long.
    uint64_t refusals = 0;  ///< How often somebody who connected was refused.
  };
  Stats stats() const;
  /// The addresses where somebody listens.
  std::vector<std::string> listening() const;

  struct State;  // For the implementation.
  State& state() { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

/// Makes the transport of one task of the network, by its name there. In virtual time only. Another process of a task that
/// died takes its name again; of living processes each has its own.
TransportFactory sim_factory(std::shared_ptr<SimNetwork> network, std::string task);

}  // namespace shoal::transport
