#pragma once
/// What the connections of a simulated network share. One thread, so no locks.
#include <array>
#include <deque>
#include <map>
#include <optional>

#include "shoal/base/random.h"
#include "shoal/transport/inproc.h"
#include "shoal/transport/postbox.h"
#include "shoal/transport/sim.h"
#include "shoal/transport/wait_list.h"

namespace shoal::transport::sim {

/// Two names, in the order of the alphabet.
using Names = std::pair<std::string, std::string>;
Names names_of(std::string_view a, std::string_view b);

/// When what is sent in one direction arrives.
class Stream {
 public:
  explicit Stream(RandomKey key) : random_(key) {}

  struct Sent {
    SteadyTime arrival;
    uint64_t packets_lost = 0;
  };
  /// `bytes` are handed to `link` at `now`: never before what was sent earlier.
  Sent send(SteadyTime now, uint64_t bytes, const SimLink& link);
  SteadyTime last_arrival() const { return last_arrival_; }

 private:
  RandomStream random_;
  SteadyTime free_{};  // when the link has taken all that was sent
  SteadyTime last_arrival_{};
};

/// One connection: what both of its ends know.
struct Wire {
  struct End {
    std::string task;
    std::shared_ptr<Postbox> postbox = nullptr;
    std::shared_ptr<WaitList> waits = nullptr;        // for arrivals, of its strand; null: not there yet, or gone
    std::deque<SteadyTime> arrivals = {};             // of what was sent to this end and not received yet, in order
    std::optional<SteadyTime> closed = std::nullopt;  // when this end closed
  };
  Wire(uint64_t number, RandomKey key, std::string connecting, std::string accepting)
      : id(number),
        ends{End{std::move(connecting)}, End{std::move(accepting)}},
        streams{Stream(fold_in(key, uint64_t(0))), Stream(fold_in(key, uint64_t(1)))} {}

  const uint64_t id;
  std::array<End, 2> ends;        ///< 0 connected, 1 accepted
  std::array<Stream, 2> streams;  ///< [i]: what end i sends
  bool broken = false;            ///< it was cut for too long

  /// Whoever waits at that end looks again.
  static void wake(const std::shared_ptr<Wire>& wire, int index);
};

}  // namespace shoal::transport::sim

struct shoal::transport::SimNetwork::State {
  uint64_t seed;
  SimLink everywhere;
  std::shared_ptr<InprocHub> hub = std::make_shared<InprocHub>();
  std::map<sim::Names, SimLink> links;
  std::map<sim::Names, SteadyTime> cuts;  // since when
  std::map<uint64_t, std::weak_ptr<sim::Wire>> wires;
  /// Connected and not yet accepted, with the address of the listener: the one who connected may be gone again by then.
  std::map<uint64_t, std::pair<std::string, std::shared_ptr<sim::Wire>>> knocking;
  std::map<std::string, std::string, std::less<>> listeners;  // address: task
  uint64_t next_wire = 1;
  Stats stats;
  std::vector<std::weak_ptr<Postbox>> tasks;  // all have one clock

  const SimLink& link(const sim::Names& names) const;
  std::optional<SteadyTime> cut_since(std::string_view a, std::string_view b) const;
  /// Whoever waits on a wire between these two looks again; of all wires if there are no names.
  void wake(const std::optional<sim::Names>& between);
  SteadyTime now() const;  // the start of time, where there is no task
};
