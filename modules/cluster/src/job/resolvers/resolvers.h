// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What each engine's variables say of this process, one file per engine. Pure functions: nothing is looked up but
/// variables.
///
/// Each gives nothing where its engine has not started this process; else rank and size, and what else it knows: an
/// address for the rendezvous, or the hosts and a name of the job, from which place.cc makes one. InvalidArgument names
/// the variable that is missing or garbled.
#include <optional>

#include "shoal/cluster/place.h"

namespace shoal::cluster {

using Resolver = Result<std::optional<Place>> (*)(const GetEnv& getenv);

Result<std::optional<Place>> place_of_open_mpi(const GetEnv& getenv);
Result<std::optional<Place>> place_of_pmi(const GetEnv& getenv);
Result<std::optional<Place>> place_of_torchrun(const GetEnv& getenv);
Result<std::optional<Place>> place_of_jax(const GetEnv& getenv);
Result<std::optional<Place>> place_of_dmlc(const GetEnv& getenv);
Result<std::optional<Place>> place_of_slurm(const GetEnv& getenv);
Result<std::optional<Place>> place_of_indexed_job(const GetEnv& getenv);

}  // namespace shoal::cluster
