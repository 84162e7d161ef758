// SPDX-License-Identifier: Apache-2.0
#pragma once
/// One connection to a parameter server, after its hello, and whether that hello may be let in.
#include <memory>
#include <optional>
#include <string>

#include "server/incoming_push.h"
#include "shoal/cluster/identity.h"
#include "shoal/transport/transport.h"
#include "state/server_state.h"

namespace shoal::cluster {

inline constexpr int32_t kTaskIndexMax = 65535;

/// Shared by its coroutine, and by those that will answer what it asked.
struct Session : std::enable_shared_from_this<Session> {
  Session(Environment& env, std::unique_ptr<transport::Connection> accepted, uint64_t which)
      : connection(std::move(accepted)), number(which), replies(env) {}

  const std::unique_ptr<transport::Connection> connection;
  const uint64_t number;  // Counts connections in the order of acceptance.
  transport::Hello hello;
  int trainer = -1;  // The number of the trainer; -1 for a task that is no trainer of this job.
  int shard = -1;    // The number of the shard; -1 for a task that is no other server of this job.
  bool chief = false;
  bool replaced = false;  // True while its connection is being closed: a newer process has taken its task's place.
  std::optional<HeldState> held;
  IncomingPush push;
  TaskGroup replies;   // Replies that are on their way, beside the next request.
  bool ended = false;  // True once no reply may begin any more.
};

/// "worker 3".
std::string name_of(const transport::Hello& hello);
/// Which run and program it is of: "run 00112233445566778899aabbccddeeff of mnist, model_dir m"; empty if it does not say.
std::string whose_of(const transport::Hello& hello);

/// The number of the trainer that says so; -1 for a task that is no trainer of this job. `own` is the server.
int trainer_of(const transport::Hello& hello, const TaskIdentity& own);

/// The other way round: "worker 3".
std::string trainer_name(int trainer, const TaskIdentity& own);

/// Which other server says so, to the one that decides (shard 0); -1 if none does. `own` is the server.
int shard_of(const transport::Hello& hello, const TaskIdentity& own);

/// FailedPrecondition if it is of another job, or not of a trainer, or not who its certificate says. `own` is the
/// server.
Result<void> check_hello(const Session& session, const TaskIdentity& own);
/// FailedPrecondition if it has another model than the server. Asked at the hello and again with each pull: a worker
/// may come before the chief has brought the model.
Result<void> check_model(const Session& session, const ServerState& state, const TaskIdentity& own);
/// True if the peer has said that it is of another run than the model that is held here (CONTRACT RU-6).
bool is_of_another_run(const Session& session, const ServerState& state);

}  // namespace shoal::cluster
