// SPDX-License-Identifier: Apache-2.0
#include "plan.h"

#include <algorithm>
#include <array>

#include "shoal/base/random.h"

namespace shoal::simulation {
namespace {

using namespace std::chrono_literals;

/// Draws in terms that plans are made of.
class Dice {
 public:
  explicit Dice(RandomKey key) : random_(key) {}
  int64_t between(int64_t low, int64_t high) { return low + int64_t(random_.below(uint64_t(high - low + 1))); }
  bool chance(double probability) { return double(random_.next_float()) < probability; }
  Duration between(Duration low, Duration high) { return Duration(between(low.count(), high.count())); }
  template <class T>
  const T& one_of(const std::vector<T>& items) {
    return items[size_t(random_.below(items.size()))];
  }

 private:
  RandomStream random_;
};

constexpr int64_t kYearSeconds = 365 * 24 * 3600;

constexpr std::array<std::string_view, kFaultKinds> kNames{
    "kill",        "power",     "freeze",     "interrupt",     "cut",          "cut one way",
    "reset",       "slow",      "wall clock", "late start",    "kill in save", "power in save",
    "disk full",   "disk slow", "disk error", "bit flip",      "folder gone",  "folder late",
    "start twice", "leave",     "leave all",  "interrupt all", "folder moved", "other job"};

std::string name(std::string_view role, int64_t index) { return std::string(role) + " " + std::to_string(index); }

std::vector<std::string> tasks_of(const JobPlan& job) {
  std::vector<std::string> tasks{leader(job)};
  if (job.local) return tasks;
  for (int i = 0; i < job.size.ps; ++i) tasks.push_back(name("ps", i));
  for (int i = 0; i < job.size.workers; ++i) tasks.push_back(name("worker", i));
  if (job.size.evaluator) tasks.push_back(name("evaluator", 0));
  return tasks;
}

JobPlan draw_job(Dice& dice) {
  JobPlan job;
  job.local = dice.chance(0.12);
  if (!job.local) {
    job.size.ps = int32_t(dice.chance(0.5) ? 1 : dice.between(2, 3));
    job.size.workers = int32_t(dice.chance(0.25) ? 0 : dice.between(1, 4));
    job.size.evaluator = dice.chance(0.6);
  }
  job.model = ModelKind(dice.between(0, 2));
  job.batch = dice.between(2, 8);
  if (dice.chance(0.8)) {
    job.max_steps = dice.between(150, 420);
  } else {
    job.passes = dice.between(8, 16);
  }
  if (dice.chance(0.75)) {
    job.save_steps = dice.between(10, 120);
  } else {
    job.save_secs = double(dice.between(1, 20)) / 4;
  }
  job.keep_max = dice.between(0, 4);
  job.summary_steps = dice.chance(0.3) ? dice.between(5, 50) : 0;
  job.throttle_secs = dice.chance(0.7) ? 0 : dice.between(1, 20);
  job.exporters = dice.chance(0.25);
  job.named_run = dice.chance(0.5);
  if (job.max_steps > 0 && dice.chance(0.25)) job.more_steps = dice.chance(0.3) ? 0 : dice.between(10, 60);
  const int64_t last = job.max_steps > 0 ? job.max_steps : 200;
  if (dice.chance(0.1)) job.hook_stops_at = dice.between(1, last);
  if (dice.chance(0.15)) job.hook_throws_at = dice.between(1, last);
  job.hook_trainer = dice.between(0, job.size.workers);
  if (!job.local && dice.chance(0.45)) job.updates = Updates(dice.chance(0.6) ? 1 : dice.between(2, 3));
  if (!job.local && dice.chance(0.2)) job.compression = dice.one_of<std::string>({"bfloat16", "int8", "top-k"});
  return job;
}

Fault draw_fault(Dice& dice, const JobPlan& job, const std::vector<FaultKind>& kinds) {
  const std::vector<std::string> tasks = tasks_of(job);
  const int64_t steps = job.max_steps > 0 ? job.max_steps : 150;
  Fault fault;
  fault.kind = dice.one_of(kinds);
  fault.step = dice.between(0, steps);
  fault.after = dice.between(0ms, 20ms);
  fault.task = dice.one_of(tasks);
  fault.lasts = dice.chance(0.3) ? dice.between(10s, 40s) : dice.between(1ms, 3s);
  const auto other_than = [&](const std::string& task) {
    std::vector<std::string> others = tasks;
    std::erase(others, task);
    return others.empty() ? task : dice.one_of(others);
  };
  switch (fault.kind) {
    case FaultKind::kKill:
      fault.for_good = (fault.task.starts_with("worker") || fault.task.starts_with("evaluator")) && dice.chance(0.15);
      break;
    case FaultKind::kCut:
    case FaultKind::kCutOneWay:
    case FaultKind::kReset:
    case FaultKind::kSlow:
      // Evaluators talk to nobody.
      while (fault.task.starts_with("evaluator")) fault.task = dice.one_of(tasks);
      fault.other = other_than(fault.task);
      break;
    case FaultKind::kWallClock: fault.number = dice.between(-7200, 7200); break;
    case FaultKind::kLateStart: fault.step = 0; break;
    case FaultKind::kInterrupt:
      while (fault.task.starts_with("ps") || fault.task.starts_with("evaluator")) fault.task = dice.one_of(tasks);
      break;
    case FaultKind::kKillInSave:
    case FaultKind::kPowerInSave:
      fault.task = leader(job);
      if (dice.chance(0.25)) fault.step = steps;  // It comes in the last save.
      fault.number = dice.between(0, 60);
      break;
    case FaultKind::kFolderGone:
      fault.task = "evaluator 0";
      break;  // A chief that cannot reach its folder fails (CONTRACT FA-7).
    case FaultKind::kFolderLate: fault.task = dice.chance(0.5) && job.size.workers > 0 ? "worker 0" : "evaluator 0"; break;
    case FaultKind::kDiskSlow:
    case FaultKind::kDiskError:
    case FaultKind::kBitFlip:
    case FaultKind::kDiskFull: fault.lasts = dice.between(1ms, 5s); break;
    case FaultKind::kFolderMoved: fault.task = leader(job); break;
    case FaultKind::kOtherJob: fault.task = name("worker", dice.between(0, job.size.workers - 1)); break;
    case FaultKind::kPower:
    case FaultKind::kStartTwice:
    case FaultKind::kLeave:
    case FaultKind::kLeaveAll:
    case FaultKind::kInterruptAll:
    case FaultKind::kFreeze: break;
  }
  return fault;
}

/// What is hardly ever drawn by itself: a push that is on its way to one server while another is lost and all are restored.
std::vector<Fault> draw_late_push(Dice& dice, const JobPlan& job) {
  const int64_t lost = dice.between(0, job.size.ps - 1);
  Fault slow{.kind = FaultKind::kSlow, .step = dice.between(20, 120), .lasts = dice.between(1s, 5s)};
  slow.task = name("worker", dice.between(0, job.size.workers - 1));
  slow.other = name("ps", (lost + 1) % job.size.ps);
  const Fault kill{.kind = FaultKind::kKill,
                   .step = slow.step,
                   .after = dice.between(10ms, 900ms),
                   .lasts = dice.between(1ms, 50ms),
                   .task = name("ps", lost)};
  return {slow, kill};
}

/// What is hardly ever drawn by itself either: a worker that dies while two servers cannot reach each other, so that
/// not all are known to hold what it pushed.
std::vector<Fault> draw_death_behind_a_cut(Dice& dice, const JobPlan& job) {
  const Fault cut{.kind = FaultKind::kCut,
                  .step = dice.between(20, 120),
                  .lasts = dice.between(1s, 10s),
                  .task = name("ps", 0),
                  .other = name("ps", dice.between(1, job.size.ps - 1))};
  const Fault kill{.kind = FaultKind::kKill,
                   .step = cut.step,
                   .after = dice.between(10ms, 900ms),
                   .lasts = dice.between(1ms, 50ms),
                   .task = name("worker", dice.between(0, job.size.workers - 1))};
  return {cut, kill};
}

/// Signals of whoever runs the machines: a task is to give way, or all of them are, as where a machine is emptied; or all are
/// told that the job shall end.
std::vector<Fault> draw_signals(Dice& dice, const JobPlan& job) {
  std::vector<Fault> signals;
  const int64_t count = dice.between(1, 3);
  for (int64_t i = 0; i < count; ++i) {
    const FaultKind kind = dice.chance(0.3)    ? FaultKind::kLeaveAll
                           : dice.chance(0.12) ? FaultKind::kInterruptAll
                                               : FaultKind::kLeave;
    Fault fault = draw_fault(dice, job, {kind});
    if (kind != FaultKind::kLeave) fault.task = leader(job);
    signals.push_back(std::move(fault));
  }
  return signals;
}

/// The trainers' inputs end at different times.
void make_uneven(Dice& dice, JobPlan& job) {
  job.max_steps = 0;
  job.more_steps.reset();
  job.passes = dice.between(5, 11);
  for (int trainer = 0; trainer <= job.size.workers; ++trainer) job.uneven_passes.push_back(dice.between(1, job.passes));
  job.uneven_passes[size_t(dice.between(0, job.size.workers))] = job.passes;
}

/// A step at which the input of `trainer` has ended, as far as one can tell before.
int64_t step_after_end(Dice& dice, const JobPlan& job, int64_t trainer) {
  const int64_t batches = batches_of(job, size_t(trainer));
  const int64_t steps = job.updates == Updates::kAsync ? batches * (1 + job.size.workers) : batches;
  return steps + dice.between(-5, 40);
}

/// What chance hardly ever brings together: a server is lost after a worker's input has ended, with that worker away for
/// longer than the others wait for who is needed; or everything is.
std::vector<Fault> draw_loss_after_an_end(Dice& dice, const JobPlan& job) {
  const int64_t worker = dice.between(0, job.size.workers - 1);
  const int64_t step = step_after_end(dice, job, worker + 1);
  std::vector<Fault> faults;
  const auto kill = [&](const std::string& task, Duration after, Duration lasts) {
    faults.push_back({.kind = FaultKind::kKill, .step = step, .after = after, .lasts = lasts, .task = task});
  };
  const bool all = dice.chance(0.3);
  const bool away = all || dice.chance(0.6);
  if (away) kill(name("worker", worker), 0ms, dice.between(14s, 30s));
  for (const std::string& task : tasks_of(job)) {
    if (all && task != name("worker", worker)) kill(task, 0ms, dice.between(1ms, 2s));
  }
  if (!all) kill(name("ps", dice.between(0, job.size.ps - 1)), dice.between(0ms, 500ms), dice.between(1ms, 500ms));
  return faults;
}

/// Nobody may be away when the task fails that computes it: then what has failed for good is known before others are told to
/// stop. Faults of later steps come once the job has been started again.
void draw_poison(Dice& dice, Plan& plan) {
  JobPlan& job = plan.job;
  if (job.max_steps == 0) return;
  job.poison = Poison(dice.between(1, 3));
  job.poison_at = dice.between(1, job.max_steps * 6 / 10);
  job.poison_trainer = job.local ? 0 : dice.between(0, job.size.workers);
  if (dice.chance(0.5) && job.save_steps > 0)
    job.poison_at = job.poison_at / job.save_steps * job.save_steps;  // It saves there.
  job.hook_stops_at.reset();
  job.hook_throws_at.reset();
  job.early_stop_from.reset();
  plan.loss = 0;
  constexpr int64_t kApart = 60;
  std::erase_if(plan.faults, [at = job.poison_at](Fault& fault) {
    if (fault.step > at + kApart) return false;
    fault.lasts = std::min<Duration>(fault.lasts, 100ms);
    return fault.kind != FaultKind::kKill || fault.for_good || fault.step + kApart > at;
  });
}

std::string milliseconds(Duration duration) { return std::to_string(duration / 1ms) + " ms"; }

}  // namespace

std::string_view to_string(FaultKind kind) { return kNames[size_t(kind)]; }

std::string leader(const JobPlan& job) { return name(job.size.chief_role(), 0); }

bool has_task(const JobPlan& job, std::string_view task) {
  const std::vector<std::string> tasks = tasks_of(job);
  return std::find(tasks.begin(), tasks.end(), task) != tasks.end();
}

/// Each seed draws which faults it has, and then how many of them: seeds that have all of all hide what few of one kind
/// show.
Plan draw_plan(uint64_t seed) {
  Dice dice(fold_in(RandomKey(seed), "plan"));
  Plan plan;
  plan.seed = seed;
  plan.job = draw_job(dice);
  const bool may_have_master = !plan.job.local && !plan.job.size.evaluator;
  plan.job.size.master = may_have_master && Dice(fold_in(RandomKey(seed), "master")).chance(0.5);
  Dice uneven(fold_in(RandomKey(seed), "inputs that end at different times"));
  const bool ends = !plan.job.local && plan.job.size.workers > 0 && uneven.chance(0.15);
  if (ends) make_uneven(uneven, plan.job);
  plan.work = dice.between(100us, 4ms);
  plan.work_jitter = dice.between(0ms, 4ms);
  plan.latency = dice.between(20us, 2ms);
  plan.jitter = dice.between(0ms, 2ms);
  plan.loss = dice.chance(0.3) ? 0.01 * double(dice.between(1, 8)) : 0;
  plan.many_parts = Dice(fold_in(RandomKey(seed), "many parts")).chance(0.5);
  plan.beside_strand = Dice(fold_in(RandomKey(seed), "beside the strand")).chance(0.5);
  std::vector<FaultKind> possible{FaultKind::kKill,      FaultKind::kFreeze,     FaultKind::kWallClock,
                                  FaultKind::kLateStart, FaultKind::kKillInSave, FaultKind::kPowerInSave,
                                  FaultKind::kInterrupt, FaultKind::kDiskFull,   FaultKind::kDiskSlow,
                                  FaultKind::kDiskError, FaultKind::kStartTwice, FaultKind::kBitFlip};
  if (!plan.job.local) {
    for (const FaultKind kind :
         {FaultKind::kCut, FaultKind::kCutOneWay, FaultKind::kReset, FaultKind::kSlow, FaultKind::kPower}) {
      possible.push_back(kind);
    }
    if (plan.job.size.evaluator) possible.insert(possible.end(), {FaultKind::kFolderGone, FaultKind::kFolderLate});
  }
  std::vector<FaultKind> kinds;
  for (const FaultKind kind : possible) {
    if (dice.chance(0.4)) kinds.push_back(kind);
  }
  if (kinds.empty()) kinds.push_back(FaultKind::kKill);
  const int64_t count = dice.between(3, 9);
  for (int64_t i = 0; i < count; ++i) plan.faults.push_back(draw_fault(dice, plan.job, kinds));
  if (plan.job.size.ps > 1 && plan.job.size.workers > 0 && dice.chance(0.2)) {
    const auto both = draw_late_push(dice, plan.job);
    plan.faults.insert(plan.faults.end(), both.begin(), both.end());
  }
  Dice apart(fold_in(RandomKey(seed), "a worker dies behind a cut"));
  if (plan.job.size.ps > 1 && plan.job.size.workers > 0 && apart.chance(0.2)) {
    const auto both = draw_death_behind_a_cut(apart, plan.job);
    plan.faults.insert(plan.faults.end(), both.begin(), both.end());
  }
  Dice signals(fold_in(RandomKey(seed), "signals"));
  if (signals.chance(0.4)) {
    const auto drawn = draw_signals(signals, plan.job);
    plan.faults.insert(plan.faults.end(), drawn.begin(), drawn.end());
  }
  if (ends && uneven.chance(0.7)) {
    const auto lost = draw_loss_after_an_end(uneven, plan.job);
    plan.faults.insert(plan.faults.end(), lost.begin(), lost.end());
  }
  Dice early(fold_in(RandomKey(seed), "early stopping"));
  if (early.chance(0.1)) plan.job.early_stop_from = early.between(1, plan.job.max_steps > 0 ? plan.job.max_steps : 200);
  plan.job.final_values = Dice(fold_in(RandomKey(seed), "final values")).chance(0.3);
  Dice run(fold_in(RandomKey(seed), "run"));
  plan.job.drawn_seed = run.chance(0.5);
  plan.job.learns = run.chance(0.3);
  if (!plan.job.local && plan.job.size.workers > 0 && run.chance(0.1)) {
    plan.faults.push_back(draw_fault(run, plan.job, {FaultKind::kOtherJob}));
  }
  Dice poison(fold_in(RandomKey(seed), "poison"));
  if (poison.chance(0.1)) draw_poison(poison, plan);
  Dice own(fold_in(RandomKey(seed), "an op and an optimizer of its own"));
  if (own.chance(0.12) && plan.job.poison == Poison::kNone) plan.job.model = ModelKind::kOwn;
  if (run.chance(0.04) && plan.job.poison == Poison::kNone) {  // Other faults would only hide whether it ends by this.
    plan.faults = {draw_fault(run, plan.job, {FaultKind::kFolderMoved})};
    plan.job.hook_stops_at = plan.job.hook_throws_at = plan.job.early_stop_from = std::nullopt;
  }
  Dice clocks(fold_in(RandomKey(seed), "clocks that were never set"));
  if (clocks.chance(0.2)) {
    for (Fault& fault : plan.faults) {
      if (fault.kind == FaultKind::kWallClock) fault.number += (clocks.chance(0.5) ? 1 : -1) * kYearSeconds;
    }
  }
  std::ranges::stable_sort(plan.faults, {}, &Fault::step);
  return plan;
}

std::string to_string(const Plan& plan) {
  const JobPlan& job = plan.job;
  const char* const models[] = {"dense", "normalized", "table", "own"};
  std::string text = "seed " + std::to_string(plan.seed) + ": " + (job.local ? "one process" : to_string(job.size)) +
                     ", model " + models[int(job.model)] + ", batch " + std::to_string(job.batch) + ", ";
  text += job.max_steps > 0 ? "max_steps " + std::to_string(job.max_steps) : std::to_string(job.passes) + " passes";
  for (size_t i = 0; i < job.uneven_passes.size(); ++i)
    text += (i == 0 ? " (" : ", ") + std::to_string(job.uneven_passes[i]);
  if (!job.uneven_passes.empty()) text += " by trainer)";
  text += job.save_steps > 0 ? ", saves every " + std::to_string(job.save_steps) + " steps"
                             : ", saves every " + std::to_string(job.save_secs) + " s";
  text += ", keeps " + std::to_string(job.keep_max);
  if (job.named_run) text += ", starts have names";
  if (job.drawn_seed) text += ", the seed is drawn";
  if (job.learns) text += ", words are learned of data that grow";
  if (job.updates != Updates::kAsync) text += ", synchronous updates of " + std::to_string(aggregated(job)) + " gradients";
  if (job.more_steps) text += ", started again after the end for " + std::to_string(*job.more_steps) + " more";
  const std::string whose = " of trainer " + std::to_string(job.hook_trainer);
  if (job.hook_stops_at) text += ", a hook" + whose + " stops at " + std::to_string(*job.hook_stops_at);
  if (job.early_stop_from) text += ", stops early by an evaluation from " + std::to_string(*job.early_stop_from) + " on";
  if (job.final_values) text += ", hooks have final values";
  if (job.hook_throws_at) text += ", a hook" + whose + " throws at " + std::to_string(*job.hook_throws_at);
  const char* const poisons[] = {"", "a gradient", "a loss", "a clipped norm"};
  if (job.poison != Poison::kNone) {
    text += std::string(", ") + poisons[int(job.poison)] + " of trainer " + std::to_string(job.poison_trainer) +
            " is not finite from step " + std::to_string(job.poison_at);
  }
  if (job.exporters) text += ", exporters";
  if (!job.compression.empty()) text += ", compression " + job.compression;
  text += ", throttle " + std::to_string(job.throttle_secs) + " s, work " + milliseconds(plan.work) + " + " +
          milliseconds(plan.work_jitter) + ", latency " + milliseconds(plan.latency) + ", loss " +
          std::to_string(plan.loss) + (plan.many_parts ? ", shards travel in parts" : "") +
          (plan.beside_strand ? ", servers compute beside their strand\n" : "\n");
  for (const Fault& fault : plan.faults) {
    text += "  at step " + std::to_string(fault.step) + " + " + milliseconds(fault.after) + ": " +
            std::string(to_string(fault.kind)) + " " + fault.task + (fault.other.empty() ? "" : " - " + fault.other) +
            (fault.for_good ? ", for good" : ", for " + milliseconds(fault.lasts)) +
            (fault.number != 0 ? " (" + std::to_string(fault.number) + ")" : "") + "\n";
  }
  return text;
}

}  // namespace shoal::simulation
