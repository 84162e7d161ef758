// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Resolvers: one function per launcher or cluster manager ("engine": Slurm, MPI, ...), which reads the rank of this
/// process from the engine's variables. Resolvers are pure functions: they read nothing else.
///
/// A resolver returns nothing if its engine has not started this process. Else it returns rank and size, and, if the
/// engine gives them, an address for the rendezvous, or hosts and a name of the job, from which place.cc derives an
/// address. InvalidArgument names the variable that is missing or garbled.
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
