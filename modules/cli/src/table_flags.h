// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The flags that errors about CSV tables name, for all commands that read such tables.
#include "shoal/data/text_files.h"

namespace shoal::arguments {
class Command;
}

namespace shoal::cli {

/// Adds --trim, --no-quoting, --skip-lines and --line-bytes-max, which change `table`. The help shows the limit that `table`
/// has now as the default. The command itself adds --missing and --separator, whose defaults differ.
void add_table_flags(arguments::Command& command, data::CsvOptions& table);

}  // namespace shoal::cli
