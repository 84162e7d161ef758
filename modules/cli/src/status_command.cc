// SPDX-License-Identifier: Apache-2.0
// Implements `shoal status [ADDRESS] [--live | --ready]`.
#include <algorithm>
#include <chrono>

#include "command.h"
#include "json_out.h"
#include "shoal/arguments/command.h"
#include "shoal/base/number_text.h"
#include "shoal/cluster/task_status.h"
#include "shoal/cluster/tf_config.h"
#include "task_link.h"

namespace shoal::cli {
namespace {

using cluster::PeerStatus;
using cluster::TaskConfig;
using cluster::TaskStatus;

constexpr const char* kStatusAbout =
    "Asks a running task for its state: a parameter server at its address, or rank 0 at the rendezvous of its job. Without "
    "an address: asks about the task that the variables of this environment describe";

constexpr const char* kStatusMore = R"(
Examples:
  shoal status 127.0.0.1:23456            role, phase, step and peers, as one object of JSON
  shoal status node1:4000 --ready         ends with 0 once the server is ready for trainers
  shoal status --live                     in a container: whether the task that runs there is alive

An address is host:port, as in TF_CONFIG. The command tries tcp first, and then the shared memory of this machine
(--transport shm); an address with tcp:// or shm:// in front is tried in that way only.

input_wait is the share of its last ten seconds that a trainer waited for its input. If it is near 1, the job needs a faster
input; `shoal data bench` shows the slowest stage of the input.

The question does not disturb the job: the asking command takes no part in it, and no task waits for the command. As any
peer it needs the job's token or a certificate (SHOAL_TOKEN, --token-file, --tls-dir) if the tasks have one.

Only parameter servers and rank 0 of a rendezvous can be asked. They also know whether a worker, an evaluator, or a chief
with TF_CONFIG is connected: without an address, this command finds out which of them to ask. With --live its status is then
0 even if they do not answer, since nothing is known against the task.)";

struct StatusArguments {
  std::string address;
  bool live = false, ready = false;
  double timeout_secs = 3;
  LinkArguments link{};
};

constexpr const char *kTcp = "tcp", *kShm = "shm";

/// The endpoints to ask, and the task to ask about.
struct Question {
  /// Endpoints are asked in this order until one answers that belongs to `run`. An endpoint without a scheme is tried over
  /// tcp, and then over shared memory if no task answers.
  std::vector<transport::Endpoint> endpoints;
  std::string task;    ///< The name of the task, "worker 1"; empty: the task that answers.
  std::string run;     ///< Only a rendezvous of this run (SHOAL_RUN) may answer; empty: of any run.
  bool itself = true;  ///< True: asks a task about itself; false: asks it about another task.
};

struct Answer {
  transport::Endpoint from;
  TaskStatus status;
  std::optional<transport::Endpoint> server;  ///< The parameter server whose address a rendezvous gave.
  std::optional<TaskStatus> of_server;        ///< The server's answer.
  std::string unheard;                        ///< The reason why the server did not answer.
};

Result<transport::Endpoint> endpoint_of(const std::string& address) {
  if (address.find("://") != std::string::npos) return transport::parse_endpoint(address);
  if (auto parsed = cluster::parse_host_port(address); !parsed) return std::move(parsed).error();
  return transport::Endpoint{"", address};
}

/// Returns the question about the task that the environment variables of this process describe.
Result<Question> question_of_own_task() {
  SHOAL_TRY(const TaskConfig task, cluster::task_from_environment(cluster::process_getenv));
  if (task.mode == cluster::TaskMode::kLocal) {
    return invalid_argument(
        "which task? Give the address of a parameter server or of a rendezvous, as in shoal status 127.0.0.1:23456; the "
        "variables of this environment describe no job");
  }
  Question question{.endpoints = {}, .task = task.name(), .run = {}, .itself = false};
  if (task.place) {
    SHOAL_TRY_VOID(check_rendezvous(*task.place));
    question.run = task.place->run;
    question.itself = task.place->rank == 0;
    for (const std::string& address : task.place->rendezvous) question.endpoints.push_back({"", address});
    return question;
  }
  if (task.type == cluster::kPsRole) {
    question.endpoints = {{"", task.rpc_address}};
    question.itself = true;
    return question;
  }
  const auto servers = task.job.nodes(cluster::kPsRole);
  if (task.mode == cluster::TaskMode::kEvaluator || servers.empty()) {
    return invalid_argument(
        "TF_CONFIG says that this is " + task.name() +
        ", to which no other task has a connection, so no task can be asked about it; look whether its process runs");
  }
  question.endpoints = {{"", servers.front().address}};
  return question;
}

Result<Question> question_from(const StatusArguments& arguments) {
  if (arguments.address.empty()) return question_of_own_task();
  Question question;
  SHOAL_TRY(question.endpoints.emplace_back(), endpoint_of(arguments.address));
  return question;
}

const PeerStatus* peer_named(const TaskStatus& status, const std::string& task) {
  const auto found = std::ranges::find(status.peers, task, &PeerStatus::task);
  return found == status.peers.end() ? nullptr : &*found;
}

bool is_server(const TaskStatus& status) { return status.role == cluster::kPsRole; }

struct Heard {
  transport::Endpoint from;
  TaskStatus status;
};

/// Asks one endpoint. An endpoint without a scheme (TF_CONFIG and the like have only host:port) is asked over tcp and then
/// over shared memory. If no task answers, returns the error of tcp.
Task<Result<Heard>> ask_at(Environment& env, transport::Endpoint at, transport::LinkOptions link, Deadline deadline) {
  const bool any = at.scheme.empty();
  if (any) at.scheme = kTcp;
  auto asking = cluster::ask_status(env, at, link, deadline);
  Result<TaskStatus> status = co_await std::move(asking);
  if (status) co_return Heard{.from = at, .status = std::move(*status)};
  Error by_tcp = std::move(status).error();
  if (!any || by_tcp.kind() != ErrorKind::kUnavailable || !env.transport(kShm)) co_return by_tcp;
  at.scheme = kShm;
  auto asking_in_memory = cluster::ask_status(env, at, std::move(link), deadline);
  Result<TaskStatus> in_memory = co_await std::move(asking_in_memory);
  if (in_memory) co_return Heard{.from = at, .status = std::move(*in_memory)};
  const ErrorKind kind = in_memory.error().kind();
  const bool somebody = kind == ErrorKind::kDeadlineExceeded || kind == ErrorKind::kDataLoss;
  if (somebody) co_return std::move(in_memory).error();
  co_return by_tcp;
}

Task<Result<Answer>> ask_first(Environment& env, Question question, transport::LinkOptions link, Deadline deadline) {
  Error last = unavailable("no task was asked");
  for (const transport::Endpoint& endpoint : question.endpoints) {
    auto asking = ask_at(env, endpoint, link, deadline);
    Result<Heard> heard = co_await std::move(asking);
    if (!heard) {
      last = std::move(heard).error();
    } else if (!question.run.empty() && !is_server(heard->status) && heard->status.run != question.run) {
      last = unavailable(to_string(heard->from) + ": is the rendezvous of another job, \"" + heard->status.run + "\"");
    } else {
      co_return Answer{
          .from = heard->from, .status = std::move(heard->status), .server = {}, .of_server = {}, .unheard = {}};
    }
  }
  co_return last;
}

/// Asks the endpoints of `question`. A rendezvous, where the tasks of a job find each other, may answer. It knows the
/// addresses of the tasks, but not the global step, so a parameter server is then asked for the step: the server
/// that the question is about, or ps 0 if it is about another task.
Task<Result<Answer>> ask(Environment& env, Question question, transport::LinkOptions link, Deadline deadline) {
  const std::string task = question.task;
  auto asking = ask_first(env, std::move(question), link, deadline);
  SHOAL_CO_TRY(Answer answer, co_await std::move(asking));
  if (is_server(answer.status) || answer.status.phase != "met") co_return answer;
  const std::string server = task.starts_with(cluster::kPsRole) ? task : std::string(cluster::kPsRole) + " 0";
  const PeerStatus* const peer = peer_named(answer.status, server);
  if (!peer || peer->address.empty()) co_return answer;
  answer.server = transport::Endpoint{kTcp, peer->address};
  auto asking_server = ask_at(env, {"", peer->address}, std::move(link), deadline);
  Result<Heard> said = co_await std::move(asking_server);
  if (said) {
    answer.server = said->from;
    answer.of_server = std::move(said->status);
  } else {
    answer.unheard = said.error().message();
  }
  co_return answer;
}

Json to_json(const Question& question, const Answer& answer, bool ready) {
  const TaskStatus& status = answer.status;
  const TaskStatus& of_job = answer.of_server ? *answer.of_server : status;
  Json peers = Json::array();
  int64_t connected = 0;
  for (const PeerStatus& peer : status.peers) {
    connected += peer.connected ? 1 : 0;
    Json entry{{"task", peer.task}, {"connected", peer.connected}};
    if (peer.done) entry["done"] = true;
    if (!peer.address.empty()) entry["address"] = peer.address;
    if (peer.input_wait) entry["input_wait"] = *peer.input_wait;
    peers.push_back(std::move(entry));
  }
  Json object{{"address", answer.from.address},
              {"role", status.role},
              {"index", status.index},
              {"phase", of_job.phase},
              {"global_step", of_job.global_step ? Json(*of_job.global_step) : Json(nullptr)},
              {"ready", ready},
              {"peers_connected", connected},
              {"peers", std::move(peers)}};
  if (!question.task.empty()) object["task"] = question.task;
  if (answer.server) object["server"] = answer.server->address;
  return object;
}

/// The reason to think that the task is not alive; empty: there is none.
std::string not_alive(const Question& question, const Answer& answer) {
  if (question.task.empty()) return {};
  const TaskStatus& status = answer.status;
  if (is_server(status) && question.task == "ps " + std::to_string(status.index)) return {};
  const PeerStatus* const peer = peer_named(status, question.task);
  if (!peer) return to_string(answer.from) + ": knows no " + question.task + "; the tasks are not of one job";
  if (!peer->connected) return question.task + " has no connection to " + to_string(answer.from);
  if (question.task.starts_with(cluster::kPsRole) && answer.server && !answer.of_server) {
    return question.task + " does not answer: " + answer.unheard;
  }
  return {};
}

/// The reason why the task that was asked is not ready for trainers; empty: it is ready. The answer does not depend on other
/// servers, or on trainers.
std::string not_ready(const Question& question, const Answer& answer) {
  if (std::string dead = not_alive(question, answer); !dead.empty()) return dead;
  const TaskStatus& status = answer.status;
  if (!is_server(status) && status.phase != "met") {
    const auto absent = std::ranges::find(status.peers, false, &PeerStatus::connected);
    return to_string(answer.from) + ": the tasks are still meeting" +
           (absent == status.peers.end() ? "" : "; " + absent->task + " is not there");
  }
  if (answer.server && !answer.of_server) return "its parameter server does not answer: " + answer.unheard;
  const TaskStatus& of_job = answer.of_server ? *answer.of_server : status;
  if (!is_server(of_job) || of_job.phase == "ready") return {};
  return "ps " + std::to_string(of_job.index) + " at " + to_string(answer.server.value_or(answer.from)) +
         ": its phase is " + of_job.phase + ", and not ready";
}

Result<int> print_status(Context& context, const StatusArguments& arguments) {
  SHOAL_TRY(const Question question, question_from(arguments));
  SHOAL_TRY(transport::LinkOptions link, link_from(arguments.link));
  const std::unique_ptr<Environment> env = quiet_environment();
  const Deadline deadline = env->after(seconds_to_duration(arguments.timeout_secs));
  const Result<Answer> answer = env->run(ask(*env, question, std::move(link), deadline));
  if (!answer) {
    const ErrorKind kind = answer.error().kind();
    const bool unheard =
        kind == ErrorKind::kUnavailable || kind == ErrorKind::kDeadlineExceeded || kind == ErrorKind::kNotFound;
    if (!arguments.live || question.itself || !unheard) return answer.error();
    context.complain(answer.error().message() + "; nothing is known against " + question.task);
    return 0;
  }
  const std::string unready = not_ready(question, *answer);
  print(context, to_json(question, *answer, unready.empty()));
  const std::string problem = arguments.ready ? unready : not_alive(question, *answer);
  if (problem.empty()) return 0;
  context.complain(problem);
  return exit_status(ErrorKind::kUnavailable);
}

}  // namespace

void add_status_command(arguments::Command& app, Action& selected) {
  arguments::Command& status = app.add_command("status", kStatusAbout);
  status.set_footer(kStatusMore);
  const auto arguments = std::make_shared<StatusArguments>();
  status.add("ADDRESS", arguments->address, "The task's host:port").type("");
  status.add_switch("--live", arguments->live, "As a liveness probe: status 0 unless the task is gone");
  status
      .add_switch(
          "--ready", arguments->ready,
          "As a readiness probe: status 0 if it is alive, and the server asked has a model and is ready for trainers")
      .excludes("--live");
  status.add("--timeout-secs", arguments->timeout_secs, "Seconds within which the task has to answer")
      .check(arguments::in_range(0.001, 3600.0))
      .shows_default();
  add_link_options(status, arguments->link);
  status.on_selected(
      [&selected, arguments] { selected = [arguments](Context& context) { return print_status(context, *arguments); }; });
}

}  // namespace shoal::cli
