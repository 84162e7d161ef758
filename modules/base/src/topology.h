// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Which of the processors that the system shows are hyper-threads of one core.
#include <span>
#include <string>

namespace shoal {

/// How many cores the processors `numbers` (as an affinity mask counts them) are of: hyper-threads of one core count once,
/// by `topology/core_cpus_list` of each or, before Linux 5.3, `thread_siblings_list`. One whose files are missing, or say
/// something else, is a core of its own. Source: the kernel's Documentation/admin-guide/cputopology.rst. `root`: where
/// /sys is (a test has its own).
int count_cores(std::span<const int> numbers, const std::string& root = "");

}  // namespace shoal
