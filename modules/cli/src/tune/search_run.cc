// SPDX-License-Identifier: Apache-2.0
#include "tune/search_run.h"

#include <algorithm>
#include <csignal>
#include <deque>
#include <list>

#include "launch/guard.h"
#include "launch/inbox.h"
#include "launch/screen.h"
#include "shoal/base/process_info.h"
#include "shoal/base/utc_text.h"
#include "tune/running_trial.h"
#include "tune/search_end.h"
#include "tune/search_events.h"
#include "tune/search_table.h"
#include "tune/trial_command.h"

namespace shoal::cli::tune {
namespace {

using launch::steady_now;
using tuning::Trial;

constexpr Duration kLook = std::chrono::milliseconds(50);
constexpr Duration kPatienceOfGuard = std::chrono::seconds(20);
constexpr Duration kPatienceWithOldProcess = std::chrono::seconds(60);

bool table_is_shown(const Context& context, const TuneOptions& options) {
  return !options.quiet && context.terminals.errors && (context.terminals.output || options.json);
}

std::unique_ptr<tuning::Sampler> random_trials(const TuneOptions& options) {
  return tuning::random_sampler(options.header.space, options.header.seed);
}

class SearchRun {
 public:
  SearchRun(Context& context, const TuneOptions& options, tuning::Tuner tuner, std::string file)
      : context_(context),
        options_(options),
        tuner_(std::move(tuner)),
        file_(std::move(file)),
        screen_(
            context, table_is_shown(context, options), options.json,
            [this](TableSize size) { return search_lines(tuner_, size); }, "tune") {}

  Result<int> run();

 private:
  Result<void> prepare();
  Result<void> search();
  Result<void> carry_out(const tuning::TunerActions& actions);
  Result<void> begin(int64_t trial);
  Result<void> give_up(int64_t trial, Error why);
  Result<void> turn();
  void wait();
  Result<void> heed(const std::vector<int>& signals);
  Result<void> begin_held_back();
  Result<void> look_at_evaluations();
  Result<void> settle_ends();
  Result<void> check_folder_of(int64_t trial) const;
  Result<void> end(std::list<RunningTrial>::iterator running);
  Result<void> heed_memory();
  void tell(const tuning::Record& record);
  void say(const std::string& text) {
    if (!options_.quiet) screen_.say(text);
  }

  Context& context_;
  const TuneOptions& options_;
  tuning::Tuner tuner_;
  const std::string file_;
  launch::Screen screen_;
  launch::OrphanAdoption adoption_;
  std::optional<tuning::Journal> journal_;
  std::optional<launch::SignalInbox> inbox_;
  std::optional<launch::Guard> guard_;
  std::list<RunningTrial> running_;
  std::deque<tuning::TunerAction> actions_;  // Actions of the tuner that are still to be carried out.
  bool carries_out_ = false;
  std::optional<Error> shortage_{};  // Why the search has ended early although no signal came.
  std::vector<std::pair<int64_t, SteadyTime>>
      held_back_;  // Trials that wait for the end of an earlier process of theirs, and when the search gives up.
  SteadyTime next_look_{};
  uint64_t bytes_of_a_trial_ = 0;  // The memory of the largest trial that has evaluated.
};

Result<int> SearchRun::run() {
  SHOAL_TRY_VOID(prepare());
  const Result<void> done = search();
  running_.clear();  // Ends the trials that still run if the search has ended with an error.
  screen_.begin_end();
  screen_.remove_table();
  screen_.finish(*inbox_);
  inbox_.reset();  // What follows may wait for a reader of the results, and a signal ends this process then.
  if (!done) return done.error();
  if (shortage_) return *std::move(shortage_);
  SHOAL_TRY_VOID(journal_->check_in_place());
  const Result<void> written = write_results(context_.storage, options_, tuner_);
  const int status = print_results(context_, options_, tuner_);  // Also if they could not be written.
  if (written) return status;
  context_.complain("the results could not be written: " + written.error().message() +
                    "; once this is mended, the same command writes them");
  return status == 0 ? exit_status(written.error().kind()) : status;
}

Result<void> SearchRun::prepare() {
  SHOAL_TRY_VOID(context_.storage.make_folders(join_path(options_.folder, "trials")));
  SHOAL_TRY(tuning::Journal journal,
            tuning::Journal::open(context_.storage, options_.folder, options_.header, name_of(read_process_info())));
  if (auto replayed = tuner_.replay(journal.records()); !replayed) {
    return std::move(replayed).error().with_context(join_path(options_.folder, "search.jsonl"));
  }
  journal_.emplace(std::move(journal));
  SHOAL_TRY(launch::SignalInbox inbox, launch::SignalInbox::open());
  inbox_.emplace(std::move(inbox));
  SHOAL_TRY(launch::Guard guard, launch::Guard::start("", kPatienceOfGuard));
  guard_.emplace(std::move(guard));
  if (tuner_.trials().empty()) {
    SHOAL_TRY_VOID(write_search_events(options_.folder, options_.header));
  } else {
    const auto ended = std::ranges::count_if(tuner_.trials(), &Trial::has_ended);
    say("continuing the search in " + options_.folder + ": " + std::to_string(ended) + " of " +
        std::to_string(tuner_.trials().size()) + " trials have ended");
  }
  return {};
}

Result<void> SearchRun::search() {
  SHOAL_TRY_VOID(carry_out(tuner_.begin(steady_now())));
  while (!tuner_.is_done()) SHOAL_TRY_VOID(turn());
  return {};
}

/// Carries out actions in the order in which the tuner gave them. An action may cause further actions, which wait until all
/// earlier actions are carried out, so the journal has every record in the tuner's order.
Result<void> SearchRun::carry_out(const tuning::TunerActions& actions) {
  actions_.insert(actions_.end(), actions.begin(), actions.end());
  if (std::exchange(carries_out_, true)) return {};
  while (!actions_.empty()) {
    const tuning::TunerAction action = std::move(actions_.front());
    actions_.pop_front();
    if (const auto* note = std::get_if<tuning::Note>(&action)) {
      SHOAL_TRY_VOID(journal_->append(note->record));
      tell(note->record);
    } else if (const auto* start = std::get_if<tuning::StartTrial>(&action)) {
      SHOAL_TRY_VOID(begin(start->trial));
    } else {
      const auto& send = std::get<tuning::SendSignal>(action);
      for (RunningTrial& running : running_) {
        if (running.number() == send.trial) running.send(send.signal);
      }
    }
  }
  carries_out_ = false;
  return {};
}

/// Ends the search because the machine lacks something that trials need: space, descriptors, processes. Other trials would
/// fail for the same reason, and not because of their parameters. So this trial stays open, and the trials that run are asked
/// to end, as by a signal to the search.
Result<void> SearchRun::give_up(int64_t number, Error why) {
  if (!shortage_) {
    shortage_ = Error(why.kind(), why.message() + "; no trial has failed by this: the same command continues the search")
                    .with_system_error(why.system_error());
    if (!running_.empty()) say("the search has to end early: trials save a checkpoint and end");
    if (!tuner_.was_interrupted()) SHOAL_TRY_VOID(carry_out(tuner_.interrupted(SIGTERM, steady_now())));
  }
  tuner_.left_open(number);
  return {};
}

/// Starts the process of a trial. If an earlier process of it still runs, adds the trial to held_back_ instead. No reason why
/// a trial cannot start is one of its parameters, so each ends the search: at once if it stays, else by give_up().
Result<void> SearchRun::begin(int64_t number) {
  // The search gave up, or a signal came, when the start of this trial was already decided.
  if (tuner_.was_interrupted()) return tuner_.left_open(number), Result<void>();
  SHOAL_TRY_VOID(journal_->check_in_place());  // RunningTrial::start() would make a removed folder anew.
  auto running = RunningTrial::start(context_.storage, options_, file_, tuner_.trials()[size_t(number)]);
  if (!running) {
    Error error = std::move(running).error().with_context("trial " + std::to_string(number) + " cannot be started");
    if (is_permanent(error.kind())) return error;
    return give_up(number, std::move(error));
  }
  if (*running) {
    tuner_.begun(number, steady_now());
    guard_->add((*running)->group().id());
    running_.push_back(*std::move(*running));
    return {};
  }
  tuner_.held_back(number);
  held_back_.emplace_back(number, steady_now() + kPatienceWithOldProcess);
  return {};
}

Result<void> SearchRun::begin_held_back() {
  const auto held_back = std::exchange(held_back_, {});
  for (const auto& [number, until] : held_back) {
    if (tuner_.was_interrupted()) {
      tuner_.left_open(number);
    } else if (steady_now() >= until) {
      const std::string lock = running_file(options_, number);
      SHOAL_TRY_VOID(give_up(number, unavailable("the old process " + holder_of(context_.storage, lock) + " of trial " +
                                                 std::to_string(number) + " still runs; end it")));
    } else {
      SHOAL_TRY_VOID(begin(number));
      if (!held_back_.empty() && held_back_.back().first == number) held_back_.back().second = until;
    }
  }
  return {};
}

Result<void> SearchRun::turn() {
  wait();
  SHOAL_TRY_VOID(heed(inbox_->take()));
  SHOAL_TRY_VOID(begin_held_back());
  if (steady_now() >= next_look_) {
    next_look_ = steady_now() + kLook;
    SHOAL_TRY_VOID(look_at_evaluations());
    SHOAL_TRY_VOID(heed_memory());
  }
  SHOAL_TRY_VOID(settle_ends());
  const auto next = tuner_.next_time();
  if (next && *next <= steady_now()) SHOAL_TRY_VOID(carry_out(tuner_.time_passed(steady_now())));
  screen_.update(steady_now());
  return {};
}

/// Waits until a signal comes (SIGCHLD: a process of the search has ended), or until the search has something to do at a
/// certain time. No signal announces new evaluations, which may end trials early, or the end of an earlier process of a
/// trial (see held_back_). So the search polls for both.
void SearchRun::wait() {
  std::optional<SteadyTime> until = tuner_.next_time();
  const auto not_after = [&until](SteadyTime time) { until = std::min(until.value_or(time), time); };
  const bool looks =
      options_.header.algorithm == tuning::Algorithm::kAsha || options_.memory_bytes > 0 || screen_.has_table();
  if (looks && !running_.empty()) not_after(next_look_);
  if (!held_back_.empty()) not_after(steady_now() + kLook);
  if (const auto update = screen_.next_update()) not_after(*update);
  const int signals = inbox_->descriptor();
  static_cast<void>(launch::wait_for_input(std::span(&signals, 1), until, screen_.writers()));
}

Result<void> SearchRun::heed(const std::vector<int>& signals) {
  for (const int signal : signals) {
    if (signal == SIGCHLD) {
      std::vector<pid_t> groups;
      for (RunningTrial& running : running_) {
        running.group().look();
        groups.push_back(running.group().id());
      }
      SHOAL_TRY_VOID(guard_->look());
      launch::reap_adopted(guard_->id(), groups);
    } else {
      const bool again = tuner_.was_interrupted();
      const auto actions = tuner_.interrupted(signal == SIGHUP ? SIGTERM : signal, steady_now());
      if (!again) say("signal received: trials save a checkpoint and end");
      if (again && !actions.empty()) say("second signal received: trials are killed");
      SHOAL_TRY_VOID(carry_out(actions));
    }
  }
  return {};
}

Result<void> SearchRun::look_at_evaluations() {
  for (RunningTrial& running : running_) {
    for (const Evaluation& one : running.new_evaluations()) {
      if (running.has_ended()) continue;  // SearchRun::end() reports them to the tuner if the trial has ended.
      SHOAL_TRY_VOID(carry_out(tuner_.evaluated(running.number(), one.step, one.value, steady_now())));
    }
  }
  return {};
}

/// Runs as many trials at a time as the memory has room for, judged by the largest trial so far.
Result<void> SearchRun::heed_memory() {
  if (options_.memory_bytes == 0) return {};
  for (RunningTrial& running : running_) bytes_of_a_trial_ = std::max(bytes_of_a_trial_, running.settled_bytes());
  if (bytes_of_a_trial_ == 0) return {};
  const uint64_t fit =
      std::clamp<uint64_t>(options_.memory_bytes / bytes_of_a_trial_, 1, uint64_t(options_.tuner.parallel));
  return carry_out(tuner_.set_parallel(int(fit), steady_now()));
}

Result<void> SearchRun::settle_ends() {
  for (auto running = running_.begin(); running != running_.end();) {
    const auto next = std::next(running);
    if (running->is_gone()) SHOAL_TRY_VOID(end(running));
    running = next;
  }
  return {};
}

/// Returns an error if the trial's folder was removed. The end of its process then says nothing of its parameters: the
/// process may have failed because of the removal, and its results are gone. So the trial stays open.
Result<void> SearchRun::check_folder_of(int64_t number) const {
  SHOAL_TRY_VOID(journal_->check_in_place());
  const std::string folder = trial_folder(options_, number);
  if (context_.storage.exists(folder)) return {};
  return failed_precondition("the folder " + folder + " of trial " + std::to_string(number) +
                             " was removed while the trial ran; the same command continues the search, and begins this "
                             "trial anew");
}

Result<void> SearchRun::end(std::list<RunningTrial>::iterator running) {
  const int64_t number = running->number();
  guard_->remove(running->group().id());
  SHOAL_TRY_VOID(check_folder_of(number));
  // Before the tuner learns that the trial has ended, it gets the trial's newest evaluations.
  for (const Evaluation& one : running->new_evaluations()) {
    SHOAL_TRY_VOID(carry_out(tuner_.evaluated(number, one.step, one.value, steady_now())));
  }
  bytes_of_a_trial_ = std::max(bytes_of_a_trial_, running->settled_bytes());
  const Result<tuning::AttemptEnd> end = running->attempt_end();
  running_.erase(running);
  if (!end) return give_up(number, end.error().with_context("the results of trial " + std::to_string(number)));
  return carry_out(tuner_.ended(number, *end, steady_now()));
}

void SearchRun::tell(const tuning::Record& record) {
  if (const auto* created = std::get_if<tuning::TrialCreated>(&record)) {
    if (!screen_.has_table()) say("trial " + std::to_string(created->trial) + ": " + tuning::text_of(created->parameters));
  }
  const auto* ended = std::get_if<tuning::TrialEnded>(&record);
  if (!ended || (screen_.has_table() && ended->error.empty())) return;
  const char* const again = ended->outcome == tuning::Outcome::kRetry ? "failed, and is started again" : nullptr;
  std::string text =
      "trial " + std::to_string(ended->trial) + ": " + (again ? again : std::string(to_string(ended->outcome)));
  if (ended->value)
    text +=
        ", " + options_.header.metric + " " + tuning::text_of(*ended->value) + " at step " + std::to_string(ended->step);
  say(text + (ended->error.empty() ? "" : "; " + ended->error));
}

}  // namespace

Result<int> run_search(Context& context, const TuneOptions& options) {
  SHOAL_TRY(std::string file,
            launch::find_program(options.launch.empty() ? options.header.program.front() : options.launch.front()));
  std::unique_ptr<tuning::Sampler> sampler;
  if (options.header.algorithm == tuning::Algorithm::kGrid) {
    SHOAL_TRY(sampler, tuning::grid_sampler(options.header.space));
  } else {
    sampler = random_trials(options);
  }
  std::optional<tuning::Asha> asha;
  if (options.header.algorithm == tuning::Algorithm::kAsha) {
    SHOAL_TRY(asha, tuning::Asha::create({.min_steps = options.header.min_steps,
                                          .max_steps = options.header.max_steps,
                                          .eta = options.header.eta,
                                          .goal = options.header.goal}));
  }
  tuning::TunerOptions begun = options.tuner;
  if (options.memory_bytes > 0) begun.parallel = 1;  // One at a time until a trial has shown how much memory it uses.
  tuning::Tuner tuner(begun, std::move(sampler), std::move(asha));
  return SearchRun(context, options, std::move(tuner), std::move(file)).run();
}

}  // namespace shoal::cli::tune
