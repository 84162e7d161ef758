// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The messages of a rendezvous: control messages, each a verb and a JSON text. The verbs:
///
///   join     guest (a rank other than 0) to host (rank 0), first on a connection: who the guest is (Join)
///   seat     the host's answer: where the guest has to listen (SeatOffer)
///   here     the guest's answer: where the guest listens (SeatTaken)
///   waiting  host to guest, now and then: which ranks are missing (Missing)
///   missing  guest to host: a guest whose time-out has passed asks for the missing ranks; the answer is "waiting"
///   cluster  host to guest: the address list, once all have joined (Gathering)
///
/// An Error message in place of an answer is a refusal; head.status is its kind: kRefusalPasses, ...
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/cluster/rendezvous.h"

namespace shoal::cluster {

inline constexpr std::string_view kMissingVerb = "missing";
inline constexpr uint8_t kRefusalPasses = 0;  ///< A later attempt may succeed: a guest (a rank other than 0) tries again.
inline constexpr uint8_t kRefusalFinal = 1;
/// The host belongs to another run than the guest. The guest gives up, unless it has other addresses to try.
inline constexpr uint8_t kRefusalOtherRun = 2;

struct Join {
  int32_t rank = 0;
  int32_t size = 1;
  std::string plan;      ///< The ClusterSize as text, "ps:2,worker:3,evaluator".
  std::string run;       ///< Place::run.
  std::string own_host;  ///< Place::own_host.
  std::string host_name;
  std::optional<Gathering> known;  ///< The address list, if the guest got it earlier.
};
struct SeatOffer {
  std::string host;     ///< The host name by which other tasks find this task.
  std::string address;  ///< The guest's address, if this job has given it one before; else empty.
};
struct SeatTaken {
  std::string address;  ///< Where the guest listens; empty for an evaluator, which needs no address.
};
inline constexpr size_t kMissingShown = 20;
struct Missing {
  std::vector<int32_t> ranks;  ///< The first kMissingShown missing ranks.
  int32_t count = 0;
};

std::string to_json(const Join& join);
std::string to_json(const SeatOffer& offer);
std::string to_json(const SeatTaken& taken);
std::string to_json(const Missing& missing);
std::string to_json(const Gathering& gathering);
// DataLoss if the text is of another form, or a value is out of range.
Result<Join> parse_join(std::string_view text);
Result<SeatOffer> parse_seat_offer(std::string_view text);
Result<SeatTaken> parse_seat_taken(std::string_view text);
Result<Missing> parse_missing(std::string_view text);
Result<Gathering> parse_gathering(std::string_view text);

/// The size limit of messages in a job of `size` tasks.
uint64_t rendezvous_bytes_max(int32_t size);

}  // namespace shoal::cluster
