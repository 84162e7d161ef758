// SPDX-License-Identifier: Apache-2.0
#pragma once
/// All commands of the program. To add one, write a file <name>_command.cc with its add_<name>_command(), declare that in
/// command.h, and add an entry to commands.cc.
#include <span>

#include "command.h"

namespace shoal::cli {

std::span<const AddCommand> all_commands();

}  // namespace shoal::cli
