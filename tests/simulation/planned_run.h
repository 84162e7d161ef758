// SPDX-License-Identifier: Apache-2.0
#pragma once
/// One run of one plan: what strikes it, how its tasks are started again, and what may not be.
#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "folder_checks.h"
#include "job.h"
#include "ledger.h"
#include "run.h"
#include "shoal/testing/world.h"

namespace shoal::simulation {

inline constexpr auto kLimit = std::chrono::minutes(40);          // The time in which the whole job must end.
inline constexpr auto kRestart = std::chrono::milliseconds(500);  // A launcher's pause, doubled each time.

/// One run of one plan.
class PlannedRun {
 public:
  PlannedRun(const Plan& plan, const RunOptions& options)
      : plan_(plan),
        ledger_(std::make_shared<Ledger>(plan.job.local ? 0 : plan.job.size.ps, plan.job.updates != Updates::kAsync,
                                         (plan.many_parts ? 4 : 1) * Ledger::kMessagesMax)),
        notes_(std::make_shared<JobNotes>()),
        world_(world_options(options)),
        folder_(world_, plan, *notes_) {}
  Verdict run();

 private:
  testing::WorldOptions world_options(const RunOptions& options) const;
  void add_tasks();
  void schedule(const Fault& fault);
  void strike(const Fault& fault);
  void look_for_mark();
  void shared_folder_loses_power(uint64_t draw);
  void start(const std::string& task);
  void start_later(const std::string& task, Duration delay);
  void start_second(const std::string& task, const std::optional<std::string>& model_dir);
  void move_folder();
  void move_folder_back();
  bool is_second(const std::string& task) const { return seconds_.contains(task); }
  void look_after_second(const std::string& task);
  void tell_to_leave(const std::string& task, Duration away);
  void look_after_one_that_gave_way(const std::string& task);
  void check_leaving();
  bool leader_meets_damage();
  bool bits_explain(const std::string& task, int status, const std::string& why);
  bool servers_ended_well();
  bool lost_its_place(const std::string& task, const std::string& why);
  bool all_took_part();
  std::optional<int64_t> whole_count();
  /// A hook of the chief has ended the job before its time; that of a worker only its own part.
  bool stopped_early() const { return notes_->stopped_early || (notes_->hook_stopped && plan_.job.hook_trainer == 0); }
  void name_run();
  void start_all_again(int64_t more_steps);
  void look_after();
  bool fails_for_poison(const std::string& task, int status);
  void check_failed_end();
  void check_waits();
  void act();
  bool all_ended() const;
  void check_end();
  void check_that_workers_stayed();
  void violated(std::string sentence) { verdict_.violations.push_back(std::move(sentence)); }
  void violated(const std::vector<std::string>& sentences) {
    for (const std::string& sentence : sentences) violated(sentence);
  }

  const Plan& plan_;
  const std::string leader_ = leader(plan_.job);
  std::shared_ptr<Ledger> ledger_;
  std::shared_ptr<JobNotes> notes_;
  testing::World world_;
  FolderChecks folder_;
  std::map<std::string, int> restarts_;
  std::map<std::string, Duration> outages_;  // How long tasks stay away that are to be killed in a storage call.
  std::set<std::string> power_fails_;        // Tasks of outages_ whose host loses its power then.
  std::map<std::string, Duration> leaving_;  // When tasks were told to give way; kLimit if something else was wrong then.
  Duration last_strike_{};
  bool was_calm_ = false;                 // True if no fault was under way when the last one came.
  bool was_settled_ = false;              // True if what those before had broken was mended by then.
  std::set<std::string> frozen_;          // Tasks that were frozen: for who looks from outside they may be dead.
  std::set<std::string> not_told_apart_;  // Tasks whose places another job came to before servers or tasks knew their runs.
  bool mark_at_start_ = false;            // True if there was an end mark when the chief was started last.
  int leaves_ = 0;                        // How many tasks were told to give way.
  bool evaluator_interrupted_ = false;
  std::set<std::string> starting_;           // Tasks of which a start is under way.
  std::set<std::string> gone_;               // Tasks that are gone for good.
  std::map<std::string, bool> seconds_;      // True for a second start while the first has lived ever since.
  std::map<std::string, Duration> started_;  // When a task started, if not at the beginning.
  Duration disturbed_until_{};               // Until when the faults so far disturb.
  std::optional<Duration> chief_ended_;      // When the chief ended well.
  bool interrupted_ = false;                 // True if the chief was interrupted: the job ended before its time.
  bool damaged_ = false;                     // True if the chief has ended for good and not well: by damage, say.
  bool failed_ = false;  // True if a task has failed for JobPlan::poison, and all others are told to stop.
  int64_t saves_before_failure_ = 0;
  std::map<std::string, int64_t> saves_at_end_;  // How many saves had begun when a worker ended well.
  bool marked_ = false;                          // True if there was an end mark when the chief was lost, or started again.
  bool moved_ = false;                           // True while the folder is elsewhere.
  int acts_ = 0;
  Verdict verdict_;
};

}  // namespace shoal::simulation
