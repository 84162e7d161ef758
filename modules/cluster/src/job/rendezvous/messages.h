// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What is said at a rendezvous: control messages, each a verb and a JSON text. The verbs:
///
///   join     a task to rank 0: who it is (Join), the first on a connection
///   seat     the answer: where to listen (SeatOffer)
///   here     it does (SeatTaken)
///   waiting  for whom (Missing), now and then
///   missing  a task that has waited long enough asks for whom; the answer is "waiting"
///   cluster  all are there (Gathering)
///
/// An Error message in place of an answer is a refusal; head.status says which.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/cluster/rendezvous.h"

namespace shoal::cluster {

inline constexpr std::string_view kMissingVerb = "missing";
inline constexpr uint8_t kRefusalPasses = 0;  ///< The task may try again.
inline constexpr uint8_t kRefusalFinal = 1;
inline constexpr uint8_t kRefusalOtherRun = 2;  ///< Final too, unless its own run may be found at another address.

struct Join {
  int32_t rank = 0;
  int32_t size = 1;
  std::string plan;      ///< The ClusterSize as text, "ps:2,worker:3,evaluator".
  std::string run;       ///< Place::run.
  std::string own_host;  ///< Place::own_host.
  std::string host_name;
  std::optional<Gathering> known;  ///< What it was given before, if it was.
};
struct SeatOffer {
  std::string host;     ///< By which others find this task.
  std::string address;  ///< Its address in this job, where it has one already; else empty.
};
struct SeatTaken {
  std::string address;  ///< Empty: it needs none.
};
inline constexpr size_t kMissingShown = 20;
struct Missing {
  std::vector<int32_t> ranks;  ///< The first kMissingShown of them.
  int32_t count = 0;
};

std::string to_json(const Join& join);
std::string to_json(const SeatOffer& offer);
std::string to_json(const SeatTaken& taken);
std::string to_json(const Missing& missing);
std::string to_json(const Gathering& gathering);
// DataLoss: no such text, or something in it is out of range.
Result<Join> parse_join(std::string_view text);
Result<SeatOffer> parse_seat_offer(std::string_view text);
Result<SeatTaken> parse_seat_taken(std::string_view text);
Result<Missing> parse_missing(std::string_view text);
Result<Gathering> parse_gathering(std::string_view text);

/// The largest message of a job of so many tasks.
uint64_t rendezvous_bytes_max(int32_t size);

}  // namespace shoal::cluster
