// SPDX-License-Identifier: Apache-2.0
#include "user_hook.h"

#include <stdexcept>

#include "shoal/base/finite.h"

namespace shoal::simulation {
namespace {

constexpr uint64_t kFetchEvery = 7;

/// Of which step a trainer's step reads the weights, as far as its hook knows.
enum class Reads { kWhatThereIs, kItsStep, kItsStepWhileAllTakePart, kItsStepOrLater };

Reads reads_of(const JobPlan& job, int64_t trainer) {
  if (!job.compression.empty()) return Reads::kWhatThereIs;  // They are only about what they are on their server.
  if (job.local) return Reads::kItsStep;
  if (trainer == 0) return Reads::kWhatThereIs;                 // Of a save a chief learns a step without its weights.
  const bool without_it = aggregated(job) <= job.size.workers;  // Steps may be made without this trainer.
  if (job.updates != Updates::kAsync && job.size.ps == 1) return Reads::kItsStep;
  // Once somebody was away for longer than the grace, the others make that share, and steps are made without this trainer too.
  if (job.updates != Updates::kAsync && !without_it) return Reads::kItsStepWhileAllTakePart;
  // A server that applies what comes may have gone on; several are at several steps when a trainer meets them (again). What
  // it computes then does not count where updates are synchronous.
  return job.size.ps == 1 ? Reads::kItsStepOrLater : Reads::kWhatThereIs;
}

class UserHook final : public Hook {
 public:
  UserHook(std::string task, const JobPlan& job, bool acts, bool poisons, Reads reads, std::shared_ptr<JobNotes> notes)
      : task_(std::move(task)),
        stops_at_(acts ? job.hook_stops_at : std::nullopt),
        throws_at_(acts ? job.hook_throws_at : std::nullopt),
        job_(job),
        poisons_(poisons),
        max_steps_(job.max_steps == 0 ? 0 : uint64_t(job.max_steps + notes->more_steps)),
        reads_(reads),
        notes_(std::move(notes)) {}

  void begin(HookSetup& setup) override {
    expect(state_ == State::kNew, "begin() was called again");
    state_ = State::kBegun;
    setup.fetch("the same loss", setup.loss());
    for (int i = 0; i < kCountVariables; ++i) {
      setup.fetch(count_variable(i), setup.value(count_variable(i)));
      if (job_.final_values) setup.fetch_at_end(count_variable(i), setup.value(count_variable(i)));
    }
  }
  void after_ready(RunContext& run) override {
    expect(state_ != State::kNew && state_ != State::kEnded, "after_ready() was called before begin(), or after end()");
    state_ = State::kBetween;
    readied_ = true;
    step_ = run.global_step();
    // What was asked for at the last step of all asked for nothing, once the job is no longer there.
    if (step_ < max_steps_) asked_to_stop_ = asked_to_stop_ && asked_at_ < max_steps_;
  }
  void before_step(RunContext& run, StepRequest& request) override {
    expect(state_ == State::kBetween, "before_step() was called before after_ready(), or twice");
    expect(!asked_to_stop_, "a step followed the one in which a stop was asked for");
    expect(run.global_step() >= step_, "the global step fell between two calls");
    state_ = State::kInStep;
    began_at_ = run.global_step();
    if (run.iterations() % kFetchEvery == 0) request.fetch();
    poison(request);
  }
  void after_step(RunContext& run, const StepValues& values) override {
    expect(state_ == State::kInStep, "after_step() was called without before_step()");
    // A save that its servers do not outlive takes the rest of its iteration with it.
    expect(run.iterations() == iterations_ + 1 || (readied_ && run.iterations() > iterations_),
           "iterations() did not grow by one");
    expect(run.global_step() >= step_, "the global step fell in a step");
    if (values.fetched()) {
      const double fetched = double(values["the same loss"].as<float>()[0]);
      expect(fetched == values.loss() || (is_nan(fetched) && is_nan(values.loss())),
             "what was fetched is not the loss of the step");
      look_at_weights(values);
    }
    state_ = State::kBetween;
    readied_ = false;
    iterations_ = run.iterations();
    step_ = run.global_step();
    if (throws_at_ && int64_t(step_) >= *throws_at_ && !std::exchange(notes_->hook_threw, true)) {
      throw std::runtime_error("a hook of the user has had enough");
    }
    if (stops_at_ && int64_t(step_) >= *stops_at_) {
      run.request_stop();
      asked_to_stop_ = notes_->hook_stopped = true;
      asked_at_ = step_;
    }
  }
  void end(RunContext& run) override {
    expect(state_ == State::kBetween || state_ == State::kInStep, "end() was called before after_ready(), or twice");
    state_ = State::kEnded;
    if (job_.final_values) look_at_final_values(run);
  }

 private:
  /// Once, and not too late for others to be told before the job's end.
  void poison(StepRequest& request) {
    constexpr uint64_t kTooLate = 20;
    const auto from = uint64_t(job_.poison_at);
    if (!poisons_ || notes_->cured || notes_->poisoned || began_at_ < from || began_at_ > from + kTooLate) return;
    notes_->poisoned = true;
    request.feed("features", poison_of(job_));
  }

  /// They are of the weights of the last step, on whatever servers these lie (CONTRACT HK-8).
  void look_at_final_values(const RunContext& run) {
    const bool wanted = run.is_chief() && run.iterations() > 0;
    expect(run.has_final_values() == wanted, wanted ? "end() has no final values" : "end() has final values");
    if (!run.has_final_values() || !job_.compression.empty()) return;  // What was kept back is added to later updates.
    for (int i = 0; i < kCountVariables; ++i) {
      const auto updates = uint64_t(run.final_value(count_variable(i)).as<float>()[0]);
      expect(updates == run.global_step(), count_variable(i) + " is " + std::to_string(updates) +
                                               " in the end, at global step " + std::to_string(run.global_step()));
    }
  }

  enum class State { kNew, kBegun, kBetween, kInStep, kEnded };

  void expect(bool holds, const std::string& sentence) {
    if (!holds) notes_->violations.push_back("a hook of " + task_ + ": " + sentence);
  }

  /// A step computes on the newest weights that its trainer has (CONTRACT TL-2): as often as they were updated they say
  /// themselves.
  void look_at_weights(const StepValues& values) {
    for (int i = 0; i < kCountVariables && reads_ != Reads::kWhatThereIs; ++i) {
      const auto updates = uint64_t(values[count_variable(i)].as<float>()[0]);
      if (reads_ == Reads::kItsStepOrLater ? updates >= began_at_ : updates == began_at_) continue;
      auto& told = reads_ == Reads::kItsStepWhileAllTakePart ? notes_->violations_while_all_take_part : notes_->violations;
      told.push_back("a hook of " + task_ + ": a step that began at global step " + std::to_string(began_at_) + " read " +
                     count_variable(i) + " as it was after update " + std::to_string(updates));
    }
  }

  const std::string task_;
  const std::optional<int64_t> stops_at_, throws_at_;
  const JobPlan job_;
  const bool poisons_;
  const uint64_t max_steps_;
  const Reads reads_;
  const std::shared_ptr<JobNotes> notes_;
  State state_ = State::kNew;
  bool readied_ = false;  // True if after_ready() was called since the last step.
  bool asked_to_stop_ = false;
  uint64_t asked_at_ = 0;  // The step after which it asked.
  uint64_t iterations_ = 0;
  uint64_t step_ = 0;
  uint64_t began_at_ = 0;  // The global step with which the current step began.
};

}  // namespace

std::shared_ptr<Hook> user_hook(const JobPlan& job, const RunConfig& config, std::shared_ptr<JobNotes> notes) {
  return std::make_shared<UserHook>("trainer " + std::to_string(config.trainer_index()), job,
                                    config.trainer_index() == job.hook_trainer,
                                    job.poison != Poison::kNone && config.trainer_index() == job.poison_trainer,
                                    reads_of(job, config.trainer_index()), std::move(notes));
}

}  // namespace shoal::simulation
