#pragma once
/// sim: the network of simulations. Tasks of one VirtualWorld, with links between them that take time, lose packets and
/// break, all from a seed: the same seed gives the same run.
#include <memory>
#include <string>
#include <vector>

#include "shoal/base/production.h"
#include "shoal/transport/transport.h"

namespace shoal::transport {

/// One direction of a link, as a stream of packets of 1,460 bytes over it behaves. Packets that are lost are sent again,
/// the stream waits for them: so loss, duplicates and reordering are seen as time, as over TCP, and messages stay in order.
struct SimLink {
  Duration latency = std::chrono::microseconds(50);  ///< one way
  Duration jitter{};                                 ///< each message takes up to this longer, evenly spread
  double bytes_per_second = 0;                       ///< 0: as much as comes
  double loss = 0;                                   ///< share of packets, in [0, 1)
  double duplication = 0;                            ///< share of packets that travel twice, in [0, 1]
};

/// Where the tasks of one simulation meet. Of the thread that runs the world.
///
///   auto network = std::make_shared<SimNetwork>(seed, SimLink{.latency = 25ms, .bytes_per_second = 1.25e6});
///   world.add_task({.task = "worker 0", .transports = {{"sim", sim_factory(network, "worker 0")}}});
class SimNetwork {
 public:
  explicit SimNetwork(uint64_t seed = 1, SimLink everywhere = {});
  ~SimNetwork();
  SimNetwork(const SimNetwork&) = delete;
  SimNetwork& operator=(const SimNetwork&) = delete;

  /// Both directions between two tasks, from now on.
  void set_link(std::string_view a, std::string_view b, SimLink link);
  /// Nothing gets through between the two until heal(). A connection that was cut for `silence_max` is lost (Unavailable)
  /// at both ends, as heartbeats would find; what had not arrived never does.
  void cut(std::string_view a, std::string_view b);
  void heal(std::string_view a, std::string_view b);
  /// cut() between each of `some` and each of `others`.
  void partition(const std::vector<std::string>& some, const std::vector<std::string>& others);
  void heal();  ///< everything
  static constexpr Duration kSilenceMax = std::chrono::seconds(15);

  /// Since the network was made.
  struct Stats {
    uint64_t messages = 0;
    uint64_t bytes = 0;         ///< of bodies and heads, each once
    uint64_t packets_lost = 0;  ///< and sent again
  };
  Stats stats() const;

  struct State;  // for the implementation
  State& state() { return *state_; }

 private:
  std::shared_ptr<State> state_;
};

/// Makes the transport of one task of the network, by its name there. In virtual time only.
TransportFactory sim_factory(std::shared_ptr<SimNetwork> network, std::string task);

}  // namespace shoal::transport
