// SPDX-License-Identifier: Apache-2.0
#include "shoal/cluster/task_status.h"

#include "job/resolvers/variables.h"
#include "shoal/json/fields.h"

namespace shoal::cluster {
namespace {

using Json = json::Json;

constexpr size_t kStatusWordBytesMax = 100;  // The longest name of a role, task or phase.
constexpr size_t kStatusTextBytesMax = 1000;
constexpr uint64_t kStatusBytesMax = uint64_t(kRanksMax) * 1024;

Result<std::string> status_text(const Json& message, std::string_view name, size_t bytes_max) {
  SHOAL_TRY(std::string text, json::string_member(message, name));
  if (text.size() > bytes_max) {
    return data_loss("\"" + std::string(name) + "\" is longer than " + std::to_string(bytes_max) + " bytes");
  }
  return text;
}

Result<PeerStatus> peer_of(const Json& message) {
  PeerStatus peer;
  SHOAL_TRY(peer.task, status_text(message, "task", kStatusWordBytesMax));
  SHOAL_TRY(peer.connected, json::bool_member(message, "connected"));
  SHOAL_TRY(peer.done, json::bool_member(message, "done"));
  SHOAL_TRY(peer.address, status_text(message, "address", kStatusTextBytesMax));
  SHOAL_TRY(const Json* input_wait, json::member(message, "input_wait"));
  if (!input_wait->is_null()) {
    SHOAL_TRY(peer.input_wait, json::number_member(message, "input_wait"));
    if (!(*peer.input_wait >= 0 && *peer.input_wait <= 1)) return data_loss("\"input_wait\" is no share from 0 to 1");
  }
  return peer;
}

Result<TaskStatus> status_of(const Json& message) {
  TaskStatus status;
  SHOAL_TRY(status.role, status_text(message, "role", kStatusWordBytesMax));
  SHOAL_TRY(status.index, json::whole_member<int32_t>(message, "index", 0));
  SHOAL_TRY(status.phase, status_text(message, "phase", kStatusWordBytesMax));
  SHOAL_TRY(const Json* step, json::member(message, "global_step"));
  if (!step->is_null()) {
    SHOAL_TRY(status.global_step, json::whole_of<uint64_t>(*step, "global_step"));
  }
  SHOAL_TRY(status.run, status_text(message, "run", kStatusTextBytesMax));
  SHOAL_TRY(const Json* peers, json::list_member(message, "peers"));
  for (const Json& item : *peers) {
    SHOAL_TRY(status.peers.emplace_back(), peer_of(item));
  }
  return status;
}

Result<TaskStatus> read_answer(const transport::Message& answer) {
  if (answer.head.kind == transport::MessageKind::kError) return transport::read_error(answer);
  SHOAL_TRY(const transport::Control word, transport::read_control(answer));
  if (word.verb != kStatusVerb) return data_loss("answers with \"" + std::string(word.verb.substr(0, 32)) + "\"");
  return parse_task_status(word.text);
}

/// Adds the peer's address to an error that does not name it.
Error of_peer(Error error, const transport::Endpoint& at) {
  if (error.message().find(at.address) != std::string::npos) return error;
  return std::move(error).with_context(to_string(at));
}

}  // namespace

std::string to_json(const TaskStatus& status) {
  Json peers = Json::array();
  for (const PeerStatus& peer : status.peers) {
    peers.push_back({{"task", peer.task},
                     {"connected", peer.connected},
                     {"done", peer.done},
                     {"address", peer.address},
                     {"input_wait", peer.input_wait ? Json(*peer.input_wait) : Json(nullptr)}});
  }
  const Json message{
      {"role", status.role},   {"index", status.index},
      {"phase", status.phase}, {"global_step", status.global_step ? Json(*status.global_step) : Json(nullptr)},
      {"run", status.run},     {"peers", std::move(peers)}};
  return json::text_of(message);
}

Result<TaskStatus> parse_task_status(std::string_view json) {
  Result<Json> message = json::parse_object(json);
  if (!message) return std::move(message).error().with_context("status");
  Result<TaskStatus> status = status_of(*message);
  if (!status) return std::move(status).error().with_context("status");
  return status;
}

bool asks_status(const transport::Message& first) {
  if (first.head.kind != transport::MessageKind::kControl) return false;
  const Result<transport::Control> word = transport::read_control(first);
  return word && word->verb == kStatusVerb;
}

Task<Result<TaskStatus>> ask_status(Environment& env, transport::Endpoint at, transport::LinkOptions link,
                                    Deadline deadline) {
  link.receive_bytes_max = kStatusBytesMax;
  SHOAL_CO_TRY(transport::Transport * transport, env.transport(at.scheme));
  auto connecting = transport->connect(at, std::move(link), deadline);
  Result<std::unique_ptr<transport::Connection>> connection = co_await std::move(connecting);
  if (!connection) co_return of_peer(std::move(connection).error(), at);
  transport::Message question = transport::make_control(env.buffers(), kStatusVerb);
  question.head.sequence = 1;
  Result<void> sent = co_await (*connection)->send(std::move(question), deadline);
  if (!sent) co_return of_peer(std::move(sent).error(), at);
  Result<transport::Message> answer = co_await (*connection)->receive(deadline);
  if (!answer) co_return of_peer(std::move(answer).error(), at);
  Result<TaskStatus> status = read_answer(*answer);
  (*connection)->close(Error(ErrorKind::kCancelled, "the question is answered"));
  if (!status) co_return of_peer(std::move(status).error(), at);
  co_return status;
}

}  // namespace shoal::cluster
