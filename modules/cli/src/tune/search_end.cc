// SPDX-License-Identifier: Apache-2.0
#include "tune/search_end.h"

#include <algorithm>

#include "json_out.h"
#include "launch/job_tasks.h"
#include "safe_text.h"
#include "shoal/base/error.h"
#include "shoal/estimator/export_names.h"
#include "shoal/json/values.h"
#include "tune/search_table.h"
#include "tune/trial_command.h"
#include "tune/trial_process.h"
#include "tune/trial_results.h"

namespace shoal::cli::tune {
namespace {

using tuning::Trial;

constexpr int kRowsMax = 22;  // The table printed at the end has at most these rows; trials.csv has all trials.

int64_t count_of(const tuning::Tuner& tuner, Trial::State state) {
  return std::ranges::count(tuner.trials(), state, &Trial::state);
}

Json best_json(Storage& storage, const TuneOptions& options, const Trial& best) {
  Json parameters = Json::object();
  for (const auto& [name, value] : best.parameters) {
    std::visit([&parameters, &key = name](const auto& one) { parameters[key] = one; }, value);
  }
  const std::string folder = trial_folder(options, best.number);
  Json json{{"trial", best.number},
            {"parameters", std::move(parameters)},
            {"value", json::number_json(*best.value)},
            {"step", best.step},
            {"model_dir", folder}};
  if (const auto newest = newest_export_of_run(storage, folder)) json["export"] = *newest;
  return json;
}

void print_json(Context& context, const TuneOptions& options, const tuning::Tuner& tuner) {
  Json json{{"folder", options.folder},
            {"metric", options.header.metric},
            {"goal", to_string(options.header.goal)},
            {"trials", tuner.trials().size()}};
  for (const Trial::State state : {Trial::State::kComplete, Trial::State::kStopped, Trial::State::kFailed}) {
    json[std::string(to_string(state))] = count_of(tuner, state);
  }
  if (tuner.was_interrupted()) json["interrupted"] = true;
  if (const Trial* best = tuner.best()) json["best"] = best_json(context.storage, options, *best);
  print_line(context.out, json);
}

void print_text(Context& context, const TuneOptions& options, const tuning::Tuner& tuner) {
  if (!options.quiet) {
    for (const std::string& line : search_lines(tuner, {.columns = context.terminals.columns, .lines = kRowsMax})) {
      context.out << line << "\n";
    }
  }
  const Trial* const best = tuner.best();
  if (!best) return;
  context.out << "The best of " << tuner.trials().size() << " trials is trial " << best->number << ": "
              << clean_text(options.header.metric) << " " << tuning::text_of(*best->value) << " at step " << best->step
              << ", " << clean_text(tuning::text_of(best->parameters)) << "\n";
  const std::string link = launch::shell_word(join_path(options.folder, "best"));
  const bool has_export = newest_export_of_run(context.storage, trial_folder(options, best->number)).has_value();
  context.out << (has_export ? "Its newest export is " + link + ": " + context.name + " predict " + link + " FILE\n"
                             : "Its folder is " + link + "; the program exports nothing (an exporter of EvalSpec does)\n");
}

}  // namespace

Result<void> write_results(Storage& storage, const TuneOptions& options, const tuning::Tuner& tuner) {
  Result<void> written =
      storage.write_atomically(join_path(options.folder, "trials.csv"), trials_csv(tuner, options.header.space));
  const Trial* const best = tuner.best();
  if (!best) return written;
  const std::string folder = trial_folder(options, best->number);
  const std::string target = newest_export_of_run(storage, folder).value_or(folder);
  // The link is relative, so that the folder can be moved.
  Result<void> linked =
      replace_link(target.substr(join_path(options.folder, "").size()), join_path(options.folder, "best"));
  return written ? linked : written;
}

int print_results(Context& context, const TuneOptions& options, const tuning::Tuner& tuner) {
  if (options.json) {
    print_json(context, options, tuner);
  } else {
    print_text(context, options, tuner);
  }
  if (tuner.was_interrupted()) {
    context.complain("the search has not ended; the same command continues it");
    return kGaveWayStatus;
  }
  if (tuner.best() || tuner.trials().empty()) return 0;
  const Trial& first = tuner.trials().front();
  context.complain("no trial has a value; trial " + std::to_string(first.number) + ": " +
                   (first.error.empty() ? "it has ended with status " + std::to_string(first.status) : first.error));
  return 1;
}

}  // namespace shoal::cli::tune
