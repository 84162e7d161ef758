// SPDX-License-Identifier: Apache-2.0
// Implements `shoal profile DIR`.
#include <optional>

#include "command.h"
#include "exports.h"
#include "safe_text.h"
#include "shoal/arguments/command.h"
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
  context.out << (arguments.table ? clean_lines(to_table(profile)) : to_json(profile) + "\n");
  return 0;
}

}  // namespace

void add_profile_command(arguments::Command& app, Action& selected) {
  arguments::Command& command = app.add_command("profile", "Where the time of an exported model goes, kernel by kernel");
  const auto arguments = std::make_shared<ProfileArguments>();
  command.add("DIR", arguments->folder, "An export, or a folder of exports, whose newest is taken")
      .path("FOLDER")
      .required();
  command.add("--batch", arguments->options.batch, "Examples in each run").check(arguments::check_positive).shows_default();
  command.add("--runs", arguments->options.runs, "Runs that are measured").check(arguments::check_positive).shows_default();
  add_runtime_options(command, arguments->runtime);
  command.add_switch("--table", arguments->table, "A table for people instead of JSON");
  command.on_selected(
      [&selected, arguments] { selected = [arguments](Context& context) { return profile_export(context, *arguments); }; });
}

}  // namespace shoal::cli
