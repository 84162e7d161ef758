// SPDX-License-Identifier: Apache-2.0
// PMI, the interface of MPICH, Intel MPI, Cray MPICH, and srun --mpi=pmi2. Its variables name no hosts.
#include "job/resolvers/resolvers.h"
#include "job/resolvers/variables.h"

namespace shoal::cluster {

Result<std::optional<Place>> place_of_pmi(const GetEnv& getenv) {
  RankVariables names{
      .rank = "PMI_RANK", .size = "PMI_SIZE", .local_rank = "MPI_LOCALRANKID", .local_size = "MPI_LOCALNRANKS"};
  if (!is_set(getenv, names.rank) && !is_set(getenv, names.size)) return std::optional<Place>();
  if (is_set(getenv, "PMI_LOCAL_SIZE")) {  // Cray's own names.
    names.local_rank = "PMI_LOCAL_RANK";
    names.local_size = "PMI_LOCAL_SIZE";
  }
  SHOAL_TRY(Place place, ranks_of(getenv, ConfigSource::kPmi, names));
  // MPICH's own mpiexec does not name its jobs: there, SHOAL_RUN or SHOAL_RENDEZVOUS has to tell two jobs apart.
  std::optional<std::string> job = variable(getenv, "PMI_JOBID");
  if (!job) job = variable(getenv, "PMIX_NAMESPACE");
  if (job) place.run = "pmi " + *job;
  return std::optional<Place>(std::move(place));
}

}  // namespace shoal::cluster
