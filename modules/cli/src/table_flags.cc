// SPDX-License-Identifier: Apache-2.0
#include "table_flags.h"

#include "shoal/arguments/command.h"

namespace shoal::cli {

void add_table_flags(arguments::Command& command, data::CsvOptions& table) {
  command.add_switch("--trim", table.trim_blanks, "Blanks around fields do not count");
  command.add_switch_call(
      "--no-quoting",
      [&table](const std::string& text) -> Result<void> {
        table.quoting = text != "true";
        return {};
      },
      "A quote is a character as any other, as in 5\" nails; the output has quotes all the same");
  command.add("--skip-lines", table.header_lines, "Lines before the table that are passed over")
      .check(arguments::at_least(0));
  command.add("--line-bytes-max", table.line_bytes_max, "The most bytes of one row")
      .check(arguments::check_positive)
      .shows_default();
}

}  // namespace shoal::cli
