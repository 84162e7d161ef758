#include "shoal/cluster/protocol.h"

#include <algorithm>
#include <functional>

#include "shoal/base/number_text.h"
#include "state/json_number.h"

namespace shoal::cluster {
namespace {

using Json = nlohmann::json;

constexpr size_t kPositionBytesMax = size_t(64) << 10;
constexpr size_t kReasonBytesMax = 8192;  // an error's sentence

/// Runs a reader over parsed JSON; anything missing or mistyped is one sentence.
template <class T, class Read>
Result<T> parse_as(std::string_view what, std::string_view text, Read&& read) {
  try {
    const Json json = Json::parse(text);
    return read(json);
  } catch (const Json::exception& e) {
    return data_loss("control message " + std::string(what) + ": " + e.what());
  } catch (const Exception& e) {  // of whole_number()
    return data_loss("control message " + std::string(what) + ": " + e.what());
  }
}

/// Bytes that are no UTF-8 (a variable may be called anything) are replaced: what the text is for does not need them.
std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json positions_json(const std::map<int, std::string>& positions) {
  // Positions are bytes: JSON text cannot carry them, so they go as arrays of numbers.
  Json out = Json::array();
  for (const auto& [trainer, position] : positions) {
    out.push_back({trainer, std::vector<uint8_t>(position.begin(), position.end())});
  }
  return out;
}

std::string bytes_from(const Json& json) {
  if (!json.is_array()) raise(invalid_argument("expected an array of bytes"));
  if (json.size() > kPositionBytesMax) raise(invalid_argument("an input position has more than 64 KiB"));
  std::string bytes;
  bytes.reserve(json.size());
  for (const Json& byte : json) bytes.push_back(char(whole_number<uint8_t>(byte)));
  return bytes;
}

std::map<int, std::string> positions_from(const Json& json) {
  std::map<int, std::string> positions;
  for (const Json& entry : json) positions[whole_number<int>(entry.at(0))] = bytes_from(entry.at(1));
  return positions;
}

Json counters_json(const ShardCounters& counters) { return {counters.version, counters.update_count}; }
ShardCounters counters_from(const Json& json) {
  return {whole_number<uint64_t>(json.at(0)), whole_number<uint64_t>(json.at(1))};
}

Phase phase_from(const Json& json) {
  const int value = whole_number<int>(json);
  if (value < 0 || value > int(Phase::kFinished)) raise(invalid_argument("unknown phase " + std::to_string(value)));
  return Phase(value);
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
  return parse_as<JobEnd>("finish", text, [](const Json& json) -> Result<JobEnd> {
    JobEnd end{json.at("failed").get<bool>(), json.at("reason").get<std::string>()};
    if (end.reason.size() > kReasonBytesMax) return data_loss("control message finish: the reason is too long");
    return end;
  });
}

std::string to_json(const Welcome& welcome) {
  Json json{{"phase", int(welcome.phase)},
            {"epoch", welcome.epoch},
            {"global_step", welcome.global_step},
            {"position", std::vector<uint8_t>(welcome.position.begin(), welcome.position.end())}};
  if (welcome.phase == Phase::kFinished) json["end"] = to_json(welcome.end);
  return text_of(json);
}

Result<Welcome> parse_welcome(std::string_view text) {
  return parse_as<Welcome>("welcome", text, [](const Json& json) -> Result<Welcome> {
    Welcome welcome{phase_from(json.at("phase")), whole_number<uint64_t>(json, "epoch"),
                    whole_number<uint64_t>(json, "global_step"), bytes_from(json.at("position"))};
    if (welcome.phase == Phase::kFinished) {
      SHOAL_TRY(welcome.end, parse_job_end(json.at("end").get<std::string>()));
    }
    return welcome;
  });
}

std::string to_json(const ServerStatus& status) {
  Json trainers = Json::array();
  for (const TrainerStatus& trainer : status.trainers) {
    trainers.push_back({trainer.index, trainer.connected, trainer.done, trainer.pushes});
  }
  return text_of({{"phase", int(status.phase)},
                  {"epoch", status.epoch},
                  {"global_step", status.global_step},
                  {"spec_hash", status.spec_hash},
                  {"fingerprint", status.fingerprint},
                  {"counters", counters_json(status.counters)},
                  {"trainers", trainers}});
}

Result<ServerStatus> parse_server_status(std::string_view text) {
  return parse_as<ServerStatus>("status", text, [](const Json& json) -> Result<ServerStatus> {
    ServerStatus status{.phase = phase_from(json.at("phase")),
                        .epoch = whole_number<uint64_t>(json, "epoch"),
                        .global_step = whole_number<uint64_t>(json, "global_step"),
                        .spec_hash = whole_number<uint64_t>(json, "spec_hash"),
                        .fingerprint = whole_number<uint64_t>(json, "fingerprint"),
                        .counters = counters_from(json.at("counters")),
                        .trainers = {}};
    for (const Json& trainer : json.at("trainers")) {
      status.trainers.push_back({whole_number<int>(trainer.at(0)), trainer.at(1).get<bool>(), trainer.at(2).get<bool>(),
                                 whole_number<uint64_t>(trainer.at(3))});
    }
    return status;
  });
}

std::string to_json(const Prepare& prepare) {
  return text_of({{"epoch", prepare.epoch}, {"fingerprint", prepare.fingerprint}, {"spec", to_json(prepare.spec)}});
}

Result<Prepare> parse_prepare(std::string_view text) {
  return parse_as<Prepare>("prepare", text, [](const Json& json) -> Result<Prepare> {
    SHOAL_TRY(ShardSpec spec, parse_shard_spec(json.at("spec").get<std::string>()));
    return Prepare{whole_number<uint64_t>(json, "epoch"), whole_number<uint64_t>(json, "fingerprint"), std::move(spec)};
  });
}

std::string to_json(const StateText& state) {
  return text_of({{"epoch", state.epoch},
                  {"global_step", state.global_step},
                  {"counters", counters_json(state.counters)},
                  {"positions", positions_json(state.positions)}});
}

Result<StateText> parse_state(std::string_view text) {
  return parse_as<StateText>("state", text, [](const Json& json) -> Result<StateText> {
    return StateText{whole_number<uint64_t>(json, "epoch"), whole_number<uint64_t>(json, "global_step"),
                     counters_from(json.at("counters")), positions_from(json.at("positions"))};
  });
}

std::string to_json(const ReadRange& range) {
  return text_of({{"arena", range.arena}, {"offset", range.offset}, {"bytes", range.bytes}});
}

Result<ReadRange> parse_read_range(std::string_view text) {
  return parse_as<ReadRange>("read", text, [](const Json& json) -> Result<ReadRange> {
    return ReadRange{whole_number<ArenaIndex>(json, "arena"), whole_number<uint64_t>(json, "offset"),
                     whole_number<uint64_t>(json, "bytes")};
  });
}

std::string to_json(const std::vector<int>& trainers) { return text_of(Json(trainers)); }

Result<std::vector<int>> parse_trainers(std::string_view text) {
  return parse_as<std::vector<int>>("residuals", text, [](const Json& json) -> Result<std::vector<int>> {
    std::vector<int> trainers;
    for (const Json& trainer : json) trainers.push_back(whole_number<int>(trainer));
    const bool ascend = json.is_array() && std::ranges::adjacent_find(trainers, std::greater_equal()) == trainers.end();
    if (!ascend || (!trainers.empty() && (trainers.front() < 0 || trainers.back() >= kTrainersMax)))
      return data_loss("control message residuals: these are no trainers");
    return trainers;
  });
}

uint64_t spec_hash(const ShardSpec& spec) {
  // How variables once started does not matter for what is held now: without a seed, every chief draws other keys.
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
