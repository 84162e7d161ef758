// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Decides which task of a job runs on which host.
#include <cstddef>
#include <span>
#include <vector>

#include "launch/hosts/hosts_file.h"
#include "launch/job_tasks.h"

namespace shoal::cli::launch {

/// The number of a host for each of `tasks`. The same lists give the same result.
///
/// Trainers, the chief first, go in turn to the hosts that have free slots. Each server goes to the host with the fewest
/// servers; if several hosts are equal, the one with the fewest trainers gets it, else the first of them. Servers take no
/// slot. The evaluator goes to the chief's host, whose folder it reads.
///
/// InvalidArgument: more trainers than slots; or a loopback address where tasks of several hosts have to reach each other.
Result<std::vector<size_t>> place_tasks(std::span<const JobTask> tasks, std::span<const Host> hosts);

/// The number of trainers that the hosts have room for.
int32_t slots_of(std::span<const Host> hosts);

}  // namespace shoal::cli::launch
