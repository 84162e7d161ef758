// SPDX-License-Identifier: Apache-2.0
#include "swarm.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "canary.h"
#include "run.h"
#include "shoal/base/random.h"

namespace shoal::simulation {
namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr uint64_t kCanaryEvery = 100;
constexpr int kShrinkRunsMax = 200;
constexpr int kFailuresShown = 10;

std::optional<Canary> canary_of(uint64_t seed, const SwarmOptions& options) {
  if (!options.canary || seed % kCanaryEvery != 0) return std::nullopt;
  return Canary(seed / kCanaryEvery % kCanaries);
}

/// What a process tells of one seed.
Json run_seed(uint64_t seed, const SwarmOptions& options) {
  const std::optional<Canary> canary = canary_of(seed, options);
  const Plan plan = canary ? canary_plan(*canary, seed) : draw_plan(seed);
  RunOptions run;
  run.canary = canary;
  const Verdict verdict = run_plan(plan, run);
  Json told{{"seed", seed},
            {"steps", verdict.steps},
            {"memory_beyond", verdict.memory_beyond},
            {"seconds", to_seconds(verdict.virtual_time)},
            {"faults", verdict.faults},
            {"marks", verdict.marks},
            {"trace", verdict.trace},
            {"violations", verdict.violations}};
  if (canary) told["canary"] = to_string(*canary);
  return told;
}

/// Takes every `jobs`-th seed from the `first` one on, and writes a line of JSON for each.
[[noreturn]] void work(uint64_t first, int pipe, const SwarmOptions& options) {
  FILE* const out = ::fdopen(pipe, "w");
  for (uint64_t i = first; i < options.count; i += uint64_t(options.jobs)) {
    const uint64_t seed = options.from + i;
    std::fprintf(out, "{\"begin\":%llu}\n", static_cast<unsigned long long>(seed));
    std::fflush(out);
    std::fprintf(out, "%s\n", run_seed(seed, options).dump().c_str());
    std::fflush(out);
  }
  std::fclose(out);
  ::_exit(0);
}

/// One of the processes, as the one that started it sees it.
struct Worker {
  pid_t process = 0;
  int pipe = -1;
  std::string text;   // What was read and is not yet a whole line.
  uint64_t seed = 0;  // The seed that it runs; 0 between two.
};

class Swarm {
 public:
  explicit Swarm(const SwarmOptions& options) : options_(options) {}
  void run();
  bool report(const std::string& marks_file);

 private:
  void start(uint64_t first);
  bool read(Worker& worker);  // False once the worker has ended.
  void take(Worker& worker, const Json& told);
  void crashed(const Worker& worker, int status);
  void show_failure(uint64_t seed, const std::string& first);
  void show_progress();

  const SwarmOptions& options_;
  const Clock::time_point began_ = Clock::now();
  Clock::time_point shown_ = began_;
  std::vector<Worker> workers_;
  uint64_t done_ = 0, failed_ = 0, canaries_ = 0, canaries_missed_ = 0;
  std::vector<uint64_t> steps_, fault_counts_;
  int64_t memory_beyond_ = INT64_MIN;
  uint64_t traces_ = 0;  // All seeds' traces in one number, in whatever order they came.
  double virtual_seconds_ = 0;
  std::map<std::string, uint64_t> faults_, marks_;
};

void Swarm::start(uint64_t first) {
  int ends[2];
  SHOAL_CHECK(::pipe(ends) == 0);
  std::fflush(stdout);
  const pid_t process = ::fork();
  SHOAL_CHECK(process >= 0);
  if (process == 0) {
    ::close(ends[0]);
    work(first, ends[1], options_);
  }
  ::close(ends[1]);
  workers_.push_back({process, ends[0], {}, 0});
}

void Swarm::take(Worker& worker, const Json& told) {
  if (told.contains("begin")) {
    worker.seed = told["begin"];
    return;
  }
  worker.seed = 0;
  ++done_;
  traces_ ^= fold_in(RandomKey(told["trace"].get<uint64_t>()), told["seed"].get<uint64_t>());
  const auto violations = told["violations"].get<std::vector<std::string>>();
  if (told.contains("canary")) {
    ++canaries_;
    if (violations.empty()) {
      ++canaries_missed_;
      std::printf("seed %llu: the planted defect \"%s\" was not found\n", told["seed"].get<unsigned long long>(),
                  told["canary"].get<std::string>().c_str());
    }
    return;
  }
  steps_.push_back(told["steps"]);
  memory_beyond_ = std::max(memory_beyond_, told["memory_beyond"].get<int64_t>());
  virtual_seconds_ += told["seconds"].get<double>();
  uint64_t faults = 0;
  for (const auto& [kind, count] : told["faults"].items())
    faults_[kind] += count.get<uint64_t>(), faults += count.get<uint64_t>();
  fault_counts_.push_back(faults);
  for (const auto& [mark, count] : told["marks"].items()) marks_[mark] += count.get<uint64_t>();
  if (!violations.empty()) show_failure(told["seed"], violations.front());
}

void Swarm::crashed(const Worker& worker, int status) {
  if (worker.seed == 0) return;
  ++done_;
  const std::string how =
      WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status)) : "status " + std::to_string(WEXITSTATUS(status));
  show_failure(worker.seed, "the process ended with " + how);
}

bool Swarm::read(Worker& worker) {
  char bytes[4096];
  const ssize_t count = ::read(worker.pipe, bytes, sizeof bytes);
  if (count <= 0) return false;
  worker.text.append(bytes, size_t(count));
  for (size_t end = worker.text.find('\n'); end != std::string::npos; end = worker.text.find('\n')) {
    take(worker, Json::parse(worker.text.substr(0, end)));
    worker.text.erase(0, end + 1);
  }
  return true;
}

void Swarm::run() {
  for (int i = 0; i < options_.jobs; ++i) start(uint64_t(i));
  while (!workers_.empty()) {
    std::vector<pollfd> ready;
    for (const Worker& worker : workers_) ready.push_back({worker.pipe, POLLIN, 0});
    ::poll(ready.data(), ready.size(), 1000);
    for (size_t i = workers_.size(); i-- > 0;) {
      if (ready[i].revents == 0 || read(workers_[i])) continue;
      ::close(workers_[i].pipe);
      int status = 0;
      ::waitpid(workers_[i].process, &status, 0);
      const Worker ended = workers_[i];
      workers_.erase(workers_.begin() + ptrdiff_t(i));
      crashed(ended, status);
      // Another process runs the rest of its seeds.
      if (ended.seed != 0) start(ended.seed - options_.from + uint64_t(options_.jobs));
    }
    show_progress();
    if (options_.stop_at_first && failed_ > 0) {
      for (const Worker& worker : workers_) ::kill(worker.process, SIGKILL), ::waitpid(worker.process, nullptr, 0);
      workers_.clear();
    }
  }
}

void Swarm::show_progress() {
  constexpr auto kEvery = std::chrono::seconds(10);
  if (Clock::now() - shown_ < kEvery) return;
  shown_ = Clock::now();
  const double seconds = std::chrono::duration<double>(shown_ - began_).count();
  std::printf("%llu of %llu seeds, %llu failed, %.1f seeds/s, %.0f times real time\n", (unsigned long long)done_,
              (unsigned long long)options_.count, (unsigned long long)failed_, double(done_) / seconds,
              virtual_seconds_ / seconds);
  std::fflush(stdout);
}

/// Whether a run of the plan still fails, in a process of its own: it may crash.
bool still_fails(const Plan& plan) {
  std::fflush(stdout);
  const pid_t process = ::fork();
  SHOAL_CHECK(process >= 0);
  if (process == 0) ::_exit(run_plan(plan).violations.empty() ? 0 : 1);
  int status = 0;
  ::waitpid(process, &status, 0);
  return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

std::vector<Plan> smaller(const Plan& plan) {
  std::vector<Plan> plans;
  for (size_t i = plan.faults.size(); i-- > 0;) {
    plans.push_back(plan);
    plans.back().faults.erase(plans.back().faults.begin() + ptrdiff_t(i));
  }
  const auto without = [&plans, &plan](auto change) {
    plans.push_back(plan);
    change(plans.back());
    const auto gone = [&](const Fault& fault) {
      return !has_task(plans.back().job, fault.task) || (!fault.other.empty() && !has_task(plans.back().job, fault.other));
    };
    std::erase_if(plans.back().faults, gone);
  };
  if (plan.job.size.evaluator) without([](Plan& p) { p.job.size.evaluator = false; });
  if (plan.job.size.workers > 0) without([](Plan& p) { --p.job.size.workers; });
  if (plan.job.size.ps > 1) without([](Plan& p) { --p.job.size.ps; });
  if (!plan.job.uneven_passes.empty()) without([](Plan& p) { p.job.uneven_passes.clear(); });
  if (plan.job.more_steps) without([](Plan& p) { p.job.more_steps.reset(); });
  if (plan.job.early_stop_from) without([](Plan& p) { p.job.early_stop_from.reset(); });
  if (plan.job.final_values) without([](Plan& p) { p.job.final_values = false; });
  if (plan.job.hook_stops_at) without([](Plan& p) { p.job.hook_stops_at.reset(); });
  if (plan.job.hook_throws_at) without([](Plan& p) { p.job.hook_throws_at.reset(); });
  if (plan.job.poison != Poison::kNone) without([](Plan& p) { p.job.poison = Poison::kNone; });
  if (plan.job.model == ModelKind::kOwn) without([](Plan& p) { p.job.model = ModelKind::kDense; });
  if (plan.job.exporters) without([](Plan& p) { p.job.exporters = false; });
  if (plan.job.updates != Updates::kAsync) without([](Plan& p) { p.job.updates = Updates::kAsync; });
  if (!plan.job.compression.empty()) without([](Plan& p) { p.job.compression.clear(); });
  return plans;
}

/// The plan with as few faults and tasks as still fail.
Plan shrunk(Plan plan) {
  int runs = 0;
  for (bool smaller_one = true; smaller_one;) {
    smaller_one = false;
    for (const Plan& candidate : smaller(plan)) {
      if (++runs > kShrinkRunsMax) return plan;
      if (!still_fails(candidate)) continue;
      plan = candidate;
      smaller_one = true;
      break;
    }
  }
  return plan;
}

void Swarm::show_failure(uint64_t seed, const std::string& first) {
  if (++failed_ > kFailuresShown) return;
  std::printf("FAILED %s\n  replay: ./dev simulate --seed %llu --trace\n", first.c_str(), (unsigned long long)seed);
  const Plan plan = draw_plan(seed);
  std::printf("%s%s", options_.shrink ? "  the smallest plan that still fails, " : "  ",
              to_string(options_.shrink ? shrunk(plan) : plan).c_str());
  std::fflush(stdout);
}

uint64_t median(std::vector<uint64_t> values) {
  if (values.empty()) return 0;
  std::ranges::nth_element(values, values.begin() + ptrdiff_t(values.size() / 2));
  return values[values.size() / 2];
}

bool Swarm::report(const std::string& marks_file) {
  const double seconds = std::chrono::duration<double>(Clock::now() - began_).count();
  std::printf("%llu seeds from %llu: %llu failed\n", (unsigned long long)done_, (unsigned long long)options_.from,
              (unsigned long long)failed_);
  std::printf(
      "%.1f s, %.1f seeds/s; %.0f s of virtual time, %.0f times real time; the median seed: %llu global steps, %llu "
      "faults\n",
      seconds, double(done_) / seconds, virtual_seconds_, virtual_seconds_ / seconds, (unsigned long long)median(steps_),
      (unsigned long long)median(fault_counts_));
  std::printf("buffers of servers: at most %lld bytes beyond their formula\n", (long long)memory_beyond_);
  std::printf("traces of all: %016llx\n", (unsigned long long)traces_);
  std::printf("planted defects: %llu, not found: %llu\nfaults:", (unsigned long long)canaries_,
              (unsigned long long)canaries_missed_);
  for (const auto& [kind, count] : faults_) std::printf(" %s %llu;", kind.c_str(), (unsigned long long)count);
  std::printf("\nrare paths:");
  for (const auto& [mark, count] : marks_) std::printf(" %s %llu;", mark.c_str(), (unsigned long long)count);
  std::printf("\n");
  bool all = true;
  std::ifstream file(marks_file);
  for (std::string mark; std::getline(file, mark);) {
    if (mark.empty() || mark.starts_with('#') || marks_.contains(mark)) continue;
    std::printf("a rare path was never taken: %s\n", mark.c_str());
    all = false;
  }
  return failed_ == 0 && canaries_missed_ == 0 && all;
}

}  // namespace

bool run_one(uint64_t seed, const SwarmOptions& options) {
  const std::optional<Canary> canary = canary_of(seed, options);
  const Plan plan = canary ? canary_plan(*canary, seed) : draw_plan(seed);
  std::printf("%s", to_string(plan).c_str());
  if (canary) std::printf("  with a planted defect: %s\n", std::string(to_string(*canary)).c_str());
  RunOptions run;
  run.canary = canary;
  if (options.trace) run.log = [](const std::string& line) { std::puts(line.c_str()); };
  const Verdict verdict = run_plan(plan, run);
  for (const std::string& sentence : verdict.violations) std::printf("VIOLATION: %s\n", sentence.c_str());
  if (!verdict.violations.empty()) std::printf("%s", verdict.report.c_str());
  std::printf("%llu global steps, %.3f s of virtual time, trace %016llx\n", (unsigned long long)verdict.steps,
              to_seconds(verdict.virtual_time), (unsigned long long)verdict.trace);
  return verdict.violations.empty() != canary.has_value();
}

bool run_swarm(const SwarmOptions& options, const std::string& marks_file) {
  Swarm swarm(options);
  swarm.run();
  return swarm.report(marks_file);
}

}  // namespace shoal::simulation
