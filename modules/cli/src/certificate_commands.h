// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The commands `shoal keys ca`, `shoal keys task` and `shoal keys watcher`.
#include "command.h"

namespace shoal::cli {

void add_certificate_commands(arguments::Command& keys, Action& selected);

}  // namespace shoal::cli
