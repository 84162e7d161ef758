// SPDX-License-Identifier: Apache-2.0
// JAX's variables, as Kubeflow Trainer v2 sets them.
#include "job/resolvers/resolvers.h"
#include "job/resolvers/variables.h"

namespace shoal::cluster {

Result<std::optional<Place>> place_of_jax(const GetEnv& getenv) {
  const RankVariables names{.rank = "JAX_PROCESS_ID", .size = "JAX_NUM_PROCESSES"};
  if (!is_set(getenv, names.rank) && !is_set(getenv, names.size)) return std::optional<Place>();
  SHOAL_TRY(Place place, ranks_of(getenv, ConfigSource::kJax, names));
  if (place.size > 1) {
    constexpr std::string_view kAddress = "JAX_COORDINATOR_ADDRESS";
    SHOAL_TRY(const std::string address, needed_variable(getenv, kAddress, names.size));
    SHOAL_TRY_VOID(check_address(kAddress, address));
    place.rendezvous = {address};
  }
  return std::optional<Place>(std::move(place));
}

}  // namespace shoal::cluster
