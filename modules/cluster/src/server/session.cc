// SPDX-License-Identifier: Apache-2.0
#include "server/session.h"

#include "shoal/cluster/identity.h"
#include "shoal/cluster/model_identity.h"

namespace shoal::cluster {

std::string name_of(const transport::Hello& hello) { return hello.role + " " + std::to_string(hello.index); }

namespace {

Error differs(std::string_view what, const std::string& how) {
  return failed_precondition("different " + std::string(what) + ": " + how +
                             "; give all tasks of a job the same program, flags and cluster");
}

/// Adds `origin` to a name: "worker 0 (mnist, model_dir b)".
std::string with_origin(std::string name, std::string_view origin) {
  if (!origin.empty()) name.append(" (").append(origin).append(")");
  return name;
}

/// The error for a task of another job. Its hello alone shows that the job is another one, without a comparison of models.
Error of_another_job(const transport::Hello& hello, const std::string& theirs, const std::string& ours) {
  return failed_precondition("two jobs at one address: " + with_origin(name_of(hello), hello.origin) + " is of " + theirs +
                             ", this server is of " + ours +
                             "; give each job addresses of its own, or end the other job first");
}

std::string server_name(const TaskIdentity& own) { return "ps " + std::to_string(own.index); }

/// Checks that the peer's certificate, if there is one, belongs to the task that the hello names. The hello decides all
/// rights of the peer. Without certificates the server trusts the hello.
Result<void> check_identity(const Session& session) {
  const std::optional<transport::PeerIdentity> proved = session.connection->identity();
  if (!proved || *proved == transport::PeerIdentity{session.hello.role, session.hello.index}) return {};
  return failed_precondition("the certificate is that of " + to_string(*proved) + ", and not of " + name_of(session.hello) +
                             "; give each task its own (--tls-dir)");
}

}  // namespace

std::string whose_of(const transport::Hello& hello) {
  std::string whose = hello.run.empty() ? "" : "run " + hello.run;
  if (!hello.origin.empty()) whose += (whose.empty() ? "" : " of ") + hello.origin;
  return whose;
}

bool leads(const transport::Hello& hello) { return hello.role == kChiefRole || hello.role == kMasterRole; }

int trainer_of(const transport::Hello& hello, const TaskIdentity& own) {
  if (leads(hello)) return hello.index >= 0 ? 0 : -1;
  if (hello.role != kWorkerRole) return -1;
  const std::optional<int32_t> position = position_in(own.sparse.workers, hello.index);
  return position && *position <= kTaskIndexMax ? *position + 1 : -1;
}

std::string trainer_name(int trainer, const TaskIdentity& own) {
  if (trainer > 0) return std::string(kWorkerRole) + " " + std::to_string(index_at(own.sparse.workers, trainer - 1));
  const std::string line_of_master = "\n" + std::string(kMasterRole) + " ";
  const bool has_master = ("\n" + own.job).find(line_of_master) != std::string::npos;
  return std::string(has_master ? kMasterRole : kChiefRole) + " 0";
}

int shard_of(const transport::Hello& hello, const TaskIdentity& own) {
  if (hello.role != kPsRole || position_in(own.sparse.servers, own.index) != 0) return -1;
  const std::optional<int32_t> position = position_in(own.sparse.servers, hello.index);
  return position && *position > 0 && *position <= kTaskIndexMax ? int(*position) : -1;
}

Result<void> check_hello(const Session& session, const TaskIdentity& own) {
  const transport::Hello& hello = session.hello;
  SHOAL_TRY_VOID(check_identity(session));
  if (hello.job != own.job) return differs("job", job_difference(hello.job, name_of(hello), own.job, server_name(own)));
  if (hello.strategy != own.strategy) {
    return differs("update strategy",
                   name_of(hello) + " has " + hello.strategy + ", " + server_name(own) + " has " + own.strategy);
  }
  if (!hello.start.empty() && !own.start.empty() && hello.start != own.start) {
    return of_another_job(hello, "start \"" + hello.start + "\"",
                          "start \"" + own.start + "\" (" + with_origin(server_name(own), own.origin) + ")");
  }
  if (session.trainer >= 0 || session.shard >= 0) return {};
  const bool trains = session.chief || hello.role == kWorkerRole;
  if (!trains) return failed_precondition("a " + hello.role + " has no business with a parameter server");
  return failed_precondition("there is no " + name_of(hello));
}

bool is_of_another_run(const Session& session, const ServerState& state) {
  const std::string &run = session.hello.run, &held = state.run().id;
  return !session.chief && !run.empty() && !held.empty() && run != held;
}

Result<void> check_model(const Session& session, const ServerState& state, const TaskIdentity& own) {
  if (is_of_another_run(session, state)) {
    return of_another_job(session.hello, "run " + session.hello.run,
                          "run " + state.run().id + ", which its chief has brought");
  }
  if (session.chief || state.phase() != Phase::kReady || session.hello.fingerprint == state.fingerprint()) return {};
  const std::string whose = name_of(session.hello);
  const std::string how = variables_difference(session.hello.variables, whose, state.spec(), server_name(own));
  if (!how.empty()) return differs("model", how);
  const std::string what = meaning_text_difference(session.hello.meaning, whose, state.meaning(), "the chief");
  if (!what.empty()) return differs("model", what);
  return differs("model", whose + " has the chief's variables, as far as " + server_name(own) +
                              " holds them, but another graph (layers, loss, update rules or numbers in them)");
}

}  // namespace shoal::cluster
