// SPDX-License-Identifier: Apache-2.0
// torchrun, and launchers that set its variables: RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT for each process; or
// the PET_* variables for each node, which torchrun itself would read (Kubeflow Trainer v2).
#include "job/quote.h"
#include "job/resolvers/resolvers.h"
#include "job/resolvers/variables.h"
#include "shoal/base/number_text.h"

namespace shoal::cluster {
namespace {

constexpr int32_t kPortMax = 65535;
/// The number of ports that are tried after the port of torchrun's own store.
constexpr int32_t kPortsBehind = 4;

/// Sets the addresses of the rendezvous from the host in variable `addr` and the port in variable `port`.
Result<void> set_master(const GetEnv& getenv, Place& place, std::string_view addr, std::string_view port,
                        std::string_view beside) {
  if (place.size == 1) return {};  // A job of one task needs no rendezvous.
  SHOAL_TRY(const std::string host, needed_variable(getenv, addr, beside));
  SHOAL_TRY(const int32_t number, number_variable(getenv, port, 1, kPortMax, addr));
  SHOAL_TRY_VOID(check_address(addr, address_of(host, number)));
  place.hosts = {host};
  // If this variable is True, torchrun itself listens at MASTER_PORT, so Shoal takes one of the ports that follow.
  const bool taken = variable(getenv, "TORCHELASTIC_USE_AGENT_STORE").value_or("") == "True";
  if (!taken) place.rendezvous = {address_of(host, number)};
  for (int32_t i = 1; taken && i <= kPortsBehind && number + i <= kPortMax; ++i) {
    place.rendezvous.push_back(address_of(host, number + i));
  }
  return {};
}

/// True if torchrun, or a launcher that sets the same four variables, has started this process. Two of the variables, one
/// of which is RANK or WORLD_SIZE, are enough to tell. A single one, such as RANK, may be left over from another program.
bool has_four(const GetEnv& getenv) {
  int set = 0;
  for (const char* name : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}) set += is_set(getenv, name);
  return set >= 2 && (is_set(getenv, "RANK") || is_set(getenv, "WORLD_SIZE"));
}

Result<Place> place_of_process(const GetEnv& getenv) {
  SHOAL_TRY(Place place,
            ranks_of(getenv, ConfigSource::kTorchrun,
                     {.rank = "RANK", .size = "WORLD_SIZE", .local_rank = "LOCAL_RANK", .local_size = "LOCAL_WORLD_SIZE"}));
  SHOAL_TRY_VOID(set_master(getenv, place, "MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE"));
  place.run = variable(getenv, "TORCHELASTIC_RUN_ID").value_or("");
  return place;
}

/// Rank and size from the variables of a node that runs one process.
Result<Place> place_of_node(const GetEnv& getenv) {
  const std::string nodes = variable(getenv, "PET_NNODES").value_or("");
  if (nodes.find(':') != std::string::npos) {
    return invalid_argument("PET_NNODES: " + in_quotes(nodes) +
                            " is a range; a job of Shoal has a fixed number of tasks, so give that");
  }
  SHOAL_TRY(Place place, ranks_of(getenv, ConfigSource::kTorchrun, {.rank = "PET_NODE_RANK", .size = "PET_NNODES"}));
  SHOAL_TRY_VOID(set_master(getenv, place, "PET_MASTER_ADDR", "PET_MASTER_PORT", "PET_NNODES"));
  return place;
}

}  // namespace

Result<std::optional<Place>> place_of_torchrun(const GetEnv& getenv) {
  if (has_four(getenv)) {
    SHOAL_TRY(Place place, place_of_process(getenv));
    return std::optional<Place>(std::move(place));
  }
  if (!is_set(getenv, "PET_NODE_RANK") && !is_set(getenv, "PET_NNODES")) return std::optional<Place>();
  SHOAL_TRY(Place place, place_of_node(getenv));
  return std::optional<Place>(std::move(place));
}

}  // namespace shoal::cluster
