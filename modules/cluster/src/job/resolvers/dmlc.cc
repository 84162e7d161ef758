// SPDX-License-Identifier: Apache-2.0
// DMLC's variables, as Kubeflow Trainer v2 sets them for XGBoost.
#include "job/resolvers/resolvers.h"
#include "job/resolvers/variables.h"

namespace shoal::cluster {

Result<std::optional<Place>> place_of_dmlc(const GetEnv& getenv) {
  const RankVariables names{.rank = "DMLC_TASK_ID", .size = "DMLC_NUM_WORKER"};
  if (!is_set(getenv, names.rank) && !is_set(getenv, names.size)) return std::optional<Place>();
  SHOAL_TRY(Place place, ranks_of(getenv, ConfigSource::kDmlc, names));
  if (place.size > 1) {
    SHOAL_TRY(const std::string host, needed_variable(getenv, "DMLC_TRACKER_URI", names.size));
    SHOAL_TRY(const int32_t port, number_variable(getenv, "DMLC_TRACKER_PORT", 1, 65535, "DMLC_TRACKER_URI"));
    SHOAL_TRY_VOID(check_address("DMLC_TRACKER_URI", address_of(host, port)));
    place.rendezvous = {address_of(host, port)};
  }
  return std::optional<Place>(std::move(place));
}

}  // namespace shoal::cluster
