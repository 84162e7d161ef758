// SPDX-License-Identifier: Apache-2.0
// Implements `shoal profile DIR`.
#include <CLI/CLI.hpp>
#include <optional>

#include "command.h"
#include "exports.h"
#include "shoal/base/environment.h"
#include "shoal/estimator/exported_model.h"

namespace shoal::cli {
namespace {

struct ProfileArguments {
  std::string folder;
  ProfileOptions options;
  RuntimeOptions runtime;
  bool table = false;
};

Result<int> profile_export(Context& context, const ProfileArguments& arguments) {
  SHOAL_TRY(const std::string folder, find_export(context.storage, arguments.folder));
  const auto measure = [&] { return load_exported_model(folder, arguments.runtime)->profile(arguments.options); };
  SHOAL_TRY(const backends::Profile profile, call_user("profile", measure));
  context.out << (arguments.table ? to_table(profile) : to_json(profile) + "\n");
  return 0;
}

}  // namespace

void add_profile_command(CLI::App& app, Action& selected) {
  CLI::App* command = app.add_subcommand("profile", "Where the time of an exported model goes, kernel by kernel");
  const auto arguments = std::make_shared<ProfileArguments>();
  command->add_option("DIR", arguments->folder, "An export, or a folder of exports, whose newest is taken")->required();
  command->add_option("--batch", arguments->options.batch, "Examples in each run")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--runs", arguments->options.runs, "Runs that are measured")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  add_runtime_options(*command, arguments->runtime);
  command->add_flag("--table", arguments->table, "A table for people instead of JSON");
  command->callback(
      [&selected, arguments] { selected = [arguments](Context& context) { return profile_export(context, *arguments); }; });
}

}  // namespace shoal::cli
