#include "shoal/cluster/protocol.h"

#include <charconv>
#include <nlohmann/json.hpp>

namespace shoal::cluster {
namespace {

using Json = nlohmann::json;

/// Runs a reader over parsed JSON; anything missing or mistyped is one sentence.
template <class T, class Read>
Result<T> parse_as(std::string_view what, std::string_view text, Read&& read) {
  try {
    const Json json = Json::parse(text);
    return read(json);
  } catch (const Json::exception& e) {
    return data_loss("control message " + std::string(what) + ": " + e.what());
  }
}

Json positions_json(const std::map<int, std::string>& positions) {
  // Positions are bytes: JSON text cannot carry them, so they go as arrays of numbers.
  Json out = Json::array();
  for (const auto& [trainer, position] : positions) {
    out.push_back({trainer, std::vector<uint8_t>(position.begin(), position.end())});
  }
  return out;
}

std::string bytes_from(const Json& json) {
  const auto bytes = json.get<std::vector<uint8_t>>();
  return {bytes.begin(), bytes.end()};
}

std::map<int, std::string> positions_from(const Json& json) {
  std::map<int, std::string> positions;
  for (const Json& entry : json) positions[entry.at(0).get<int>()] = bytes_from(entry.at(1));
  return positions;
}

Json counters_json(const ShardCounters& counters) { return {counters.version, counters.update_count}; }
ShardCounters counters_from(const Json& json) { return {json.at(0).get<uint64_t>(), json.at(1).get<uint64_t>()}; }

Phase phase_from(const Json& json) {
  const int value = json.get<int>();
  return value >= 0 && value <= int(Phase::kFinished) ? Phase(value) : Phase::kEmpty;
}

}  // namespace

std::string_view to_string(Phase phase) {
  switch (phase) {
    case Phase::kEmpty: return "empty";
    case Phase::kLoading: return "loading";
    case Phase::kReady: return "ready";
    case Phase::kFinished: return "finished";
  }
  return "unknown";
}

std::string to_json(const Welcome& welcome) {
  return Json{{"phase", int(welcome.phase)},
              {"epoch", welcome.epoch},
              {"global_step", welcome.global_step},
              {"position", std::vector<uint8_t>(welcome.position.begin(), welcome.position.end())}}
      .dump();
}

Result<Welcome> parse_welcome(std::string_view text) {
  return parse_as<Welcome>("welcome", text, [](const Json& json) -> Result<Welcome> {
    return Welcome{phase_from(json.at("phase")), json.at("epoch").get<uint64_t>(),
                   json.at("global_step").get<uint64_t>(), bytes_from(json.at("position"))};
  });
}

std::string to_json(const ServerStatus& status) {
  Json trainers = Json::array();
  for (const TrainerStatus& trainer : status.trainers) {
    trainers.push_back({trainer.index, trainer.connected, trainer.done, trainer.pushes});
  }
  return Json{{"phase", int(status.phase)},       {"epoch", status.epoch},
              {"global_step", status.global_step}, {"spec_hash", status.spec_hash},
              {"fingerprint", status.fingerprint}, {"counters", counters_json(status.counters)},
              {"trainers", trainers}}
      .dump();
}

Result<ServerStatus> parse_server_status(std::string_view text) {
  return parse_as<ServerStatus>("status", text, [](const Json& json) -> Result<ServerStatus> {
    ServerStatus status{.phase = phase_from(json.at("phase")),
                        .epoch = json.at("epoch").get<uint64_t>(),
                        .global_step = json.at("global_step").get<uint64_t>(),
                        .spec_hash = json.at("spec_hash").get<uint64_t>(),
                        .fingerprint = json.at("fingerprint").get<uint64_t>(),
                        .counters = counters_from(json.at("counters")),
                        .trainers = {}};
    for (const Json& trainer : json.at("trainers")) {
      status.trainers.push_back({trainer.at(0).get<int>(), trainer.at(1).get<bool>(), trainer.at(2).get<bool>(),
                                 trainer.at(3).get<uint64_t>()});
    }
    return status;
  });
}

std::string to_json(const Prepare& prepare) {
  return Json{{"epoch", prepare.epoch}, {"fingerprint", prepare.fingerprint}, {"spec", to_json(prepare.spec)}}.dump();
}

Result<Prepare> parse_prepare(std::string_view text) {
  return parse_as<Prepare>("prepare", text, [](const Json& json) -> Result<Prepare> {
    SHOAL_TRY(ShardSpec spec, parse_shard_spec(json.at("spec").get<std::string>()));
    return Prepare{json.at("epoch").get<uint64_t>(), json.at("fingerprint").get<uint64_t>(), std::move(spec)};
  });
}

std::string to_json(const StateText& state) {
  return Json{{"epoch", state.epoch},
              {"global_step", state.global_step},
              {"counters", counters_json(state.counters)},
              {"positions", positions_json(state.positions)}}
      .dump();
}

Result<StateText> parse_state(std::string_view text) {
  return parse_as<StateText>("state", text, [](const Json& json) -> Result<StateText> {
    return StateText{json.at("epoch").get<uint64_t>(), json.at("global_step").get<uint64_t>(),
                     counters_from(json.at("counters")), positions_from(json.at("positions"))};
  });
}

std::string to_json(const ReadRange& range) {
  return Json{{"arena", range.arena}, {"offset", range.offset}, {"bytes", range.bytes}}.dump();
}

Result<ReadRange> parse_read_range(std::string_view text) {
  return parse_as<ReadRange>("read", text, [](const Json& json) -> Result<ReadRange> {
    return ReadRange{json.at("arena").get<ArenaIndex>(), json.at("offset").get<uint64_t>(),
                     json.at("bytes").get<uint64_t>()};
  });
}

uint64_t spec_hash(const ShardSpec& spec) { return fold_in(1, to_json(spec)); }

std::string arena_name(ArenaIndex arena) { return arena == 0 ? "weights" : "slot/" + std::to_string(arena - 1); }

Result<ArenaIndex> parse_arena_name(std::string_view name) {
  if (name == "weights") return ArenaIndex(0);
  ArenaIndex slot = -1;
  if (name.starts_with("slot/")) std::from_chars(name.data() + 5, name.data() + name.size(), slot);
  if (slot < 0 || slot >= 8 || arena_name(slot + 1) != name) {
    return invalid_argument("unknown arena " + std::string(name.substr(0, 64)));
  }
  return ArenaIndex(slot + 1);
}

}  // namespace shoal::cluster
