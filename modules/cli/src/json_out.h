// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Prints the JSON of commands.

#include "command.h"
#include "shoal/base/time.h"
#include "shoal/cli/text_output.h"
#include "shoal/json/text.h"

namespace shoal::cli {

using Json = json::PrintedJson;

/// Seconds since 1970, with a fraction.
Json unix_seconds(WallTime time);
/// Prints one line. Returns false if it had bytes that are no UTF-8, which become U+FFFD.
bool print_line(TextOutput& out, const Json& json);
/// Prints the result of a command as one object: on one line, or indented if people read it on a terminal.
void print(const Context& context, const Json& json);

}  // namespace shoal::cli
