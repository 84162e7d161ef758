// SPDX-License-Identifier: Apache-2.0
// Open MPI 4 and 5: the variables that mpirun sets for each rank. They name no hosts.
#include "job/resolvers/resolvers.h"
#include "job/resolvers/variables.h"

namespace shoal::cluster {

Result<std::optional<Place>> place_of_open_mpi(const GetEnv& getenv) {
  const RankVariables names{.rank = "OMPI_COMM_WORLD_RANK",
                            .size = "OMPI_COMM_WORLD_SIZE",
                            .local_rank = "OMPI_COMM_WORLD_LOCAL_RANK",
                            .local_size = "OMPI_COMM_WORLD_LOCAL_SIZE"};
  if (!is_set(getenv, names.rank) && !is_set(getenv, names.size)) return std::optional<Place>();
  SHOAL_TRY(Place place, ranks_of(getenv, ConfigSource::kOpenMpi, names));
  // mpirun's name for this job. (Other variables have addresses, but those are addresses of mpirun itself, which need not
  // run on the host of rank 0.)
  std::optional<std::string> job = variable(getenv, "PMIX_NAMESPACE");
  if (!job) job = variable(getenv, "OMPI_MCA_ess_base_jobid");
  if (job) place.run = "open-mpi " + *job;
  return std::optional<Place>(std::move(place));
}

}  // namespace shoal::cluster
