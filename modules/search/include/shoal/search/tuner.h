// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The policy of a search: which trials begin, continue and end. A Tuner is a state machine without processes, files and
/// clocks. Its caller reports events to the Tuner and carries out the actions that the Tuner returns, in order.
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
  std::optional<int64_t> trials{};  ///< The number of trials. Nothing: as many as the sampler gives.
  int parallel = 1;                 ///< The number of trials that run at the same time, 1 or more.
  int retries = 2;                  ///< The number of restarts of a trial after failures that may be temporary.
  /// The longest time of a trial, all attempts together, also of earlier starts of the search. What does not count: the
  /// time in which a trial waits for an earlier process of its own, and attempts that ended because the search was killed,
  /// which could not record their time.
  std::optional<Duration> time_limit{};
  Duration kill_after = std::chrono::seconds(30);  ///< The time from SIGTERM until SIGKILL.
  Duration first_wait = std::chrono::seconds(1);   ///< The wait before the first restart, doubled for each further one.
  Goal goal = Goal::kMin;
};

struct Trial {
  enum class State : uint8_t { kWaiting, kRunning, kEnding, kComplete, kStopped, kFailed };
  int64_t number = 0;
  Assignment parameters{};
  State state = State::kWaiting;
  int64_t attempts = 0;           ///< The number of attempts begun.
  int64_t failures = 0;           ///< The number of attempts that have failed.
  std::optional<double> value{};  ///< The metric of the last evaluation.
  int64_t step = 0;               ///< The global step of the last evaluation.
  double seconds = 0;             ///< The time of all ended attempts together.
  int64_t status = 0;
  std::string error{};

  bool has_ended() const { return state >= State::kComplete; }
};
/// Returns "waiting", "running", "ending", "complete", "stopped" or "failed".
std::string_view to_string(Trial::State state);

/// The end of an attempt, as the caller observed it.
struct AttemptEnd {
  int64_t status = 0;             ///< The exit status, as in TrialEnded.
  bool interrupted = false;       ///< True if a signal ended the program early, with status 0.
  std::optional<double> value{};  ///< The metric of the last evaluation; nothing if there was none.
  int64_t step = 0;
  double seconds = 0;
  std::string error{};  ///< The last error that the program printed, if it failed.
};

// The actions that a Tuner returns for its caller to carry out: Note, StartTrial and SendSignal.
struct Note {
  Record record;  ///< The caller writes this record to the journal before it carries out the actions that follow.
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

/// Decides the actions of a search. The times `now` of all calls come from one clock and never decrease.
class Tuner {
 public:
  /// `asha` ends trials early. Without it no trial is ended early.
  Tuner(const TunerOptions& options, std::unique_ptr<Sampler> sampler, std::optional<Asha> asha = {});

  /// Restores the state from the records of a journal. Call it before begin(). DataLoss if a trial has other parameters
  /// than the sampler chooses for it.
  Result<void> replay(const std::vector<Record>& records);

  TunerActions begin(SteadyTime now);
  /// Reports that the process of a trial has not begun at its StartTrial, since an earlier process of the trial still runs.
  /// The trial's time does not count until begun() is called.
  void held_back(int64_t trial);
  /// Reports that the process of a trial has begun after held_back(). Without held_back() a process begins at StartTrial.
  void begun(int64_t trial, SteadyTime now);
  /// Reports an evaluation of a running trial.
  TunerActions evaluated(int64_t trial, int64_t step, double value, SteadyTime now);
  /// Reports that the process of a trial has ended.
  TunerActions ended(int64_t trial, const AttemptEnd& end, SteadyTime now);
  /// Reports a signal to the search: running trials get the same signal, and no further trial begins. A second signal,
  /// half a second or more after the first, kills them.
  TunerActions interrupted(int signal, SteadyTime now);
  /// Reports after interrupted() that a trial was not started, or that its results cannot be read now. The trial waits for
  /// the next start of the search.
  void left_open(int64_t trial);
  /// Reports that next_time() has come.
  TunerActions time_passed(SteadyTime now);
  std::optional<SteadyTime> next_time() const;
  /// Changes the number of trials that run at the same time. Running trials continue.
  TunerActions set_parallel(int parallel, SteadyTime now);

  /// True if no trial runs, and either all trials have ended or a signal came.
  bool is_done() const;
  bool was_interrupted() const { return interrupted_at_.has_value(); }
  const std::vector<Trial>& trials() const { return trials_; }
  Goal goal() const { return options_.goal; }
  /// The best of the trials that have not failed; the earlier of two equal ones. Null if none has a value.
  const Trial* best() const;

 private:
  struct Attempt {                      // State that only waiting and running trials need.
    std::optional<SteadyTime> begun{};  // Nothing while the attempt waits for an earlier process.
    SteadyTime ready{};
    std::optional<SteadyTime> kill_at{};
    bool decided = false;  // True once the trial was told to end for good: by ASHA or at its time limit.
    bool out_of_time = false;
  };
  void fill(TunerActions& actions, SteadyTime now);
  std::optional<int64_t> next_to_start(TunerActions& actions, SteadyTime now);
  bool create(TunerActions& actions);
  void ask_to_end(int64_t trial, TunerActions& actions, SteadyTime now);
  void settle(const TrialEnded& ended, TunerActions& actions);
  TrialEnded judge(const Trial& trial, const AttemptEnd& end) const;
  void apply(const TrialEnded& ended);
  std::optional<SteadyTime> end_of_time(const Trial& trial) const;
  int running() const;

  TunerOptions options_;
  std::unique_ptr<Sampler> sampler_;
  std::optional<Asha> asha_;
  std::vector<Trial> trials_;
  std::vector<Attempt> attempts_;  // Indexed by trial.
  bool sampler_is_empty_ = false;
  std::optional<SteadyTime> interrupted_at_{};  // The time of the first signal.
};

}  // namespace shoal::tuning
