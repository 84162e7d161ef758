// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A task's place among the processes of its job, where whoever starts them (Slurm, MPI, torchrun, Kubernetes, ...) tells
/// each its number, and how many there are. What becomes of which number; and where the tasks meet (rendezvous.h), which
/// tells them each other's addresses.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/std_function.h"
#include "shoal/cluster/cluster_spec.h"

namespace shoal::cluster {

/// Where the description of a task came from, in order of precedence: the first that is there is used.
enum class ConfigSource : uint8_t {
  kOption,
  kTfConfig,
  kOpenMpi,
  kPmi,
  kTorchrun,
  kJax,
  kDmlc,
  kSlurm,
  kIndexedJob,
  kLocal,
};
/// "option", "TF_CONFIG", "open-mpi", "pmi", "torchrun", "jax", "dmlc", "slurm", "indexed-job", "local".
std::string_view to_string(ConfigSource source);
/// InvalidArgument listing the names.
Result<ConfigSource> parse_config_source(std::string_view name);

/// Reads one environment variable; nothing if it is not set. A parameter, so that nobody reads or changes the real one
/// behind a test's back.
using GetEnv = std::function<std::optional<std::string>(std::string_view name)>;

/// The port of the rendezvous where nobody says another.
inline constexpr uint16_t kRendezvousPort = 2222;

/// What the variables of one source say. A value.
struct Place {
  ConfigSource source = ConfigSource::kLocal;
  int32_t rank = 0;                        ///< In [0, size).
  int32_t size = 1;                        ///< How many tasks the job has, at most 100,000. One: local mode.
  std::optional<int32_t> local_rank = {};  ///< This task's number among those of its host, where that is known.
  std::optional<int32_t> local_size = {};  ///< How many tasks its host has.
  std::vector<std::string> hosts{};        ///< Hosts of the job, that of rank 0 first; empty if they are not known.
  /// Where rank 0 answers, as host:port: one address, or several that are tried in turns. Empty: nothing says where.
  std::vector<std::string> rendezvous{};
  std::string own_host = {};  ///< The name by which others find this task's host; empty: what rank 0 sees it come from.
  std::string run = {};       ///< What tells this job from others of its kind, SHOAL_RUN for one; empty if nothing does.
  ClusterSize plan = {};      ///< What the ranks become; plan.tasks() == size.
  friend bool operator==(const Place&, const Place&) = default;
};

/// What a rank becomes: rank 0 the chief, the next `plan.ps` the parameter servers, then the workers; the evaluator, where
/// there is one, is the last. So it follows from numbers alone.
struct Seat {
  std::string_view role;
  int32_t index = 0;
  friend bool operator==(const Seat&, const Seat&) = default;
};
Seat seat_of(const ClusterSize& plan, int32_t rank);
std::string to_string(const Seat& seat);  ///< Such as "worker 1".

/// The size of a cluster of `ranks` tasks. `ps`: how many serve; by default one for every four ranks but the evaluator, at
/// least one, so that two are a chief and its server. InvalidArgument if they are too few for what is asked, or there are
/// workers and no ps.
Result<ClusterSize> plan_of(int32_t ranks, std::optional<int32_t> ps, bool evaluator);

struct FoundPlace {
  std::optional<Place> place;  ///< Nothing: no source that was looked at says anything.
  std::vector<std::string> warnings;
};
/// SHOAL_RANK and SHOAL_WORLD_SIZE alone, an explicit choice. InvalidArgument naming the variable that is missing or
/// garbled.
Result<FoundPlace> explicit_place(const GetEnv& getenv);
/// The engines in the order of ConfigSource: the innermost that says something is used, and another that says otherwise is
/// a warning. `only`: looks at no other. Looks at variables and nothing else. InvalidArgument naming the variable.
Result<FoundPlace> engine_place(const GetEnv& getenv, std::optional<ConfigSource> only = {});

/// InvalidArgument if there are other tasks to meet, and nothing says where.
Result<void> check_rendezvous(const Place& place);

}  // namespace shoal::cluster
