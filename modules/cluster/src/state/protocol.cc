// SPDX-License-Identifier: Apache-2.0
#include "shoal/cluster/protocol.h"

#include <algorithm>
#include <functional>

#include "shoal/base/number_text.h"
#include "shoal/cluster/compression.h"
#include "shoal/cluster/identity.h"
#include "shoal/json/fields.h"

namespace shoal::cluster {
namespace {

using Json = json::Json;

constexpr size_t kPositionBytesMax = size_t(64) << 10;
constexpr size_t kReasonBytesMax = 8192;  // The longest sentence of an error.

/// Parses JSON and passes it to `read`; errors name the message `what`.
template <class T, class Read>
Result<T> parse_as(std::string_view what, std::string_view text, Read&& read) {
  const std::string context = "control message " + std::string(what);
  const Result<Json> message = json::parse_value(text);
  if (!message) return message.error().with_context(context);
  Result<T> parsed = read(*message);
  if (!parsed) return std::move(parsed).error().with_context(context);
  return parsed;
}

/// The message as JSON text. Bytes that are not UTF-8, such as those of a name in an error, are replaced: no receiver needs
/// them.
std::string text_of(const Json& message) { return json::text_of(message); }

Json positions_json(const std::map<int, std::string>& positions) {
  // An input position is a string of arbitrary bytes, which JSON text cannot carry: each becomes an array of numbers.
  Json out = Json::array();
  for (const auto& [trainer, position] : positions) {
    out.push_back({trainer, std::vector<uint8_t>(position.begin(), position.end())});
  }
  return out;
}

Result<std::string> bytes_of(const Json& list, std::string_view name) {
  SHOAL_TRY_VOID(json::list_of(list, name));
  if (list.size() > kPositionBytesMax) return data_loss("an input position has more than 64 KiB");
  std::string bytes;
  bytes.reserve(list.size());
  for (const Json& item : list) {
    SHOAL_TRY(const uint8_t byte, json::whole_of<uint8_t>(item, name));
    bytes.push_back(char(byte));
  }
  return bytes;
}

/// Returns element `index` of `list`; errors call the list `name`.
template <class T>
Result<T> whole_element(const Json& list, size_t index, std::string_view name) {
  SHOAL_TRY(const Json* number, json::element(list, index, name));
  return json::whole_of<T>(*number, name);
}

Result<std::map<int, std::string>> positions_of(const Json& message) {
  SHOAL_TRY(const Json* list, json::list_member(message, "positions"));
  std::map<int, std::string> positions;
  for (const Json& entry : *list) {
    SHOAL_TRY(const int trainer, whole_element<int>(entry, 0, "positions"));
    SHOAL_TRY(const Json* bytes, json::element(entry, 1, "positions"));
    SHOAL_TRY(positions[trainer], bytes_of(*bytes, "positions"));
  }
  return positions;
}

Result<std::set<int>> ended_of(const Json& message) {
  SHOAL_TRY(const Json* list, json::list_member(message, "ended"));
  std::set<int> ended;
  for (const Json& item : *list) {
    SHOAL_TRY(const int trainer, json::whole_of<int>(item, "ended", 0));
    if (trainer >= kTrainersMax) return data_loss("trainer " + std::to_string(trainer) + " cannot be");
    ended.insert(trainer);
  }
  return ended;
}

Json counters_json(const ShardCounters& counters) { return {counters.version, counters.update_count}; }
Result<ShardCounters> counters_of(const Json& message) {
  SHOAL_TRY(const Json* list, json::member(message, "counters"));
  ShardCounters counters;
  SHOAL_TRY(counters.version, whole_element<uint64_t>(*list, 0, "counters"));
  SHOAL_TRY(counters.update_count, whole_element<uint64_t>(*list, 1, "counters"));
  return counters;
}

Result<Phase> phase_of(const Json& message) {
  SHOAL_TRY(const int value, json::whole_member<int>(message, "phase", 0));
  if (value > int(Phase::kFinished)) return data_loss("unknown phase " + std::to_string(value));
  return Phase(value);
}

Json trainer_json(const TrainerStatus& trainer) {
  const PushCounts& pushes = trainer.pushes;
  return {{"index", trainer.index},
          {"connected", trainer.connected},
          {"done", trainer.done},
          {"ended", trainer.ended},
          {"applied", pushes.applied},
          {"dropped", pushes.dropped},
          {"staleness", pushes.staleness},
          {"staleness_max", pushes.staleness_max},
          {"losses", pushes.losses},
          {"loss", pushes.loss},
          {"waited_secs", pushes.waited_secs}};
}
Result<TrainerStatus> trainer_of(const Json& message) {
  TrainerStatus trainer;
  SHOAL_TRY(trainer.index, json::whole_member<int>(message, "index", 0));
  SHOAL_TRY(trainer.connected, json::bool_member(message, "connected"));
  SHOAL_TRY(trainer.done, json::bool_member(message, "done"));
  SHOAL_TRY(trainer.ended, json::bool_member(message, "ended"));
  PushCounts& pushes = trainer.pushes;
  SHOAL_TRY(pushes.applied, json::whole_member<uint64_t>(message, "applied"));
  SHOAL_TRY(pushes.dropped, json::whole_member<uint64_t>(message, "dropped"));
  SHOAL_TRY(pushes.staleness, json::whole_member<uint64_t>(message, "staleness"));
  SHOAL_TRY(pushes.staleness_max, json::whole_member<uint64_t>(message, "staleness_max"));
  SHOAL_TRY(pushes.losses, json::whole_member<uint64_t>(message, "losses"));
  SHOAL_TRY(pushes.loss, json::number_member(message, "loss"));
  SHOAL_TRY(pushes.waited_secs, json::number_member(message, "waited_secs"));
  return trainer;
}

constexpr size_t kRunIdBytesMax = 64;

Json run_json(const RunIdentity& run) { return {{"id", run.id}, {"seed", run.seed}}; }

Result<RunIdentity> run_of(const Json& message) {
  SHOAL_TRY(const Json* object, json::object_member(message, "run"));
  RunIdentity run;
  SHOAL_TRY(run.id, json::string_member(*object, "id"));
  if (run.id.size() > kRunIdBytesMax) return data_loss("the id of the run is too long");
  SHOAL_TRY(run.seed, json::whole_member<int64_t>(*object, "seed"));
  return run;
}

}  // namespace

uint64_t next_epoch(uint64_t newest, uint64_t incarnation) {
  constexpr int kHalf = 32;
  return (((newest >> kHalf) + 1) << kHalf) | (incarnation & ((uint64_t(1) << kHalf) - 1));
}

std::string_view to_string(Phase phase) {
  switch (phase) {
    case Phase::kEmpty: return "empty";
    case Phase::kLoading: return "loading";
    case Phase::kReady: return "ready";
    case Phase::kFinished: return "finished";
  }
  return "unknown";
}

std::string sentence(const JobEnd& end) {
  if (end.failed) return "the job failed: the chief gave up: " + end.reason;
  return "training finished" + (end.reason.empty() ? "" : " (" + end.reason + ")");
}

std::string to_json(const JobEnd& end) {
  return text_of({{"failed", end.failed}, {"reason", end.reason.substr(0, kReasonBytesMax)}});
}

Result<JobEnd> parse_job_end(std::string_view text) {
  return parse_as<JobEnd>("finish", text, [](const Json& message) -> Result<JobEnd> {
    JobEnd end;
    SHOAL_TRY(end.failed, json::bool_member(message, "failed"));
    SHOAL_TRY(end.reason, json::string_member(message, "reason"));
    if (end.reason.size() > kReasonBytesMax) return data_loss("the reason is too long");
    return end;
  });
}

std::string to_json(const JobFailure& failure) {
  return text_of({{"kind", int(failure.kind)},
                  {"sentence", failure.sentence.substr(0, kReasonBytesMax)},
                  {"trainer", failure.trainer}});
}

Result<JobFailure> parse_job_failure(std::string_view text) {
  return parse_as<JobFailure>("failed", text, [](const Json& message) -> Result<JobFailure> {
    JobFailure failure;
    SHOAL_TRY(const int kind, json::whole_member<int>(message, "kind", 0));
    failure.kind = ErrorKind(kind);
    const bool known = kind >= int(ErrorKind::kInvalidArgument) && kind <= int(ErrorKind::kInternal);
    if (!known || !is_permanent(failure.kind)) return data_loss("kind " + std::to_string(kind) + " is no lasting failure");
    SHOAL_TRY(failure.sentence, json::string_member(message, "sentence"));
    if (failure.sentence.size() > kReasonBytesMax) return data_loss("the sentence is too long");
    SHOAL_TRY(failure.trainer, json::whole_member<int>(message, "trainer", -1));
    return failure;
  });
}

std::string to_json(const Welcome& welcome) {
  Json message{{"phase", int(welcome.phase)},
               {"epoch", welcome.epoch},
               {"global_step", welcome.global_step},
               {"position", std::vector<uint8_t>(welcome.position.begin(), welcome.position.end())},
               {"run", run_json(welcome.run)}};
  if (welcome.phase == Phase::kFinished) message["end"] = to_json(welcome.end);
  return text_of(message);
}

Result<Welcome> parse_welcome(std::string_view text) {
  return parse_as<Welcome>("welcome", text, [](const Json& message) -> Result<Welcome> {
    Welcome welcome;
    SHOAL_TRY(welcome.phase, phase_of(message));
    SHOAL_TRY(welcome.epoch, json::whole_member<uint64_t>(message, "epoch"));
    SHOAL_TRY(welcome.global_step, json::whole_member<uint64_t>(message, "global_step"));
    SHOAL_TRY(const Json* position, json::member(message, "position"));
    SHOAL_TRY(welcome.position, bytes_of(*position, "position"));
    SHOAL_TRY(welcome.run, run_of(message));
    if (welcome.phase == Phase::kFinished) {
      SHOAL_TRY(const std::string end, json::string_member(message, "end"));
      SHOAL_TRY(welcome.end, parse_job_end(end));
    }
    return welcome;
  });
}

std::string to_json(const Rest& rest) {
  return text_of({{"newest_push", rest.newest_push},
                  {"input_ended", rest.input_ended},
                  {"stopped_by_job", rest.stopped_by_job},
                  {"waits", rest.waits}});
}

Result<Rest> parse_rest(std::string_view text) {
  return parse_as<Rest>("rest", text, [](const Json& message) -> Result<Rest> {
    Rest rest;
    SHOAL_TRY(rest.newest_push, json::whole_member<uint64_t>(message, "newest_push"));
    SHOAL_TRY(rest.input_ended, json::bool_member(message, "input_ended"));
    SHOAL_TRY(rest.stopped_by_job, json::bool_member(message, "stopped_by_job"));
    SHOAL_TRY(rest.waits, json::bool_member(message, "waits"));
    return rest;
  });
}

std::string to_json(const RestNews& news) {
  return text_of({{"chief_connected", news.chief_connected}, {"at_work", news.at_work}});
}

Result<RestNews> parse_rest_news(std::string_view text) {
  return parse_as<RestNews>("rest", text, [](const Json& message) -> Result<RestNews> {
    RestNews news;
    SHOAL_TRY(news.chief_connected, json::bool_member(message, "chief_connected"));
    SHOAL_TRY(news.at_work, json::string_member(message, "at_work"));
    if (news.at_work.size() > kReasonBytesMax) return data_loss("the list of tasks is too long");
    return news;
  });
}

std::string to_json(const ServerStatus& status) {
  Json trainers = Json::array();
  for (const TrainerStatus& trainer : status.trainers) {
    trainers.push_back(trainer_json(trainer));
  }
  Json message{{"phase", int(status.phase)},
               {"epoch", status.epoch},
               {"global_step", status.global_step},
               {"spec_hash", status.spec_hash},
               {"fingerprint", status.fingerprint},
               {"run", run_json(status.run)},
               {"changes", status.changes},
               {"counters", counters_json(status.counters)},
               {"trainers", trainers}};
  if (status.failure) message["failure"] = to_json(*status.failure);
  return text_of(message);
}

Result<ServerStatus> parse_server_status(std::string_view text) {
  return parse_as<ServerStatus>("status", text, [](const Json& message) -> Result<ServerStatus> {
    ServerStatus status;
    SHOAL_TRY(status.phase, phase_of(message));
    SHOAL_TRY(status.epoch, json::whole_member<uint64_t>(message, "epoch"));
    SHOAL_TRY(status.global_step, json::whole_member<uint64_t>(message, "global_step"));
    SHOAL_TRY(status.spec_hash, json::whole_member<uint64_t>(message, "spec_hash"));
    SHOAL_TRY(status.fingerprint, json::whole_member<uint64_t>(message, "fingerprint"));
    SHOAL_TRY(status.run, run_of(message));
    SHOAL_TRY(status.changes, json::whole_member<uint64_t>(message, "changes"));
    SHOAL_TRY(status.counters, counters_of(message));
    SHOAL_TRY(const Json* trainers, json::list_member(message, "trainers"));
    for (const Json& item : *trainers) {
      SHOAL_TRY(const TrainerStatus trainer, trainer_of(item));
      status.trainers.push_back(trainer);
    }
    if (message.contains("failure")) {
      SHOAL_TRY(const std::string failure, json::string_member(message, "failure"));
      SHOAL_TRY(status.failure, parse_job_failure(failure));
    }
    return status;
  });
}

std::string to_json(const Prepare& prepare) {
  return text_of({{"epoch", prepare.epoch},
                  {"fingerprint", prepare.fingerprint},
                  {"spec", to_json(prepare.spec)},
                  {"gradients", to_string(Compression{.gradients = prepare.gradients})},
                  {"meaning", prepare.meaning},
                  {"run", run_json(prepare.run)},
                  {"allow_non_finite", prepare.allow_non_finite}});
}

Result<Prepare> parse_prepare(std::string_view text) {
  return parse_as<Prepare>("prepare", text, [](const Json& message) -> Result<Prepare> {
    Prepare prepare;
    SHOAL_TRY(prepare.epoch, json::whole_member<uint64_t>(message, "epoch"));
    SHOAL_TRY(prepare.fingerprint, json::whole_member<uint64_t>(message, "fingerprint"));
    SHOAL_TRY(const std::string spec, json::string_member(message, "spec"));
    SHOAL_TRY(prepare.spec, parse_shard_spec(spec));
    SHOAL_TRY(const std::string gradients, json::string_member(message, "gradients"));
    SHOAL_TRY(const Compression compression, parse_compression(gradients));
    prepare.gradients = compression.gradients;
    SHOAL_TRY(prepare.meaning, json::string_member(message, "meaning"));
    if (prepare.meaning.size() > kIdentityBytesMax) return data_loss("the meaning of the model is too long");
    SHOAL_TRY(prepare.run, run_of(message));
    SHOAL_TRY(prepare.allow_non_finite, json::bool_member(message, "allow_non_finite"));
    return prepare;
  });
}

std::string to_json(const StateText& state) {
  return text_of({{"epoch", state.epoch},
                  {"global_step", state.global_step},
                  {"counters", counters_json(state.counters)},
                  {"positions", positions_json(state.positions)},
                  {"ended", state.ended}});
}

Result<StateText> parse_state(std::string_view text) {
  return parse_as<StateText>("state", text, [](const Json& message) -> Result<StateText> {
    StateText state;
    SHOAL_TRY(state.epoch, json::whole_member<uint64_t>(message, "epoch"));
    SHOAL_TRY(state.global_step, json::whole_member<uint64_t>(message, "global_step"));
    SHOAL_TRY(state.counters, counters_of(message));
    SHOAL_TRY(state.positions, positions_of(message));
    SHOAL_TRY(state.ended, ended_of(message));
    return state;
  });
}

std::string to_json(const HoldRequest& request) {
  return text_of({{"residuals", request.residuals}, {"version", request.version}});
}
Result<HoldRequest> parse_hold_request(std::string_view text) {
  return parse_as<HoldRequest>("hold", text, [](const Json& message) -> Result<HoldRequest> {
    HoldRequest request;
    SHOAL_TRY(request.residuals, json::bool_member(message, "residuals"));
    SHOAL_TRY(request.version, json::whole_member<uint64_t>(message, "version"));
    return request;
  });
}

std::string to_json(const ReadRange& range) {
  return text_of({{"arena", range.arena}, {"offset", range.offset}, {"bytes", range.bytes}});
}

Result<ReadRange> parse_read_range(std::string_view text) {
  return parse_as<ReadRange>("read", text, [](const Json& message) -> Result<ReadRange> {
    ReadRange range;
    SHOAL_TRY(range.arena, json::whole_member<ArenaIndex>(message, "arena"));
    SHOAL_TRY(range.offset, json::whole_member<uint64_t>(message, "offset"));
    SHOAL_TRY(range.bytes, json::whole_member<uint64_t>(message, "bytes"));
    return range;
  });
}

std::string to_json(const std::vector<int>& trainers) { return text_of(Json(trainers)); }

Result<std::vector<int>> parse_trainers(std::string_view text) {
  return parse_as<std::vector<int>>("residuals", text, [](const Json& message) -> Result<std::vector<int>> {
    SHOAL_TRY_VOID(json::list_of(message, "residuals"));
    std::vector<int> trainers;
    for (const Json& item : message) {
      SHOAL_TRY(const int trainer, json::whole_of<int>(item, "residuals"));
      trainers.push_back(trainer);
    }
    const bool ascend = std::ranges::adjacent_find(trainers, std::greater_equal()) == trainers.end();
    if (!ascend || (!trainers.empty() && (trainers.front() < 0 || trainers.back() >= kTrainersMax)))
      return data_loss("these are no trainers");
    return trainers;
  });
}

uint64_t spec_hash(const ShardSpec& spec) {
  // Leaves out the random keys of initializers: they do not change which variables a server holds, and if the user gave no
  // seed, each chief that starts has other keys.
  ShardSpec comparable = spec;
  for (Segment& segment : comparable.segments) segment.variable.key = 0;
  return fold_in(1, to_json(comparable));
}

std::string arena_name(ArenaIndex arena) {
  if (const int trainer = residual_trainer(arena); trainer >= 0) return "residual/" + std::to_string(trainer);
  return arena == 0 ? "weights" : "slot/" + std::to_string(arena - 1);
}

Result<ArenaIndex> parse_arena_name(std::string_view name) {
  if (name == "weights") return ArenaIndex(0);
  const auto number_behind = [name](std::string_view prefix) {
    return name.starts_with(prefix) ? number_from<int>(name.substr(prefix.size())).value_or(-1) : -1;
  };
  const int slot = number_behind("slot/"), trainer = number_behind("residual/");
  ArenaIndex arena = -1;
  if (slot >= 0 && slot < kSlotArenasMax) arena = 1 + slot;
  if (trainer >= 0 && trainer < kTrainersMax) arena = residual_arena(trainer);
  if (arena < 0 || arena_name(arena) != name) return invalid_argument("unknown arena " + std::string(name.substr(0, 64)));
  return arena;
}

}  // namespace shoal::cluster
