// SPDX-License-Identifier: Apache-2.0
#pragma once
/// sim: the network of simulations. It connects tasks of one VirtualWorld by links that take time, lose packets and break,
/// all determined by a seed: the same seed gives the same run.
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/production.h"
#include "shoal/transport/transport.h"

namespace shoal::transport {

/// One direction of a link. It behaves like a stream of packets of 1,460 bytes. Lost packets are sent again while the
/// stream waits. So, as with TCP, loss, duplicates and reordering only cost time, and messages stay in order.
struct SimLink {
  Duration latency = std::chrono::microseconds(50);  ///< The time that a packet takes in one direction.
  Duration jitter{};                                 ///< The largest random addition to the latency; evenly distributed.
  double bytes_per_second = 0;                       ///< The rate; 0: unlimited.
  double loss = 0;                                   ///< The fraction of packets that are lost, in [0, 1).
  double duplication = 0;                            ///< The fraction of packets that are sent twice, in [0, 1].
};

/// The network that connects the tasks of one simulation. Use it only on the thread that runs the VirtualWorld.
///
///   auto network = std::make_shared<SimNetwork>(seed, SimLink{.latency = 25ms, .bytes_per_second = 1.25e6});
///   world.add_task({.task = "worker 0", .transports = {{"sim", sim_factory(network, "worker 0")}}});
/// Connections fail as they do over tcp. Each side detects a silent peer by heartbeats, which cost nothing here: a side
/// that receives nothing for three of its peer's intervals (LinkOptions::heartbeat_interval; zero on either side: no
/// heartbeats) ends the connection with Unavailable, and tells the other side so, unless traffic to it is interrupted,
/// too. The silence begins when the direction to this side is interrupted.
///
/// VirtualWorld does not know the network. Code that kills, freezes or thaws a task there has to tell the network at the
/// same moment (process_died() or host_died(), set_frozen()).
class SimNetwork {
 public:
  explicit SimNetwork(uint64_t seed = 1, SimLink everywhere = {});
  ~SimNetwork();
  SimNetwork(const SimNetwork&) = delete;
  SimNetwork& operator=(const SimNetwork&) = delete;

  /// Sets the properties of both directions between two tasks, from now on.
  void set_link(std::string_view a, std::string_view b, SimLink link);
  void set_link_one_way(std::string_view from, std::string_view to, SimLink link);

  /// Stops all traffic between the two until heal(). Messages that had not arrived are then sent again, unless their
  /// connection has ended meanwhile: then they never arrive. Attempts to connect wait for heal().
  void cut(std::string_view a, std::string_view b);
  /// Stops the traffic from `from` to `to`. Messages in the other direction arrive, but their acknowledgements do not. So
  /// `to` can send until its queue is full, and receives nothing.
  void cut_one_way(std::string_view from, std::string_view to);
  void heal(std::string_view a, std::string_view b);
  void heal_one_way(std::string_view from, std::string_view to);
  void heal();  ///< Heals all cuts.
  /// Calls cut() between each of `some` and each of `others`.
  void partition(const std::vector<std::string>& some, const std::vector<std::string>& others);
  /// After this time a silent peer is given up: three heartbeat intervals of the default length.
  static constexpr Duration kSilenceMax = std::chrono::seconds(15);

  /// Ends all present connections between the two at once, at both ends, with Unavailable (connection reset by peer).
  /// Messages that had not arrived are lost.
  void reset(std::string_view a, std::string_view b);

  /// Reports that the present process of `task` was killed while its host's kernel lives. Its peers receive the
  /// messages sent before, and then find their connections closed (Unavailable). Attempts to connect to its
  /// addresses are refused until the next process of the task listens there, which it may do at once. Objects of the dead
  /// process that are destroyed later have no effect.
  void process_died(std::string_view task);
  /// Reports that the host of `task` has lost its power. Messages that had not left it are lost, and its peers notice only
  /// the silence. Attempts to connect to its addresses time out. The host is back when the next process of the task makes
  /// its transport. From then on the host answers traffic for the dead process with a reset.
  void host_died(std::string_view task);
  /// Freezes or thaws a task. The peers of a frozen task may send until their queues are full, receive nothing from it, and
  /// cannot connect, since the handshake times out. After thawing, the task sees what its peers have done meanwhile, and
  /// reads what has arrived before it takes a peer for silent.
  void set_frozen(std::string_view task, bool frozen);

  /// Decides about each message of each connection: true loses the message and resets its connection. Called when `from`
  /// sends, or when `to` is about to receive. Null: loses no message. A Choice may apply other faults (kill, cut), but must
  /// not set another Choice.
  using Choice = std::function<bool(std::string_view from, std::string_view to, const Message& message)>;
  void lose_when_sent(Choice choice);
  void lose_when_received(Choice choice);

  /// Counts since the network was made.
  struct Stats {
    uint64_t messages = 0;
    uint64_t bytes = 0;         ///< Bytes of all messages. Packets that are sent again do not count again.
    uint64_t packets_lost = 0;  ///< Packets that were lost and sent again.
    // The next members count faults.
    uint64_t cuts = 0;           ///< How often the traffic from one task to another was cut; cut() counts as two.
    uint64_t resets = 0;         ///< Connections that reset() or a Choice ended.
    uint64_t messages_lost = 0;  ///< Messages that were sent and never arrive.
    uint64_t process_deaths = 0;
    uint64_t host_deaths = 0;
    uint64_t freezes = 0;
    uint64_t silences = 0;  ///< Connections that one side ended because the other was silent for too long.
    uint64_t refusals = 0;  ///< Attempts to connect that were refused.
  };
  Stats stats() const;
  /// The addresses with a listener.
  std::vector<std::string> listening() const;

  struct State;  // Defined in the implementation.
  State& state() { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

/// Makes the factory for the transport of `task`, which has this name in the network. Works only in virtual time. No two
/// living processes may have the same name. After a process has died, the task's next process uses its name again.
TransportFactory sim_factory(std::shared_ptr<SimNetwork> network, std::string task);

}  // namespace shoal::transport
