// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What a running task says of itself to whoever asks: over a connection as any other, as its first word, which makes
/// nobody a part of the job. A parameter server answers, and rank 0 at its rendezvous; the others listen nowhere. On the
/// wire: a control message "status" without a text -> "status" TaskStatus; then both close. docs/decisions/0094 says why.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/environment.h"
#include "shoal/transport/transport.h"

namespace shoal::cluster {

struct PeerStatus {
  std::string task;        ///< "worker 1".
  bool connected = false;  ///< It has a connection to the task that answers, which counts itself as connected.
  std::string address;     ///< Where it listens, as "host:port"; empty if that is not known, or it does not.
  bool done = false;       ///< It is a trainer that makes no more steps: it waits for the end of the job, or has left.
  /// The share of a trainer's time, 0 to 1, that went by waiting for its input lately. Nothing if it has not said so yet.
  std::optional<double> input_wait = {};
  friend bool operator==(const PeerStatus&, const PeerStatus&) = default;
};

struct TaskStatus {
  std::string role;  ///< Of the task that answers.
  int32_t index = 0;
  /// A server's: "empty", "loading", "ready", "finished" (Phase). At a rendezvous: "meeting" until all were there, then
  /// "met".
  std::string phase;
  std::optional<uint64_t> global_step;  ///< Nothing at a rendezvous, and of a server that holds no model.
  std::string run;                      ///< At a rendezvous: Place::run.
  std::vector<PeerStatus> peers;        ///< A server's: chief, workers, other servers. At a rendezvous: all ranks in order.
  friend bool operator==(const TaskStatus&, const TaskStatus&) = default;
};
std::string to_json(const TaskStatus& status);
/// DataLoss: no such text, or something in it is out of range.
Result<TaskStatus> parse_task_status(std::string_view json);

inline constexpr std::string_view kStatusVerb = "status";
/// Whether this first word of a peer is the question.
bool asks_status(const transport::Message& first);

/// Asks once. Unavailable: nobody is there, or what is there closes the connection; DeadlineExceeded: it takes the
/// connection and does not answer; FailedPrecondition: it knows another token or certificate, or plain tcp is not allowed;
/// InvalidArgument: it is no task that can be asked; DataLoss: its answer is none. All name the address.
Task<Result<TaskStatus>> ask_status(Environment& env, transport::Endpoint at, transport::LinkOptions link,
                                    Deadline deadline);

}  // namespace shoal::cluster
