// SPDX-License-Identifier: Apache-2.0
#include "shoal/cluster/place.h"

#include <algorithm>
#include <array>

#include "job/quote.h"
#include "job/resolvers/resolvers.h"
#include "job/resolvers/variables.h"
#include "shoal/base/random.h"
#include "shoal/cluster/quiet_ports.h"

namespace shoal::cluster {
namespace {

struct NamedSource {
  ConfigSource source;
  std::string_view name;
};
constexpr std::array<NamedSource, 10> kSources{{{ConfigSource::kOption, "option"},
                                                {ConfigSource::kTfConfig, "TF_CONFIG"},
                                                {ConfigSource::kOpenMpi, "open-mpi"},
                                                {ConfigSource::kPmi, "pmi"},
                                                {ConfigSource::kTorchrun, "torchrun"},
                                                {ConfigSource::kJax, "jax"},
                                                {ConfigSource::kDmlc, "dmlc"},
                                                {ConfigSource::kSlurm, "slurm"},
                                                {ConfigSource::kIndexedJob, "indexed-job"},
                                                {ConfigSource::kLocal, "local"}}};

struct Engine {
  ConfigSource source;
  Resolver resolve;
};
/// The engines (programs that start the ranks of a job) in the order in which Shoal looks for their variables, innermost
/// first: mpirun inside of a Slurm job starts its ranks as a Slurm step, so the variables of both are set.
constexpr std::array<Engine, 7> kEngines{{{ConfigSource::kOpenMpi, place_of_open_mpi},
                                          {ConfigSource::kPmi, place_of_pmi},
                                          {ConfigSource::kTorchrun, place_of_torchrun},
                                          {ConfigSource::kJax, place_of_jax},
                                          {ConfigSource::kDmlc, place_of_dmlc},
                                          {ConfigSource::kSlurm, place_of_slurm},
                                          {ConfigSource::kIndexedJob, place_of_indexed_job}}};

std::string rank_text(const Place& place) {
  return std::string(to_string(place.source)) + " says rank " + std::to_string(place.rank) + " of " +
         std::to_string(place.size);
}

/// Addresses at which the ranks of a job can find each other; the ports are computed from the name of the run. If another
/// job listens at one port, it refuses these ranks, since its run has another name, and they try the next port.
std::vector<std::string> derived_addresses(std::string_view host, std::string_view run) {
  constexpr uint64_t kCandidates = 4;
  std::vector<std::string> addresses;
  const uint64_t start = fold_in(RandomKey(0), run);
  for (uint64_t i = 0; i < kCandidates; ++i) {
    addresses.push_back(
        address_of(host, int32_t(kQuietPortFirst + (start + i * (kQuietPorts / kCandidates)) % kQuietPorts)));
  }
  return addresses;
}

Result<bool> evaluator_wanted(const GetEnv& getenv) {
  constexpr std::string_view kName = "SHOAL_EVALUATOR";
  SHOAL_TRY(const std::optional<int32_t> number, optional_number(getenv, kName, 0, 1));
  return number.value_or(0) == 1;
}

/// Adds the values of the SHOAL_* variables, which have the same meaning for all sources.
Result<Place> completed(const GetEnv& getenv, Place place) {
  if (const auto run = variable(getenv, "SHOAL_RUN")) place.run = *run;
  if (const auto host = variable(getenv, "SHOAL_HOST")) {
    SHOAL_TRY_VOID(check_address("SHOAL_HOST", address_of(*host, kRendezvousPort)));
    place.own_host = *host;
  }
  if (place.size == 1) return place;
  SHOAL_TRY(const std::optional<int32_t> ps, optional_number(getenv, "SHOAL_PS", 0, kRanksMax));
  SHOAL_TRY(const bool evaluator, evaluator_wanted(getenv));
  SHOAL_TRY(place.plan, plan_of(place.size, ps, evaluator));
  if (const auto address = variable(getenv, "SHOAL_RENDEZVOUS")) {
    SHOAL_TRY_VOID(check_address("SHOAL_RENDEZVOUS", *address));
    place.rendezvous = {*address};
  }
  if (!place.rendezvous.empty() || place.run.empty()) return place;
  if (place.local_size == place.size) {
    place.rendezvous = derived_addresses("127.0.0.1", place.run);
  } else if (!place.hosts.empty()) {
    place.rendezvous = derived_addresses(place.hosts.front(), place.run);
  }
  return place;
}

/// Copies each field that `place` lacks from `other`, which has the same rank and size.
void learn(Place& place, const Place& other) {
  if (place.rendezvous.empty()) place.rendezvous = other.rendezvous;
  if (place.hosts.empty()) place.hosts = other.hosts;
  if (!place.local_size) place.local_size = other.local_size;
  if (!place.local_rank) place.local_rank = other.local_rank;
  if (place.run.empty()) place.run = other.run;
  if (place.own_host.empty()) place.own_host = other.own_host;
}

Result<FoundPlace> named_engine(const GetEnv& getenv, ConfigSource only) {
  for (const Engine& engine : kEngines) {
    if (engine.source != only) continue;
    SHOAL_TRY(std::optional<Place> place, engine.resolve(getenv));
    if (!place) break;
    SHOAL_TRY(place, completed(getenv, *std::move(place)));
    return FoundPlace{.place = std::move(place), .warnings = {}};
  }
  return invalid_argument("SHOAL_SOURCE: is " + std::string(to_string(only)) +
                          ", and its variables are not set here; shoal config shows what is");
}

/// Warns of variables that have no effect, because nothing gives this task a rank.
std::vector<std::string> idle_settings(const GetEnv& getenv) {
  std::string names;
  for (const char* name : {"SHOAL_RENDEZVOUS", "SHOAL_WORLD_SIZE", "SHOAL_PS", "SHOAL_EVALUATOR", "SHOAL_SERVICE"}) {
    if (is_set(getenv, name)) names += (names.empty() ? "" : ", ") + std::string(name);
  }
  if (names.empty()) return {};
  return {"nothing says which rank this task has, so it trains alone; " + names +
          " would be heeded if something did (SHOAL_RANK, or whoever starts the tasks)"};
}

}  // namespace

std::string_view to_string(ConfigSource source) {
  for (const NamedSource& named : kSources) {
    if (named.source == source) return named.name;
  }
  return "unknown";
}

Result<ConfigSource> parse_config_source(std::string_view name) {
  std::vector<std::string> names;
  for (const NamedSource& named : kSources) {
    if (named.name == name) return named.source;
    names.emplace_back(named.name);
  }
  return invalid_argument(in_quotes(name) + " is none of " + listed(names));
}

Seat seat_of(const ClusterSize& plan, int32_t rank) {
  if (rank == 0) return {plan.chief_role(), 0};
  if (rank <= plan.ps) return {kPsRole, rank - 1};
  if (plan.evaluator && rank == plan.tasks() - 1) return {kEvaluatorRole, 0};
  return {kWorkerRole, rank - 1 - plan.ps};
}

std::string to_string(const Seat& seat) { return std::string(seat.role) + " " + std::to_string(seat.index); }

Result<ClusterSize> plan_of(int32_t ranks, std::optional<int32_t> ps, bool evaluator) {
  constexpr int32_t kRanksPerPs = 4;
  const int32_t members = ranks - (evaluator ? 1 : 0);
  const int32_t by_default = members > 1 ? std::max(1, members / kRanksPerPs) : 0;
  const int32_t servers = ps.value_or(by_default);
  if (members < 1 || servers > members - 1) {
    return invalid_argument(std::to_string(ranks) + " ranks are too few for a chief, " + std::to_string(servers) + " ps" +
                            (evaluator ? " and an evaluator" : "") +
                            "; start more, or change SHOAL_PS (--ps) or SHOAL_EVALUATOR (--evaluator)");
  }
  const ClusterSize plan{.ps = servers, .workers = members - 1 - servers, .evaluator = evaluator};
  if (plan.workers > 0 && plan.ps == 0) {
    return invalid_argument(
        "SHOAL_PS (--ps) is 0, and " + std::to_string(ranks) +
        " ranks have workers: there would be no one to hold the shared parameters; let at least one serve");
  }
  return plan;
}

Result<FoundPlace> explicit_place(const GetEnv& getenv) {
  if (!is_set(getenv, "SHOAL_RANK")) return FoundPlace{};
  SHOAL_TRY(Place place, ranks_of(getenv, ConfigSource::kOption, {.rank = "SHOAL_RANK", .size = "SHOAL_WORLD_SIZE"}));
  SHOAL_TRY(place, completed(getenv, std::move(place)));
  return FoundPlace{.place = std::move(place), .warnings = {}};
}

Result<FoundPlace> engine_place(const GetEnv& getenv, std::optional<ConfigSource> only) {
  if (only) return named_engine(getenv, *only);
  FoundPlace found;
  for (const Engine& engine : kEngines) {
    Result<std::optional<Place>> resolved = engine.resolve(getenv);
    if (!resolved && !found.place) return std::move(resolved).error();
    if (!resolved) {
      found.warnings.push_back(resolved.error().message() + " (" + std::string(to_string(engine.source)) +
                               "); not heeded, since " + rank_text(*found.place));
      continue;
    }
    if (!*resolved) continue;
    const Place& place = **resolved;
    if (!found.place) {
      found.place = place;
    } else if (place.rank == found.place->rank && place.size == found.place->size) {
      learn(*found.place, place);
    } else {
      found.warnings.push_back(rank_text(*found.place) + ", and " + rank_text(place) +
                               ": the first, which is further in, is used; " +
                               "SHOAL_SOURCE=" + std::string(to_string(place.source)) + " would choose the other");
    }
  }
  if (!found.place) {
    found.warnings = idle_settings(getenv);
    return found;
  }
  SHOAL_TRY(found.place, completed(getenv, *std::move(found.place)));
  return found;
}

Result<void> check_rendezvous(const Place& place) {
  if (place.size == 1 || !place.rendezvous.empty()) return {};
  const std::string whose(to_string(place.source));
  if (place.local_size == place.size) {
    return invalid_argument(whose + " gives this task rank " + std::to_string(place.rank) + " of " +
                            std::to_string(place.size) +
                            ", and nothing says where they meet: set SHOAL_RUN to a name that no other job on this machine "
                            "has, or SHOAL_RENDEZVOUS (--rendezvous) to 127.0.0.1 and a free port");
  }
  return invalid_argument(whose + " gives this task rank " + std::to_string(place.rank) + " of " +
                          std::to_string(place.size) +
                          ", and nothing says where they meet: set SHOAL_RENDEZVOUS (--rendezvous) to host:port, with the "
                          "host of rank 0 and a port that is free there");
}

}  // namespace shoal::cluster
