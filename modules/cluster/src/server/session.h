// SPDX-License-Identifier: Apache-2.0
#pragma once
/// One connection to a parameter server after its hello, and the checks of that hello.
#include <memory>
#include <optional>
#include <string>

#include "server/incoming_push.h"
#include "shoal/cluster/identity.h"
#include "shoal/transport/transport.h"
#include "state/server_state.h"

namespace shoal::cluster {

inline constexpr int32_t kTaskIndexMax = 65535;

/// A connected peer. The coroutine that receives the peer's requests shares this object with the coroutines that answer
/// them.
struct Session : std::enable_shared_from_this<Session> {
  Session(Environment& env, std::unique_ptr<transport::Connection> accepted, uint64_t which)
      : connection(std::move(accepted)), number(which), replies(env) {}

  const std::unique_ptr<transport::Connection> connection;
  const uint64_t number;  // The number of the connection, in the order of acceptance.
  transport::Hello hello;
  int trainer = -1;  // The trainer's number; -1 for a task that is not a trainer of this job.
  int shard = -1;    // The number of the peer's shard; -1 if the peer is not another server of this job.
  bool chief = false;
  bool replaced = false;  // True once the server closes this connection because a newer process of the task has connected.
  std::optional<HeldState> held;
  IncomingPush push;
  TaskGroup replies;   // Replies that are being sent while the next request is handled.
  bool ended = false;  // True once the session has ended, so that no reply may begin.
};

/// The task's name, such as "worker 3".
std::string name_of(const transport::Hello& hello);
/// The task's run and program: "run 00112233445566778899aabbccddeeff of mnist, model_dir m"; empty if the hello names
/// none.
std::string whose_of(const transport::Hello& hello);

/// True if the sender is the trainer that leads the job: its chief, or its master.
bool leads(const transport::Hello& hello);

/// The number of the trainer that sent this hello; -1 for a task that is not a trainer of this job. `own` is the
/// server's identity.
int trainer_of(const transport::Hello& hello, const TaskIdentity& own);

/// The name of a trainer, by its number: "worker 3".
std::string trainer_name(int trainer, const TaskIdentity& own);

/// The shard of the server that sent this hello to shard 0; -1 if no server sent it. `own` is this server's identity.
int shard_of(const transport::Hello& hello, const TaskIdentity& own);

/// FailedPrecondition if the session's hello states another job, strategy or launch than `own`, the server's identity; if
/// the peer is neither a trainer nor a server; and if the hello names another task than the peer's certificate.
Result<void> check_hello(const Session& session, const TaskIdentity& own);
/// FailedPrecondition if the trainer has another model than the server. Called at the hello, and again with each pull:
/// a worker may connect before the chief has brought the model.
Result<void> check_model(const Session& session, const ServerState& state, const TaskIdentity& own);
/// True if the peer is no chief, and its run and the run of this server's model are known and differ.
bool is_of_another_run(const Session& session, const ServerState& state);

}  // namespace shoal::cluster
