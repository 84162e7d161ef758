// SPDX-License-Identifier: Apache-2.0
#include "shoal/search/search.h"

#include <deque>

#include "shoal/base/environment.h"
#include "shoal/base/process_info.h"
#include "shoal/base/time.h"

namespace shoal {
namespace {

using tuning::Trial;

constexpr int64_t kTrialsOfRandom = 20;

Params params_of(const tuning::Assignment& assignment) {
  Params params;
  for (const auto& [name, value] : assignment) {
    std::visit([&params, &key = name](const auto& one) { params.set(key, one); }, value);
  }
  return params;
}

Result<tuning::SearchHeader> header_of(const SearchOptions& options) {
  if (options.folder.empty()) return invalid_argument("SearchOptions::folder is empty: name the folder of the search");
  if (options.algorithm == tuning::Algorithm::kAsha) {
    return invalid_argument("search() ends no trial early: take kGrid or kRandom, or shoal tune --algorithm asha");
  }
  tuning::SearchHeader header{
      .space = {}, .algorithm = options.algorithm, .seed = options.seed, .metric = options.metric};
  if (options.goal) {
    header.goal = *options.goal;
  } else {
    SHOAL_TRY(header.goal, tuning::goal_of(options.metric));
  }
  std::vector<tuning::Parameter> parameters;
  for (const std::string& text : options.parameters) {
    SHOAL_TRY(tuning::Parameter parameter, tuning::parse_parameter(text));
    parameters.push_back(std::move(parameter));
  }
  SHOAL_TRY(header.space, tuning::Space::create(std::move(parameters)));
  return header;
}

Result<tuning::Tuner> tuner_of(const SearchOptions& options, const tuning::SearchHeader& header) {
  tuning::TunerOptions tuner{.trials = options.trials, .retries = 0, .goal = header.goal};
  if (options.algorithm == tuning::Algorithm::kGrid) {
    SHOAL_TRY(std::unique_ptr<tuning::Sampler> grid, tuning::grid_sampler(header.space));
    return tuning::Tuner(tuner, std::move(grid));
  }
  if (!tuner.trials) tuner.trials = kTrialsOfRandom;
  return tuning::Tuner(tuner, tuning::random_sampler(header.space, header.seed));
}

class SearchCall {
 public:
  SearchCall(const SearchOptions& options, const TrialFunction& train, tuning::Tuner tuner, Storage& storage)
      : options_(options), train_(train), tuner_(std::move(tuner)), storage_(storage) {}

  Result<SearchResult> run(const tuning::SearchHeader& header) {
    SHOAL_TRY_VOID(storage_.make_folders(options_.folder));
    const ProcessInfo self = read_process_info();
    SHOAL_TRY(const std::unique_ptr<StorageLock> lock,
              storage_.lock(join_path(options_.folder, "search_lock"),
                            "process " + std::to_string(self.process_id) + " on " + self.host_name));
    SHOAL_TRY(tuning::Journal journal, tuning::Journal::open(storage_, options_.folder, header));
    SHOAL_TRY_VOID(tuner_.replay(journal.records()));
    add(tuner_.begin(SteadyTime{}));
    while (!actions_.empty()) {
      const tuning::TunerAction action = std::move(actions_.front());
      actions_.pop_front();
      if (const auto* note = std::get_if<tuning::Note>(&action)) SHOAL_TRY_VOID(journal.append(note->record));
      if (const auto* start = std::get_if<tuning::StartTrial>(&action)) SHOAL_TRY_VOID(train(start->trial));
    }
    return result();
  }

 private:
  void add(const tuning::TunerActions& actions) { actions_.insert(actions_.end(), actions.begin(), actions.end()); }

  Result<void> train(int64_t number) {
    if (options_.config.stop.stop_requested()) return cancelled();
    const WallTime begun = read_wall_clock();
    Result<Metrics> metrics = call_user("trial " + std::to_string(number), [&] {
      RunConfigOptions config = options_.config;
      config.model_dir = tuning::trial_folder(options_.folder, number);
      cluster::TaskConfig task;
      task.trial = std::to_string(number);
      return train_(params_of(tuner_.trials()[size_t(number)].parameters), RunConfig(std::move(config), std::move(task)));
    });
    if (!metrics && metrics.error().kind() == ErrorKind::kCancelled) return std::move(metrics).error();
    // A stop makes training return early, so these metrics may be those of an unfinished trial.
    if (options_.config.stop.stop_requested()) return cancelled();
    tuning::AttemptEnd end{.seconds = to_seconds(read_wall_clock() - begun)};
    if (!metrics) {
      // The tuner has no retries here: in the same program the failure would repeat.
      end.status = exit_status(metrics.error().kind());
      end.error = metrics.error().message();
    } else if (const auto value = metrics->find(options_.metric); value != metrics->end()) {
      end.value = value->second;
      const auto step = metrics->find("global_step");
      end.step = step == metrics->end() ? 0 : int64_t(step->second);
    } else {
      end.error = "there is no metric " + options_.metric + " among those that the trial has returned";
    }
    add(tuner_.ended(number, end, SteadyTime{}));
    return {};
  }

  SearchResult result() const {
    SearchResult result{.trials = tuner_.trials()};
    if (const Trial* best = tuner_.best()) {
      result.best = *best;
      result.best_params = params_of(best->parameters);
      result.best_model_dir = tuning::trial_folder(options_.folder, best->number);
    }
    return result;
  }

  const SearchOptions& options_;
  const TrialFunction& train_;
  tuning::Tuner tuner_;
  Storage& storage_;
  std::deque<tuning::TunerAction> actions_;
};

Result<SearchResult> run_search_call(const SearchOptions& options, const TrialFunction& train) {
  SHOAL_TRY(const tuning::SearchHeader header, header_of(options));
  SHOAL_TRY(tuning::Tuner tuner, tuner_of(options, header));
  const std::unique_ptr<Storage> storage = make_file_storage();
  return SearchCall(options, train, std::move(tuner), *storage).run(header);
}

}  // namespace

SearchResult search(const SearchOptions& options, const TrialFunction& train) {
  return value_or_raise(run_search_call(options, train));
}

}  // namespace shoal
