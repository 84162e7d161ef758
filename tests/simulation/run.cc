// SPDX-License-Identifier: Apache-2.0
#include "run.h"

#include <algorithm>
#include <set>

#include "planned_run.h"
#include "shoal/base/random.h"

namespace shoal::simulation {
namespace {

using namespace std::chrono_literals;

constexpr auto kLook = 100ms;  // The time between looks at how the tasks are.
constexpr auto kSecondHasIt = 5s;
constexpr int kRestartsMax = 8;   // The restarts allowed beyond one for each fault.
constexpr auto kCalm = 60s;       // So long after the last fault nothing of it is left.
constexpr auto kEndsWithin = 5s;  // The time that servers and workers have to end after the chief, in calm.
constexpr auto kEndsWithinStorm = 90s;
constexpr auto kLeavesWithin = 25s;  // In calm: a server's 20 s, and some more (CONTRACT FA-12).
constexpr int kGaveWay = 143;
constexpr uint64_t kTableBytesMin = 4096;  // So that checkpoints share the one of ModelKind::kTable.

int trainer_of(const std::string& task) {
  if (task == "chief 0" || task == "master 0") return 0;
  return task.starts_with("worker ") ? std::stoi(task.substr(7)) + 1 : -1;
}

}  // namespace

testing::WorldOptions PlannedRun::world_options(const RunOptions& options) const {
  testing::WorldOptions world{.seed = plan_.seed,
                              .work = plan_.work,
                              .work_jitter = plan_.work_jitter,
                              .link = {.latency = plan_.latency, .jitter = plan_.jitter, .loss = plan_.loss},
                              .server_bytes_on_strand = plan_.beside_strand ? std::optional<uint64_t>(0) : std::nullopt,
                              .own_part_bytes = plan_.many_parts ? 1 : cluster::kOwnPartBytes,
                              .table_bytes_min = kTableBytesMin,
                              .observer = ledger_,
                              .log = options.log};
  if (const auto canary = options.canary) {
    world.wrap_storage = [canary = *canary](const std::string&, std::shared_ptr<Storage> disk) {
      return planted_disk(canary, std::move(disk));
    };
    world.wrap_network = [canary = *canary](const std::string& task, TransportFactory network) {
      return planted_network(canary, task, std::move(network));
    };
  }
  return world;
}

void PlannedRun::add_tasks() {
  const RunConfigOptions config = config_of(plan_.job, plan_.seed);
  const testing::Program program = make_program(plan_.job, notes_);
  if (plan_.job.local) {
    world_.add_process(leader_, program, config);
  } else {
    world_.add_cluster(to_string(plan_.job.size), program, config);
  }
  name_run();
  std::set<std::string> late;
  for (const Fault& fault : plan_.faults) {
    if (fault.kind != FaultKind::kLateStart || !late.insert(fault.task).second) continue;
    starting_.insert(fault.task);
    disturbed_until_ = std::max(disturbed_until_, fault.lasts);
    started_[fault.task] = fault.lasts;
    world_.start_late(fault.task, fault.lasts);
    world_.after(fault.lasts, [this, task = fault.task] { starting_.erase(task); });
    ++verdict_.faults[std::string(to_string(fault.kind))];
  }
}

void PlannedRun::schedule(const Fault& fault) {
  if (fault.kind == FaultKind::kLateStart) return;
  world_.at_step(uint64_t(fault.step), [this, &fault] { world_.after(fault.after, [this, &fault] { strike(fault); }); });
}

void PlannedRun::look_for_mark() { marked_ = marked_ || world_.shared().exists(kModelDir + "/training_finished"); }

void PlannedRun::start(const std::string& task) {
  starting_.erase(task);
  if (world_.running(task) || failed_) return;
  if (task == leader_) {
    violated(folder_.after_the_chief());
    look_for_mark();
    mark_at_start_ = world_.shared().exists(kModelDir + "/training_finished");
  }
  leaving_.erase(task);
  saves_at_end_.erase(task);
  if (trainer_of(task) >= 0) ledger_->started(trainer_of(task));
  started_[task] = world_.elapsed();
  world_.start(task);
}

void PlannedRun::start_later(const std::string& task, Duration delay) {
  if (!starting_.insert(task).second) return;
  world_.after(delay, [this, task] { start(task); });
}

/// It ends with 143, which nobody takes for the end of anything.
void PlannedRun::look_after_one_that_gave_way(const std::string& task) {
  if (!leaving_.contains(task)) {
    violated(task + " gave way, and nobody had told it to");
    gone_.insert(task);
    return;
  }
  const bool marked = world_.shared().exists(kModelDir + "/training_finished");
  if (task == leader_ && marked && !mark_at_start_) violated(task + " gave way, and left an end mark");
  if (chief_ended_ && !task.starts_with("evaluator")) {
    gone_.insert(task);
  } else {
    start_later(task, outages_[task]);
  }
}

/// Who is told to give way does so soon, unless something else is in its way.
void PlannedRun::check_leaving() {
  for (const auto& [task, told] : leaving_) {
    const bool disturbed = last_strike_ > told;
    if (disturbed || !world_.running(task) || world_.elapsed() < told + kLeavesWithin) continue;
    violated(task + " still runs " + std::to_string((world_.elapsed() - told) / 1s) + " s after it was told to give way");
    gone_.insert(task);
  }
}

/// A second start has to go while the first one lives, and may take its place where that one has died.
void PlannedRun::look_after_second(const std::string& second) {
  const std::string first = second.substr(0, second.rfind(' '));
  bool& first_lived = seconds_.at(second);
  if (world_.running(second)) {
    first_lived = first_lived && world_.running(first);
    return;
  }
  // Evaluators have nothing that only one of them may hold.
  if (!first.starts_with("evaluator") && first_lived && !frozen_.contains(first) && !interrupted_ &&
      world_.exit_status(second) == 0)
    violated(second + " ended well, though the one before lives");
  first_lived = false;
}

/// Damage that the disk did in silence, for which the leader gives up.
bool PlannedRun::leader_meets_damage() {
  const bool evaluates = plan_.job.local || plan_.job.size.master;
  return folder_.all_damaged() || (evaluates && folder_.newest_damaged());
}

bool PlannedRun::servers_ended_well() {
  const auto tasks = world_.tasks();
  return std::none_of(tasks.begin(), tasks.end(), [this](const std::string& task) {
    const bool serves = task.starts_with("ps") && !is_second(task);  // A second one may never have had its place.
    return serves && (world_.running(task) || starting_.contains(task) || world_.exit_status(task) != 0);
  });
}

/// A worker of another job that comes before any server knows of a run, or that cannot read its own, is taken for the task
/// started anew. Whoever operates the jobs ends it, and starts the task again.
bool PlannedRun::lost_its_place(const std::string& task, const std::string& why) {
  const bool fenced = why.find("a newer process has taken this task's place") != std::string::npos;
  return fenced && not_told_apart_.erase(task) > 0;
}

/// Damage ends what needs the damaged checkpoint, and no launcher tries that again. A leader that was killed when it had
/// sent its servers home needs them once more, if the last checkpoint has been damaged since, or if an interrupt had ended
/// the job: it would train on.
bool PlannedRun::bits_explain(const std::string& task, int status, const std::string& why) {
  const bool waited_in_vain = status == exit_status(ErrorKind::kDeadlineExceeded);
  const bool goes_on = folder_.newest_damaged() || (interrupted_ && marked_);
  if (waited_in_vain && task == leader_ && goes_on && servers_ended_well()) return true;
  if (status != exit_status(ErrorKind::kDataLoss)) return false;
  if (task == leader_) return leader_meets_damage();
  return task.starts_with("evaluator") && folder_.names_a_damaged_one(why);
}

/// What a launcher does (CONTRACT FA-9): starts again what ended with an error that may pass, until the chief has ended
/// well.
void PlannedRun::look_after() {
  if (moved_) return;
  for (const std::string& task : world_.tasks()) {
    if (is_second(task)) look_after_second(task);
    if (is_second(task) || world_.running(task) || starting_.contains(task) || gone_.contains(task)) continue;
    if (failed_) gone_.insert(task);
    if (world_.killed(task)) {  // It was killed in a call of its storage.
      if (task == leader_ && leader_meets_damage() && world_.count_log("the job failed: the chief gave up") > 0) {
        gone_.insert(task);  // It had sent the others home, and would have ended with the error that it told them.
        damaged_ = true;
        continue;
      }
      disturbed_until_ = std::max(disturbed_until_, world_.elapsed() + outages_[task]);
      if (power_fails_.erase(task) > 0) shared_folder_loses_power(uint64_t(world_.elapsed() / 1ms));
      start_later(task, outages_[task]);
      continue;
    }
    const int status = world_.exit_status(task);
    if (status == 0) {
      if (task.starts_with("worker")) saves_at_end_.try_emplace(task, notes_->saves_begun);
      continue;
    }
    if (status == kGaveWay) {
      look_after_one_that_gave_way(task);
      continue;
    }
    if (fails_for_poison(task, status)) continue;
    const std::string why = world_.outcome(task).error().message();
    if (lost_its_place(task, why)) {
      start_later(task, kSecondHasIt);
    } else if (bits_explain(task, status, why)) {
      gone_.insert(task);
      if (task == leader_) damaged_ = true;
    } else if (status >= 2 && status <= 4) {
      violated(task + " ended with status " + std::to_string(status) + ": " + why);
      gone_.insert(task);
    } else if (chief_ended_ && !task.starts_with("evaluator")) {
      gone_.insert(task);
    } else if (seconds_.contains(task + " again") && world_.running(task + " again")) {
      start_later(task, kSecondHasIt);  // The second one has its place.
    } else if (++restarts_[task] > kRestartsMax + int(plan_.faults.size())) {
      violated(task + " ends with status " + std::to_string(status) + " however often it is started: " + why);
      gone_.insert(task);
    } else {
      start_later(task, kRestart * (1 << std::min(restarts_[task], kRestartsMax)));
    }
  }
}

/// What a launcher does when a task fails for good (CONTRACT FA-9): it starts nothing again, and tells all others to stop.
bool PlannedRun::fails_for_poison(const std::string& task, int status) {
  const bool is_poison = notes_->poisoned && !notes_->cured && status == exit_status(ErrorKind::kNanLoss);
  if (!is_poison && !failed_) return false;
  gone_.insert(task);
  if (failed_) return true;
  failed_ = true;
  saves_before_failure_ = notes_->saves_begun;
  for (const std::string& other : world_.tasks()) {
    if (world_.running(other)) world_.interrupt(other);
  }
  return true;
}

/// CONTRACT CK-17.
void PlannedRun::check_failed_end() {
  for (const std::string& line : world_.leftovers()) violated("after a failure: " + line);
  if (notes_->saves_begun > saves_before_failure_) violated("a checkpoint was written after a task had failed for good");
  violated(folder_.after_the_chief());
}

bool PlannedRun::all_ended() const {
  if (damaged_) return true;
  if (moved_) return false;
  if (!starting_.empty()) return false;
  const auto tasks = world_.tasks();
  return std::none_of(tasks.begin(), tasks.end(), [this](const std::string& task) {
    if (is_second(task)) return world_.running(task);
    return !gone_.contains(task) && (world_.running(task) || world_.killed(task) || world_.exit_status(task) != 0);
  });
}

void PlannedRun::check_end() {
  if (damaged_) return;
  for (const std::string& line : world_.leftovers()) violated("after the end: " + line);
  if (world_.count_log("is out of step with the others") > 0) violated("a server was out of step with the others");
  for (const auto& [trainer, times] : ledger_->rollbacks()) {
    if (world_.count_log("global step goes back from") == 0)
      violated("the global step fell for trainer " + std::to_string(trainer) + ", and nobody said so");
  }
  const JobPlan& job = plan_.job;
  // Interrupted without its servers, or before it has found them all, a job ends with the checkpoint that it has (CONTRACT
  // FA-12).
  const bool servers_lost = interrupted_ && (world_.count_log("interrupted after a server lost what it held") > 0 ||
                                             world_.count_log(leader_ + ": interrupted before training began") > 0);
  // Who evaluates in its own training, and was killed after its last save, finds nothing left to do (CONTRACT LO-3).
  const bool found_nothing =
      world_.count_log("there is nothing to do") > 0 || world_.count_log("(SHOAL_RUN) has ended") > 0;
  // An evaluator obeys the mark of an interrupted chief that was killed then, and goes, though its launcher starts the
  // chief again.
  const bool gave_up = world_.count_log("the last evaluation failed") > 0;
  // One that sees the folder late takes the mark of the start before, which says no name, for that of this one.
  const bool misled = acts_ > 0 && !job.named_run && verdict_.faults.contains("folder late");
  const bool evaluated = job.local || job.size.master
                             ? !found_nothing && !servers_lost && !gave_up
                             : job.size.evaluator && !gone_.contains("evaluator 0") && !(interrupted_ && marked_) &&
                                   !evaluator_interrupted_ && !misled;
  const auto step = job.local || servers_lost ? std::nullopt : std::optional(ledger_->last_step());
  violated(folder_.at_the_end({.step = step,
                               .kills = int64_t(verdict_.faults["kill"]) + leaves_,
                               .interrupted = interrupted_,
                               .stopped = stopped_early(),
                               .evaluated = evaluated}));
  if (const std::string apart = ledger_->apart(); step && !apart.empty()) violated(apart);
  const bool early = interrupted_ || stopped_early() || folder_.newest_damaged();
  const auto whole = whole_count();
  if (whole && !early && step && int64_t(*step) != *whole) {
    violated("all inputs together have " + std::to_string(*whole) + " batches, and the job ended at step " +
             std::to_string(*step));
  }
  if (!early) check_that_workers_stayed();
  if (verdict_.violations.empty() && !early) violated(folder_.against_a_local_run(all_took_part()));
}

/// CONTRACT JE-1: a worker that is through stays until the last checkpoint is saved, since a server may be lost before. A
/// checkpoint that is damaged after that is made again without the worker.
void PlannedRun::check_that_workers_stayed() {
  for (const char* fault : {"interrupt", "interrupt all", "bit flip"}) {
    if (verdict_.faults.contains(fault)) return;
  }
  if (notes_->hook_stopped) return;
  for (const auto& [task, saves] : saves_at_end_) {
    if (saves < notes_->saves_begun) violated(task + " ended with status 0, and a checkpoint was begun after that");
  }
}

/// No trainer's share of a step was made by others before its input had ended, and none left before the end.
bool PlannedRun::all_took_part() {
  const bool interrupts = verdict_.faults.contains("interrupt") || verdict_.faults.contains("interrupt all");
  return !ledger_->somebody_was_replaced() && !interrupts && !notes_->hook_stopped;
}

/// How many updates there are when all trainers have come to the ends of their inputs; nothing: somebody may not have.
std::optional<int64_t> PlannedRun::whole_count() {
  const JobPlan& job = plan_.job;
  const bool left = verdict_.faults.contains("interrupt") || verdict_.faults.contains("interrupt all") ||
                    notes_->hook_stopped || notes_->stopped_early || world_.count_log("the job ends without them") > 0 ||
                    std::ranges::any_of(gone_, [](const std::string& task) { return task.starts_with("worker"); });
  if (job.local || job.max_steps > 0 || job.updates != Updates::kAsync || left) return std::nullopt;
  int64_t count = 0;
  for (int trainer = 0; trainer <= job.size.workers; ++trainer) count += batches_of(job, size_t(trainer));
  return count;
}

/// Everything that waits has a deadline, and what is over is over: tasks end soon after their chief.
void PlannedRun::check_waits() {
  const Duration now = world_.elapsed();
  const std::string& chief = leader_;
  if (moved_) return;
  if (world_.running(chief) || starting_.contains(chief) || world_.killed(chief) || world_.exit_status(chief) != 0) {
    chief_ended_.reset();
    return;
  }
  if (!chief_ended_) chief_ended_ = now;
  const bool calm = disturbed_until_ + kCalm < *chief_ended_;
  for (const std::string& task : world_.tasks()) {
    if (!world_.running(task)) continue;
    Duration limit = calm && !task.starts_with("evaluator") ? Duration(kEndsWithin) : Duration(kEndsWithinStorm);
    // A task that started late takes the mark for that of an earlier run, and waits for a chief (CONTRACT JE-2); a
    // server that was frozen when the chief said so waits, too.
    const bool late = !plan_.job.named_run && started_[task] + kEndsWithin > *chief_ended_;
    const bool untold = task.starts_with("ps") && world_.count_log("a server was not told that the job has") > 0;
    if (untold || late) limit = seconds_to_duration(plan_.job.ready_timeout_secs) + kEndsWithinStorm;
    const Duration since = std::max({*chief_ended_, disturbed_until_, started_[task]});
    if (now > since + limit) {
      violated(task + " still runs " + std::to_string((now - *chief_ended_) / 1s) + " s after the chief has ended");
      gone_.insert(task);
    }
  }
}

/// Names the run as a launcher does, so that tasks know the end of their own run from that of one before.
void PlannedRun::name_run() {
  if (!plan_.job.named_run) return;
  for (const std::string& task : world_.tasks()) world_.set_shoal_run(task, "run " + std::to_string(acts_));
}

/// Starts all tasks, as a launcher does that is called once more, in some order.
void PlannedRun::start_all_again(int64_t more_steps) {
  notes_->more_steps += more_steps;
  RandomStream delays(fold_in(fold_in(RandomKey(plan_.seed), "again"), uint64_t(++acts_)));
  interrupted_ = evaluator_interrupted_ = failed_ = false;
  gone_.clear();
  restarts_.clear();
  chief_ended_.reset();
  saves_at_end_.clear();
  name_run();
  for (const std::string& task : world_.tasks()) {
    if (!is_second(task)) start_later(task, std::chrono::milliseconds(delays.below(3000)));
  }
}

/// Runs from the start of all tasks to the end of all.
void PlannedRun::act() {
  do {
    world_.run_for(kLook);
    look_after();
    check_waits();
    check_leaving();
    if (!ledger_->somebody_was_replaced()) violated(notes_->violations_while_all_take_part);
    notes_->violations_while_all_take_part.clear();
  } while (!all_ended() && world_.elapsed() < kLimit && ledger_->violations().empty() && notes_->violations.empty() &&
           verdict_.violations.empty());
  violated(ledger_->violations());
  violated(notes_->violations);
  if (!all_ended() && verdict_.violations.empty())
    violated("the job has not ended after " + std::to_string(kLimit / 1min) + " minutes");
  if (all_ended() && verdict_.violations.empty()) failed_ ? check_failed_end() : check_end();
}

Verdict PlannedRun::run() {
  add_tasks();
  for (const Fault& fault : plan_.faults) schedule(fault);
  act();
  if (notes_->poisoned) ++verdict_.faults["poison"];
  notes_->cured = true;
  if (verdict_.violations.empty() && failed_ && !damaged_) {
    start_all_again(0);
    act();
  }
  if (verdict_.violations.empty() && interrupted_ && !damaged_) {
    start_all_again(0);
    act();
  }
  if (verdict_.violations.empty() && plan_.job.more_steps && !damaged_) {
    start_all_again(*plan_.job.more_steps);
    act();
  }
  if (notes_->hook_stopped) ++verdict_.faults["hook stops"];
  if (notes_->stopped_early) ++verdict_.faults["early stops"];
  if (notes_->hook_threw) ++verdict_.faults["hook throws"];
  verdict_.memory_beyond = ledger_->memory_beyond();
  verdict_.trace = world_.trace();
  verdict_.steps = plan_.job.local ? world_.global_step() : ledger_->updates();
  verdict_.virtual_time = world_.elapsed();
  for (const auto& [mark, count] : world_.time().marks()) verdict_.marks[mark] = count;
  if (!verdict_.violations.empty()) verdict_.report = world_.report();
  return std::move(verdict_);
}

Verdict run_plan(const Plan& plan, const RunOptions& options) { return PlannedRun(plan, options).run(); }

}  // namespace shoal::simulation
