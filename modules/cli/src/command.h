// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The interface between the program and its commands: each command file has one function, listed in commands.cc.
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/storage.h"
#include "shoal/cli/cli.h"

namespace shoal::arguments {
class Command;
}

namespace shoal::cli {

struct Context {
  const ReadInput& in;  ///< Standard input, for commands that read their table there.
  TextOutput& out;      ///< Standard output: JSON, CSV, or a single line of text.
  TextOutput& err;      ///< Standard error: messages for people.
  Storage& storage;
  Terminals terminals{};
  /// False: the exit status is the status of a job, so a failure to write the output does not change the exit status.
  bool output_is_the_product = true;
  std::vector<std::string> program{};  ///< For `launch`, `tune` and `data bench`: the program to start, and its arguments.
  bool program_is_own = false;         ///< True: program[0] is the program that runs now, added by cli_main().
  std::string name = "shoal";          ///< The name of the program that these commands belong to.

  /// Writes one sentence to `err`. The sentence may have text of files or of other processes: clean_lines() is applied.
  void complain(std::string_view sentence) const;
};

/// The action of the selected command, set by its callback. It returns the exit status, or an error to print.
using Action = std::function<Result<int>(Context&)>;

/// Adds a command to `app`; when the command line names it, `selected` becomes its action.
using AddCommand = void (*)(arguments::Command& app, Action& selected);

void add_checkpoint_command(arguments::Command& app, Action& selected);
void add_compare_command(arguments::Command& app, Action& selected);
void add_config_command(arguments::Command& app, Action& selected);
void add_data_command(arguments::Command& app, Action& selected);
void add_doctor_command(arguments::Command& app, Action& selected);
void add_events_command(arguments::Command& app, Action& selected);
void add_export_command(arguments::Command& app, Action& selected);
void add_keys_command(arguments::Command& app, Action& selected);
void add_launch_command(arguments::Command& app, Action& selected);
void add_plot_command(arguments::Command& app, Action& selected);
void add_predict_command(arguments::Command& app, Action& selected);
void add_profile_command(arguments::Command& app, Action& selected);
void add_status_command(arguments::Command& app, Action& selected);
void add_tune_command(arguments::Command& app, Action& selected);

}  // namespace shoal::cli
