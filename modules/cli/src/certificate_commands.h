#pragma once
/// shoal keys ca, shoal keys task
#include "command.h"

namespace shoal::cli {

void add_certificate_commands(CLI::App& keys, Action& selected);

}  // namespace shoal::cli
