// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A task's place among the processes of its job: its rank and the number of ranks, which the engine that starts the
/// processes (Slurm, MPI, torchrun, Kubernetes, ...) gives. Also which role each rank gets, and where the tasks meet
/// (rendezvous.h) to learn each other's addresses.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/std_function.h"
#include "shoal/cluster/cluster_spec.h"

namespace shoal::cluster {

/// The sources from which a task may learn its rank and its job. They are searched in this order, and the first one that is
/// present is used.
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
/// Reads a name that to_string() writes. InvalidArgument for any other text, with a list of the names.
Result<ConfigSource> parse_config_source(std::string_view name);

/// Reads one environment variable; nothing if it is not set. Tests pass another function with variables of their own.
using GetEnv = std::function<std::optional<std::string>(std::string_view name)>;

/// The port of the rendezvous, unless the environment names another port.
inline constexpr uint16_t kRendezvousPort = 2222;

/// A task's rank in its job and related facts, as the environment variables of one source describe them.
struct Place {
  ConfigSource source = ConfigSource::kLocal;
  int32_t rank = 0;                        ///< In [0, size).
  int32_t size = 1;                        ///< How many tasks the job has, at most 100,000. 1 means local mode.
  std::optional<int32_t> local_rank = {};  ///< The task's number among the tasks of its host; nothing if unknown.
  std::optional<int32_t> local_size = {};  ///< The number of tasks on the task's host; nothing if unknown.
  std::vector<std::string> hosts{};        ///< The job's hosts, rank 0's first; empty if they are not known.
  /// The address (host:port) where rank 0 answers, or several addresses to try in turn. Empty: not known.
  std::vector<std::string> rendezvous{};
  /// The name by which other tasks find this task's host. Empty: they use the address from which this task connects to rank
  /// 0.
  std::string own_host = {};
  /// A name that tells this job from others of its kind, for example SHOAL_RUN; empty if there is none.
  std::string run = {};
  ClusterSize plan = {};  ///< The roles that ranks get; plan.tasks() == size.
  friend bool operator==(const Place&, const Place&) = default;
};

/// The role and index of a rank: rank 0 is the chief, the next `plan.ps` ranks are the parameter servers, then come the
/// workers; the evaluator, if there is one, is the last. So roles follow from numbers alone.
struct Seat {
  std::string_view role;
  int32_t index = 0;
  friend bool operator==(const Seat&, const Seat&) = default;
};
Seat seat_of(const ClusterSize& plan, int32_t rank);
std::string to_string(const Seat& seat);  ///< Such as "worker 1".

/// The size of a cluster of `ranks` tasks. `ps` is the number of parameter servers; by default one for every four ranks
/// (the evaluator not counted), at least one, so that two ranks are a chief and a server. InvalidArgument if there are
/// too few ranks, or there are workers and no ps.
Result<ClusterSize> plan_of(int32_t ranks, std::optional<int32_t> ps, bool evaluator);

struct FoundPlace {
  std::optional<Place> place;  ///< Nothing if the variables that were read give no rank.
  std::vector<std::string> warnings;
};
/// Reads only SHOAL_RANK and SHOAL_WORLD_SIZE, by which users give a task its rank themselves. InvalidArgument names the
/// variable that is missing or garbled.
Result<FoundPlace> explicit_place(const GetEnv& getenv);
/// Reads the variables by which each engine (Slurm, MPI, torchrun, ...) tells a process its rank, in the order of
/// ConfigSource. If several engines give a rank, since one runs within another, the innermost one is used, with a warning
/// if the ranks differ. `only`: reads this engine's variables alone. InvalidArgument names the variable.
Result<FoundPlace> engine_place(const GetEnv& getenv, std::optional<ConfigSource> only = {});

/// InvalidArgument if the job has other tasks, and `place` has no address at which the tasks can meet.
Result<void> check_rendezvous(const Place& place);

}  // namespace shoal::cluster
