// SPDX-License-Identifier: Apache-2.0
#include "shoal/search/search.h"

#include <deque>

#include "shoal/base/environment.h"
#include "shoal/base/process_info.h"
#include "shoal/base/time.h"
#include "shoal/estimator/eval_listener.h"
#include "shoal/estimator/train_and_evaluate.h"

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

/// For ASHA, copies its options into `header`; max_steps is required. For another algorithm, returns an error if an option
/// of ASHA is set.
Result<void> take_steps(const SearchOptions& options, tuning::SearchHeader& header) {
  if (options.algorithm != tuning::Algorithm::kAsha) {
    if (!options.min_steps && !options.max_steps && !options.eta) return {};
    return invalid_argument("min_steps, max_steps and eta are for the algorithm kAsha alone: leave them out");
  }
  if (!options.max_steps) {
    return invalid_argument(
        "the algorithm kAsha needs to know how many steps a trial takes that is not ended early: set max_steps");
  }
  header.max_steps = *options.max_steps;
  header.eta = options.eta.value_or(tuning::AshaOptions{}.eta);
  header.min_steps = options.min_steps.value_or(tuning::default_min_steps(header.max_steps, header.eta));
  return {};
}

int64_t step_of(const Metrics& metrics) {
  const auto step = metrics.find("global_step");
  return step == metrics.end() ? 0 : int64_t(step->second);
}

Result<tuning::SearchHeader> header_of(const SearchOptions& options) {
  if (options.folder.empty()) return invalid_argument("SearchOptions::folder is empty: name the folder of the search");
  tuning::SearchHeader header{.space = {}, .algorithm = options.algorithm, .seed = options.seed, .metric = options.metric};
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
  SHOAL_TRY_VOID(take_steps(options, header));
  return header;
}

Result<tuning::Tuner> tuner_of(const SearchOptions& options, const tuning::SearchHeader& header) {
  tuning::TunerOptions tuner{.trials = options.trials, .retries = 0, .goal = header.goal};
  if (options.algorithm == tuning::Algorithm::kGrid) {
    SHOAL_TRY(std::unique_ptr<tuning::Sampler> grid, tuning::grid_sampler(header.space));
    return tuning::Tuner(tuner, std::move(grid));
  }
  if (!tuner.trials) tuner.trials = kTrialsOfRandom;
  std::optional<tuning::Asha> asha;
  if (options.algorithm == tuning::Algorithm::kAsha) {
    SHOAL_TRY(asha,
              tuning::Asha::create(
                  {.min_steps = header.min_steps, .max_steps = header.max_steps, .eta = header.eta, .goal = header.goal}));
  }
  return tuning::Tuner(tuner, tuning::random_sampler(header.space, header.seed), std::move(asha));
}

class SearchCall {
 public:
  /// Trains the trial of that number, and returns its metrics.
  using Train = std::function<Metrics(int64_t trial, const Params& params, const RunConfig& config)>;

  SearchCall(const SearchOptions& options, tuning::Tuner tuner, Storage& storage)
      : options_(options), tuner_(std::move(tuner)), storage_(storage) {}

  Result<SearchResult> run(const tuning::SearchHeader& header, const Train& train) {
    SHOAL_TRY_VOID(storage_.make_folders(options_.folder));
    SHOAL_TRY(journal_, tuning::Journal::open(storage_, options_.folder, header, name_of(read_process_info())));
    SHOAL_TRY_VOID(tuner_.replay(journal_->records()));
    add(tuner_.begin(SteadyTime{}));
    while (!actions_.empty()) {
      const tuning::TunerAction action = std::move(actions_.front());
      actions_.pop_front();
      if (const auto* note = std::get_if<tuning::Note>(&action)) SHOAL_TRY_VOID(journal_->append(note->record));
      if (const auto* start = std::get_if<tuning::StartTrial>(&action)) SHOAL_TRY_VOID(run_trial(start->trial, train));
    }
    return result();
  }

  /// Records an evaluation of the trial that runs. Returns false if the trial must end now.
  bool evaluated(int64_t trial, int64_t step, double value) {
    for (const tuning::TunerAction& action : tuner_.evaluated(trial, step, value, SteadyTime{})) {
      if (const auto* note = std::get_if<tuning::Note>(&action)) {
        if (const auto written = journal_->append(note->record); !written) unwritten_ = written.error();
      }
      if (std::holds_alternative<tuning::SendSignal>(action)) ends_early_ = true;
    }
    return !ends_early_ && !unwritten_;
  }

 private:
  void add(const tuning::TunerActions& actions) { actions_.insert(actions_.end(), actions.begin(), actions.end()); }

  Result<void> run_trial(int64_t number, const Train& train) {
    if (options_.config.stop.stop_requested()) return cancelled();
    ends_early_ = false;
    const WallTime begun = read_wall_clock();
    Result<Metrics> metrics = call_user("trial " + std::to_string(number), [&] {
      RunConfigOptions config = options_.config;
      config.model_dir = tuning::trial_folder(options_.folder, number);
      cluster::TaskConfig task;
      task.trial = std::to_string(number);
      return train(number, params_of(tuner_.trials()[size_t(number)].parameters),
                   RunConfig(std::move(config), std::move(task)));
    });
    if (unwritten_) return *std::move(unwritten_);
    if (!metrics && metrics.error().kind() == ErrorKind::kCancelled) return std::move(metrics).error();
    // A stop makes training return early, so these metrics may be those of an unfinished trial.
    if (options_.config.stop.stop_requested()) return cancelled();
    tuning::AttemptEnd end{.interrupted = ends_early_, .seconds = to_seconds(read_wall_clock() - begun)};
    if (!metrics) {
      // The trial has failed. The tuner does not try it again (retries is 0): in the same program the failure would repeat.
      end.status = exit_status(metrics.error().kind());
      end.error = metrics.error().message();
    } else if (const auto value = metrics->find(options_.metric); value != metrics->end()) {
      end.value = value->second;
      end.step = step_of(*metrics);
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
  tuning::Tuner tuner_;
  Storage& storage_;
  std::optional<tuning::Journal> journal_;
  std::deque<tuning::TunerAction> actions_;
  bool ends_early_ = false;           // True once the trial that runs was told to end.
  std::optional<Error> unwritten_{};  // The error of a record that could not be written while a trial ran.
};

/// Reports the evaluations of a trial to its search, and ends the trial when the search says so.
class ReportingListener : public EvalListener {
 public:
  ReportingListener(SearchCall& call, int64_t trial, std::string metric, std::shared_ptr<EvalListener> own)
      : call_(call), trial_(trial), metric_(std::move(metric)), own_(std::move(own)) {}

  bool before_eval() override { return !own_ || own_->before_eval(); }
  bool after_eval(const EvalOutcome& look) override {
    bool goes_on = !own_ || own_->after_eval(look);
    const auto value = look.metrics.find(metric_);
    if (value != look.metrics.end()) goes_on &= call_.evaluated(trial_, step_of(look.metrics), value->second);
    return goes_on;
  }

 private:
  SearchCall& call_;
  const int64_t trial_;
  const std::string metric_;
  const std::shared_ptr<EvalListener> own_;  // The listener of the experiment; may be null.
};

/// Trains and evaluates the experiment of one trial.
Metrics run_trial_experiment(const SearchOptions& options, Experiment experiment, SearchCall& call, int64_t trial) {
  experiment.eval_spec.listener =
      std::make_shared<ReportingListener>(call, trial, options.metric, std::move(experiment.eval_spec.listener));
  if (options.algorithm == tuning::Algorithm::kAsha) {
    experiment.train_spec.max_steps = *options.max_steps;
    experiment.eval_spec.throttle_secs = 0;
  }
  const EvalSpec spec = experiment.eval_spec;
  const TrainAndEvaluateResult result =
      train_and_evaluate(experiment.estimator, std::move(experiment.train_spec), std::move(experiment.eval_spec));
  if (result.metrics) return *result.metrics;
  // An earlier process trained the trial to its end, and was lost before it recorded the value.
  return experiment.estimator.evaluate(spec.input_fn, {.steps = spec.steps, .hooks = spec.hooks, .name = spec.name});
}

Result<SearchResult> run_search(const SearchOptions& options, const TrialFunction& train) {
  if (!train) return invalid_argument("search: a function that trains is required");
  if (options.algorithm == tuning::Algorithm::kAsha) {
    return invalid_argument(
        "the algorithm kAsha needs trials whose evaluations the search sees: give search() a function "
        "that returns an Experiment");
  }
  SHOAL_TRY(const tuning::SearchHeader header, header_of(options));
  SHOAL_TRY(tuning::Tuner tuner, tuner_of(options, header));
  const std::unique_ptr<Storage> storage = make_file_storage();
  SearchCall call(options, std::move(tuner), *storage);
  return call.run(header,
                  [&train](int64_t, const Params& params, const RunConfig& config) { return train(params, config); });
}

Result<SearchResult> run_search_of_experiments(SearchOptions options, const TrialExperiment& make) {
  if (!make) return invalid_argument("search: a function that makes an experiment is required");
  SHOAL_TRY(const tuning::SearchHeader header, header_of(options));
  SHOAL_TRY(tuning::Tuner tuner, tuner_of(options, header));
  const bool has_interval =
      !options.config.save_checkpoints_steps.is_unset() || !options.config.save_checkpoints_secs.is_unset();
  if (options.algorithm == tuning::Algorithm::kAsha && !has_interval) {
    options.config.save_checkpoints_steps = header.min_steps;
  }
  const std::unique_ptr<Storage> storage = make_file_storage();
  SearchCall call(options, std::move(tuner), *storage);
  return call.run(header, [&](int64_t trial, const Params& params, const RunConfig& config) {
    return run_trial_experiment(options, make(params, config), call, trial);
  });
}

}  // namespace

SearchResult search(const SearchOptions& options, const TrialFunction& train) {
  return value_or_raise(run_search(options, train));
}

SearchResult search(const SearchOptions& options, const TrialExperiment& make) {
  return value_or_raise(run_search_of_experiments(options, make));
}

}  // namespace shoal
