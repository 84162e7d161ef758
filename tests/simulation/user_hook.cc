#include "user_hook.h"

#include <stdexcept>

namespace shoal::simulation {
namespace {

constexpr uint64_t kFetchEvery = 7;

class UserHook final : public Hook {
 public:
  UserHook(std::string task, const JobPlan& job, bool acts, std::shared_ptr<JobNotes> notes)
      : task_(std::move(task)),
        stops_at_(acts ? job.hook_stops_at : std::nullopt),
        throws_at_(acts ? job.hook_throws_at : std::nullopt),
        max_steps_(job.max_steps == 0 ? 0 : uint64_t(job.max_steps + notes->more_steps)),
        alone_(job.local),
        paced_(job.local || job.updates != Updates::kAsync),
        several_(job.size.ps > 1),
        exact_(job.compression.empty()),
        notes_(std::move(notes)) {}

  void begin(HookSetup& setup) override {
    expect(state_ == State::kNew, "begin() was called again");
    state_ = State::kBegun;
    setup.fetch("the same loss", setup.loss());
    for (int i = 0; i < kCountVariables; ++i) {
      const Variable* const count = setup.graph().find_variable(count_variable(i));
      setup.fetch(count->name, Value(&setup.graph(), count->node, 0));
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
  }
  void after_step(RunContext& run, const StepValues& values) override {
    expect(state_ == State::kInStep, "after_step() was called without before_step()");
    // A save that its servers do not outlive takes the rest of its iteration with it.
    expect(run.iterations() == iterations_ + 1 || (readied_ && run.iterations() > iterations_),
           "iterations() did not grow by one");
    expect(run.global_step() >= step_, "the global step fell in a step");
    if (values.fetched()) {
      expect(double(values["the same loss"].as<float>()[0]) == values.loss(),
             "what was fetched is not the loss of the step");
      look_at_weights(run, values);
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
  void end(RunContext&) override {
    expect(state_ == State::kBetween || state_ == State::kInStep, "end() was called before after_ready(), or twice");
    state_ = State::kEnded;
  }

 private:
  enum class State { kNew, kBegun, kBetween, kInStep, kEnded };

  void expect(bool holds, const std::string& sentence) {
    if (!holds) notes_->violations.push_back("a hook of " + task_ + ": " + sentence);
  }

  /// A step computes on the newest weights that its trainer has (CONTRACT TL-2): as often as they were updated they say
  /// themselves. A server that applies what comes may have gone on; several of them are at several steps when a trainer
  /// meets them (again), and of a save a chief learns a step without its weights: there the hook does not know what to ask.
  void look_at_weights(const RunContext& run, const StepValues& values) {
    if (!exact_ || (!alone_ && run.is_chief()) || (!paced_ && (several_ || readied_))) return;
    for (int i = 0; i < kCountVariables; ++i) {
      const auto updates = uint64_t(values[count_variable(i)].as<float>()[0]);
      if (paced_ ? updates == began_at_ : updates >= began_at_) continue;
      expect(false, "a step that began at global step " + std::to_string(began_at_) + " read " + count_variable(i) +
                        " as it was after update " + std::to_string(updates));
    }
  }

  const std::string task_;
  const std::optional<int64_t> stops_at_, throws_at_;
  const uint64_t max_steps_;
  const bool alone_;  // True without a cluster.
  const bool paced_;  // True if the model changes by this trainer's steps alone, or by steps of all.
  const bool several_;  // True if there are several servers.
  const bool exact_;  // True if weights come as they are on their server.
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
                                    config.trainer_index() == job.hook_trainer, std::move(notes));
}

}  // namespace shoal::simulation
