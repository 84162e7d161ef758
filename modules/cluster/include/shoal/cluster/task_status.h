// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The status that a running task gives to anyone who connects and asks in place of a hello; the asker does not join the
/// job. Only parameter servers answer, and rank 0 during its rendezvous; other tasks do not listen. On the wire: a control
/// message "status" without a text -> "status" TaskStatus; then both sides close. docs/decisions/job-status.md says why.
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
  bool connected = false;  ///< True if `task` is connected to the answering task, or is that task itself.
  std::string address;     ///< Where `task` listens, as "host:port"; empty if nowhere or not known.
  bool done = false;       ///< True for a trainer that makes no more steps: it waits for the end of the job, or has left.
  /// The share of a trainer's time, 0 to 1, that it lately spent waiting for its input. Empty if it is not known yet.
  std::optional<double> input_wait = {};
  friend bool operator==(const PeerStatus&, const PeerStatus&) = default;
};

struct TaskStatus {
  std::string role;  ///< The role of the answering task.
  int32_t index = 0;
  /// Of a server: "empty", "loading", "ready" or "finished" (Phase). At a rendezvous: "meeting" until all ranks were
  /// there, then "met".
  std::string phase;
  std::optional<uint64_t> global_step;  ///< Empty in the status of a rendezvous, and of a server without a model.
  std::string run;                      ///< At a rendezvous: the job's name (Place::run).
  /// If a server answers: the chief, the workers and the other servers. At a rendezvous: all ranks, in order.
  std::vector<PeerStatus> peers;
  friend bool operator==(const TaskStatus&, const TaskStatus&) = default;
};
std::string to_json(const TaskStatus& status);
/// Reads what to_json() writes. DataLoss if `json` has another form, or a value is out of range.
Result<TaskStatus> parse_task_status(std::string_view json);

inline constexpr std::string_view kStatusVerb = "status";
/// True if `first`, the first message of a peer, asks for the status in place of a hello.
bool asks_status(const transport::Message& first);

/// Asks the task at `at` for its status, once. Unavailable: nobody listens there, or the peer closes the connection.
/// DeadlineExceeded: the peer accepts the connection and does not answer. FailedPrecondition: the peer has another
/// token or certificate, or plain tcp is not allowed. InvalidArgument: the peer is no task that can be asked. DataLoss:
/// the answer is garbled. All errors name the address.
Task<Result<TaskStatus>> ask_status(Environment& env, transport::Endpoint at, transport::LinkOptions link,
                                    Deadline deadline);

}  // namespace shoal::cluster
