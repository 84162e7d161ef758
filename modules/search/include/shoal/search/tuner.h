// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What a search does next: which trials begin, go on and end. A state machine without processes, files and clocks: whoever carries a
/// search out tells the Tuner what has happened, and does what the Tuner says, in its order.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "shoal/base/time.h"
#include "shoal/search/asha.h"
#include "shoal/search/journal.h"
#include "shoal/search/sampler.h"

namespace shoal::tuning {

struct TunerOptions {
  std::optional<int64_t> trials{};                 ///< How many trials there are; nothing: all that the sampler has.
  int parallel = 1;                                ///< How many run at the same time, 1 or more.
  int retries = 2;                                 ///< How often a trial is started again after failures that may go away.
  std::optional<Duration> time_limit{};            ///< How long a trial may run, all its attempts together.
  Duration kill_after = std::chrono::seconds(30);  ///< How long a trial may take to end once it is asked to.
  Duration first_wait = std::chrono::seconds(1);   ///< Before a trial is started again; twice as long each further time.
  Goal goal = Goal::kMin;
};

struct Trial {
  enum class State : uint8_t { kWaiting, kRunning, kEnding, kComplete, kStopped, kFailed };
  int64_t number = 0;
  Assignment parameters{};
  State state = State::kWaiting;
  int64_t attempts = 0;           ///< How often a process of it was started.
  int64_t failures = 0;           ///< Attempts that have failed.
  std::optional<double> value{};  ///< The metric of its last evaluation.
  int64_t step = 0;               ///< The global step of that.
  double seconds = 0;             ///< Seconds of all its attempts that have ended.
  int64_t status = 0;
  std::string error{};

  bool has_ended() const { return state >= State::kComplete; }
};
/// "waiting", "running", "ending", "complete", "stopped", "failed".
std::string_view to_string(Trial::State state);

/// How an attempt has ended.
struct AttemptEnd {
  int64_t status = 0;             ///< As in TrialEnded.
  bool interrupted = false;       ///< True: the program has ended by a signal, before its time, with status 0.
  std::optional<double> value{};  ///< The metric of its last evaluation; nothing: there was none.
  int64_t step = 0;
  double seconds = 0;
  std::string error{};  ///< The program's last words, if it has failed.
};

// What a Tuner says.
struct Note {
  Record record;  ///< To be in the journal before anything that follows.
};
struct StartTrial {
  int64_t trial = 0;
};
struct SendSignal {
  int64_t trial = 0;
  int signal = 0;
};
using TunerAction = std::variant<Note, StartTrial, SendSignal>;
using TunerActions = std::vector<TunerAction>;

/// Times of all calls are of one clock, and do not go back.
class Tuner {
 public:
  /// `asha`: what ends trials early, if anything does.
  Tuner(const TunerOptions& options, std::unique_ptr<Sampler> sampler, std::optional<Asha> asha = {});

  /// Takes over what a journal holds. Before begin(). DataLoss if a trial has other parameters than the sampler gives it.
  Result<void> replay(const std::vector<Record>& records);

  TunerActions begin(SteadyTime now);
  /// A running trial has evaluated.
  TunerActions evaluated(int64_t trial, int64_t step, double value, SteadyTime now);
  /// The process of a trial has ended, or could not be started.
  TunerActions ended(int64_t trial, const AttemptEnd& end, SteadyTime now);
  /// A signal came: running trials get it, and no other begins. A second one kills them.
  TunerActions interrupted(int signal, SteadyTime now);
  /// The time next_time() has come.
  TunerActions time_passed(SteadyTime now);
  std::optional<SteadyTime> next_time() const;
  /// Changes how many run at the same time. What runs goes on.
  TunerActions set_parallel(int parallel, SteadyTime now);

  /// Nothing runs, and nothing is left to be started, or a signal came.
  bool is_done() const;
  bool was_interrupted() const { return interrupted_; }
  const std::vector<Trial>& trials() const { return trials_; }
  /// The trial with the best value of those that have not failed; the earlier of two that are equal. Null: none has a value.
  const Trial* best() const;

 private:
  struct Attempt {  // What only a trial that waits or runs has.
    SteadyTime begun{}, ready{};
    std::optional<SteadyTime> kill_at{};
    bool decided = false;  // It was asked to end, and the trial with it: by a verdict, or for its time.
    bool out_of_time = false;
  };
  void fill(TunerActions& actions, SteadyTime now);
  std::optional<int64_t> next_to_start(TunerActions& actions, SteadyTime now);
  bool create(TunerActions& actions);
  void ask_to_end(int64_t trial, TunerActions& actions, SteadyTime now);
  void settle(const TrialEnded& ended, TunerActions& actions);
  TrialEnded judge(const Trial& trial, const AttemptEnd& end) const;
  void apply(const TrialEnded& ended);
  int running() const;

  TunerOptions options_;
  std::unique_ptr<Sampler> sampler_;
  std::optional<Asha> asha_;
  std::vector<Trial> trials_;
  std::vector<Attempt> attempts_;  // By trial.
  bool sampler_is_empty_ = false;
  bool interrupted_ = false;
};

}  // namespace shoal::tuning
