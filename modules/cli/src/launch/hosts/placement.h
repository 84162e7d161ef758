// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Which task of a job runs on which host.
#include <cstddef>
#include <span>
#include <vector>

#include "launch/hosts/hosts_file.h"
#include "launch/job_tasks.h"

namespace shoal::cli::launch {

/// The number of a host for each of `tasks`; the same for the same lists.
///
/// Trainers, chief first, are dealt to the hosts in turns, as long as those have slots. Each server goes where the fewest
/// servers are, among these where the fewest trainers are, among these to the first; servers take no slot. The evaluator
/// joins the chief, whose folder it reads.
///
/// InvalidArgument: more trainers than slots; or, where tasks of several hosts have to find each other, one whose address
/// is its own loopback beside others that are elsewhere.
Result<std::vector<size_t>> place_tasks(std::span<const JobTask> tasks, std::span<const Host> hosts);

/// The number of trainers that there is room for.
int32_t slots_of(std::span<const Host> hosts);

}  // namespace shoal::cli::launch
