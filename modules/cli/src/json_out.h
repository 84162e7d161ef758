// SPDX-License-Identifier: Apache-2.0
#pragma once
/// JSON as the commands print it.
#include <ostream>

#include "command.h"
#include "shoal/base/time.h"
#include "shoal/json/text.h"

namespace shoal::cli {

using Json = json::PrintedJson;

/// Seconds since 1970, with a fraction.
Json unix_seconds(WallTime time);
/// One line. Bytes that are no UTF-8 become U+FFFD, and then it returns false.
bool print_line(std::ostream& out, const Json& json);
/// What a command has to say as one object: one line, or indented where people read it.
void print(const Context& context, const Json& json);

}  // namespace shoal::cli
