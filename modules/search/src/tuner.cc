// SPDX-License-Identifier: Apache-2.0
#include "shoal/search/tuner.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>

#include "shoal/base/stop.h"

namespace shoal::tuning {
namespace {

constexpr Duration kLongestWait = std::chrono::seconds(30);

bool runs(const Trial& trial) { return trial.state == Trial::State::kRunning || trial.state == Trial::State::kEnding; }

// gnu::noinline: otherwise g++ 12 warns about std::variant alternatives that the moved actions do not hold.
template <class One>
[[gnu::noinline]] void note(TunerActions& actions, const One& record) {
  std::get<Note>(actions.emplace_back(std::in_place_type<Note>)).record.template emplace<One>(record);
}

template <class One>
[[gnu::noinline]] void say(TunerActions& actions, const One& action) {
  actions.emplace_back(std::in_place_type<One>, action);
}

Trial::State state_after(Outcome outcome) {
  static constexpr std::array kStates{Trial::State::kComplete, Trial::State::kStopped, Trial::State::kFailed,
                                      Trial::State::kWaiting};
  return kStates[size_t(outcome)];
}

}  // namespace

std::string_view to_string(Trial::State state) {
  static constexpr std::array<std::string_view, 6> kNames{"waiting", "running", "ending", "complete", "stopped", "failed"};
  return kNames[size_t(state)];
}

Tuner::Tuner(const TunerOptions& options, std::unique_ptr<Sampler> sampler, std::optional<Asha> asha)
    : options_(options), sampler_(std::move(sampler)), asha_(std::move(asha)) {}

Result<void> Tuner::replay(const std::vector<Record>& records) {
  for (const Record& record : records) {
    if (const auto* created = std::get_if<TrialCreated>(&record)) {
      if (sampler_->next() != created->parameters) {
        return data_loss(
            "trial " + std::to_string(created->trial) +
            " of the journal has other parameters than its space and seed give; begin another search in another folder");
      }
      trials_.push_back({.number = created->trial, .parameters = created->parameters});
      attempts_.emplace_back();
    } else if (const auto* started = std::get_if<TrialStarted>(&record)) {
      trials_[size_t(started->trial)].attempts = started->attempt;
    } else if (const auto* observed = std::get_if<TrialObserved>(&record)) {
      Trial& trial = trials_[size_t(observed->trial)];
      trial.value = observed->value;
      trial.step = observed->step;
      if (asha_) asha_->observe(observed->trial, observed->step, observed->value);
      if (!observed->goes_on) trial.state = Trial::State::kEnding;
    } else if (const auto* interrupted = std::get_if<TrialInterrupted>(&record)) {
      trials_[size_t(interrupted->trial)].seconds += interrupted->seconds;
    } else {
      apply(std::get<TrialEnded>(record));
    }
  }
  return {};
}

TunerActions Tuner::begin(SteadyTime now) {
  TunerActions actions;
  for (const Trial& trial : trials_) {
    if (trial.state != Trial::State::kEnding) continue;
    // ASHA told this trial to end, but the search stopped before it recorded the end: records it now.
    settle({.trial = trial.number, .outcome = Outcome::kStopped, .value = trial.value, .step = trial.step}, actions);
  }
  fill(actions, now);
  return actions;
}

TunerActions Tuner::evaluated(int64_t number, int64_t step, double value, SteadyTime now) {
  TunerActions actions;
  Trial& trial = trials_[size_t(number)];
  trial.value = value;
  trial.step = step;
  if (!asha_ || trial.state != Trial::State::kRunning) return actions;
  if (const auto seen = asha_->observe(number, step, value)) {
    note(actions,
         TrialObserved{.trial = number, .rung = seen->rung, .step = step, .value = value, .goes_on = seen->goes_on});
    if (!seen->goes_on) ask_to_end(number, actions, now);
  }
  return actions;
}

void Tuner::ask_to_end(int64_t trial, TunerActions& actions, SteadyTime now) {
  trials_[size_t(trial)].state = Trial::State::kEnding;
  attempts_[size_t(trial)].decided = true;
  attempts_[size_t(trial)].kill_at = now + options_.kill_after;
  say(actions, SendSignal{.trial = trial, .signal = SIGTERM});
}

/// Decides from the end of an attempt whether the trial is complete, stopped, failed or restarted.
TrialEnded Tuner::judge(const Trial& trial, const AttemptEnd& end) const {
  TrialEnded ended{.trial = trial.number,
                   .status = end.status,
                   .value = end.value,
                   .step = end.step,
                   .seconds = end.seconds,
                   .error = end.error};
  if (!ended.value) {
    ended.value = trial.value;
    ended.step = trial.step;
  }
  const bool clean = end.status == 0 && !end.interrupted;
  if (attempts_[size_t(trial.number)].decided && !(clean && end.value)) {
    const bool out_of_time = attempts_[size_t(trial.number)].out_of_time;
    ended.outcome = ended.value ? Outcome::kStopped : Outcome::kFailed;
    ended.error = !out_of_time ? "" : ended.value ? "its time was over" : "its time was over before its first evaluation";
    return ended;
  }
  if (clean) {
    ended.outcome = ended.value ? Outcome::kComplete : Outcome::kFailed;
    return ended;
  }
  if (end.status == exit_status(ErrorKind::kNanLoss)) ended.value = std::nan("");
  if (end.interrupted && ended.error.empty()) ended.error = "a signal from outside of the search has ended it";
  const bool again = !is_permanent_status(end.status) && trial.failures < options_.retries;
  ended.outcome = again ? Outcome::kRetry : Outcome::kFailed;
  return ended;
}

void Tuner::apply(const TrialEnded& ended) {
  Trial& trial = trials_[size_t(ended.trial)];
  trial.state = state_after(ended.outcome);
  trial.value = ended.value;
  trial.step = ended.step;
  trial.seconds += ended.seconds;
  trial.status = ended.status;
  trial.error = ended.error;
  if (ended.outcome == Outcome::kRetry || ended.outcome == Outcome::kFailed) ++trial.failures;
}

void Tuner::settle(const TrialEnded& ended, TunerActions& actions) {
  apply(ended);
  note(actions, ended);
}

TunerActions Tuner::ended(int64_t number, const AttemptEnd& end, SteadyTime now) {
  TunerActions actions;
  Trial& trial = trials_[size_t(number)];
  Attempt& attempt = attempts_[size_t(number)];
  attempt.kill_at.reset();
  // If the end of the search stops a trial, the trial waits for the next start of the search. But if its process ended by
  // itself at the same time, the trial is complete or failed.
  const bool came_to_its_end = (end.status == 0 && !end.interrupted && end.value) || is_permanent_status(end.status);
  if (was_interrupted() && !attempt.decided && !came_to_its_end) {
    trial.state = Trial::State::kWaiting;
    trial.seconds += end.seconds;
    if (end.seconds > 0) note(actions, TrialInterrupted{.trial = number, .seconds = end.seconds});
    return actions;
  }
  settle(judge(trial, end), actions);
  if (trial.state == Trial::State::kWaiting) {
    const int64_t doublings = std::min<int64_t>(trial.failures - 1, 10);
    attempt.ready = now + std::min(kLongestWait, options_.first_wait * (int64_t(1) << std::max<int64_t>(doublings, 0)));
  }
  fill(actions, now);
  return actions;
}

TunerActions Tuner::interrupted(int signal, SteadyTime now) {
  TunerActions actions;
  const bool again = was_interrupted();
  if (again && now < *interrupted_at_ + kOneStopRequest) return actions;
  if (!again) interrupted_at_ = now;
  for (Trial& trial : trials_) {
    if (!runs(trial)) continue;
    if (!again && trial.state == Trial::State::kEnding) continue;  // This trial has its signal. A second interrupt kills.
    say(actions, SendSignal{.trial = trial.number, .signal = again ? SIGKILL : signal});
    trial.state = Trial::State::kEnding;
    attempts_[size_t(trial.number)].kill_at = now + options_.kill_after;
  }
  return actions;
}

void Tuner::left_open(int64_t trial) { trials_[size_t(trial)].state = Trial::State::kWaiting; }

/// Returns when the time of a running trial is over; nothing if it has no limit, or if its process has not begun.
std::optional<SteadyTime> Tuner::end_of_time(const Trial& trial) const {
  const std::optional<SteadyTime> begun = attempts_[size_t(trial.number)].begun;
  if (trial.state != Trial::State::kRunning || !options_.time_limit || !begun) return std::nullopt;
  return *begun + *options_.time_limit - seconds_to_duration(trial.seconds);
}

void Tuner::held_back(int64_t trial) { attempts_[size_t(trial)].begun.reset(); }

void Tuner::begun(int64_t trial, SteadyTime now) { attempts_[size_t(trial)].begun = now; }

TunerActions Tuner::time_passed(SteadyTime now) {
  TunerActions actions;
  for (const Trial& trial : trials_) {
    Attempt& attempt = attempts_[size_t(trial.number)];
    if (const auto end = end_of_time(trial); end && *end <= now) {
      attempt.out_of_time = true;
      ask_to_end(trial.number, actions, now);
    }
    if (runs(trial) && attempt.kill_at && *attempt.kill_at <= now) {
      attempt.kill_at = now + options_.kill_after;
      say(actions, SendSignal{.trial = trial.number, .signal = SIGKILL});
    }
  }
  fill(actions, now);
  return actions;
}

std::optional<SteadyTime> Tuner::next_time() const {
  std::optional<SteadyTime> next;
  const auto not_after = [&next](SteadyTime time) { next = std::min(next.value_or(time), time); };
  const bool room = running() < options_.parallel && !was_interrupted();
  for (const Trial& trial : trials_) {
    const Attempt& attempt = attempts_[size_t(trial.number)];
    if (const auto end = end_of_time(trial)) not_after(*end);
    if (runs(trial) && attempt.kill_at) not_after(*attempt.kill_at);
    if (trial.state == Trial::State::kWaiting && room) not_after(attempt.ready);
  }
  return next;
}

TunerActions Tuner::set_parallel(int parallel, SteadyTime now) {
  TunerActions actions;
  options_.parallel = std::max(parallel, 1);
  fill(actions, now);
  return actions;
}

int Tuner::running() const { return int(std::ranges::count_if(trials_, runs)); }

bool Tuner::create(TunerActions& actions) {
  if (sampler_is_empty_ || (options_.trials && int64_t(trials_.size()) >= *options_.trials)) return false;
  std::optional<Assignment> parameters = sampler_->next();
  if (!parameters) return sampler_is_empty_ = true, false;
  const int64_t number = int64_t(trials_.size());
  trials_.push_back({.number = number, .parameters = *parameters});
  attempts_.emplace_back();
  note(actions, TrialCreated{.trial = number, .parameters = *std::move(parameters)});
  return true;
}

/// Returns the first waiting trial that may start now, else a new trial.
std::optional<int64_t> Tuner::next_to_start(TunerActions& actions, SteadyTime now) {
  for (const Trial& trial : trials_) {
    if (trial.state == Trial::State::kWaiting && attempts_[size_t(trial.number)].ready <= now) return trial.number;
  }
  return create(actions) ? std::optional(trials_.back().number) : std::nullopt;
}

void Tuner::fill(TunerActions& actions, SteadyTime now) {
  for (int free = options_.parallel - running(); free > 0 && !was_interrupted(); --free) {
    const std::optional<int64_t> number = next_to_start(actions, now);
    if (!number) return;
    Trial& trial = trials_[size_t(*number)];
    trial.state = Trial::State::kRunning;
    ++trial.attempts;
    attempts_[size_t(*number)] = {.begun = now};
    note(actions, TrialStarted{.trial = *number, .attempt = trial.attempts});
    say(actions, StartTrial{.trial = *number});
  }
}

bool Tuner::is_done() const {
  if (running() > 0) return false;
  if (was_interrupted()) return true;
  const bool waits = std::ranges::any_of(trials_, [](const Trial& trial) { return !trial.has_ended(); });
  return !waits && (sampler_is_empty_ || (options_.trials && int64_t(trials_.size()) >= *options_.trials));
}

const Trial* Tuner::best() const {
  const Trial* best = nullptr;
  for (const Trial& trial : trials_) {
    const bool counts =
        trial.has_ended() && trial.state != Trial::State::kFailed && trial.value && !std::isnan(*trial.value);
    if (counts && (!best || is_better(*trial.value, *best->value, options_.goal))) best = &trial;
  }
  return best;
}

}  // namespace shoal::tuning
