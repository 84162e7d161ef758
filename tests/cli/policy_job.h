// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A job of one task of each role, for tests of the launcher's policy: without processes and without time passing.
#include <csignal>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launch/policy.h"

namespace shoal::cli::launch {

inline constexpr size_t kChief = 0, kPs = 1, kWorker = 2, kEvaluator = 3;

inline Ending status(int number) { return {.status = number}; }
inline Ending killed(int signal) { return {.signal = signal}; }

/// A job of one task of each role, at a time that the test sets.
class Job {
 public:
  explicit Job(PolicyOptions options = {})
      : policy_({{"chief 0", Role::kChief},
                 {"ps 0", Role::kServer},
                 {"worker 0", Role::kWorker},
                 {"evaluator 0", Role::kEvaluator}},
                options) {
    keep(policy_.begin(now_));
  }

  /// The actions and sentences since the last call.
  std::vector<std::string> deeds() { return std::exchange(deeds_, {}); }
  std::string said() { return std::exchange(said_, {}); }

  void end(size_t task, const Ending& ending) { keep(policy_.ended(task, ending, now_)); }
  void end_all(const Ending& ending) {
    for (const size_t task : {kChief, kPs, kWorker, kEvaluator}) end(task, ending);
  }
  void interrupt(int signal) { keep(policy_.interrupted(signal, now_)); }
  /// Sets the clock to the time for which the policy waits, and tells the policy. Returns false if the policy waits for no
  /// time within `limit`.
  bool wait(Duration limit) {
    const auto next = policy_.next_time();
    if (!next || *next > now_ + limit) return false;
    now_ = *next;
    keep(policy_.time_passed(now_));
    return true;
  }
  void pass(Duration time) { now_ += time; }
  Duration waiting() const { return *policy_.next_time() - now_; }
  std::optional<int> status_of_job() const { return policy_.status(); }
  const JobPolicy& policy() const { return policy_; }

 private:
  void keep(const Actions& actions) {
    for (const Action& action : actions) {
      if (const auto* start = std::get_if<Start>(&action)) deeds_.push_back("start " + std::to_string(start->task));
      if (const auto* send = std::get_if<Send>(&action))
        deeds_.push_back("send " + std::to_string(send->signal) + " to " + std::to_string(send->task));
      if (std::holds_alternative<ChoosePorts>(action)) deeds_.emplace_back("choose ports");
      if (const auto* say = std::get_if<Say>(&action)) said_ += say->text + "\n";
    }
  }

  SteadyTime now_{};
  JobPolicy policy_;
  std::vector<std::string> deeds_;
  std::string said_;
};

}  // namespace shoal::cli::launch
