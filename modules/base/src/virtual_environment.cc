// SPDX-License-Identifier: Apache-2.0
#include "virtual_environment.h"

#include <algorithm>
#include <cstdio>

#include "guarded.h"

namespace shoal {
namespace {

/// Prints the reason for the failure of the check that follows.
void explain(const std::string& sentence) { std::fprintf(stderr, "shoal: %s\n", sentence.c_str()); }

std::string quoted(const std::string& task) { return "task \"" + task + "\""; }

}  // namespace

VirtualEnvironment::VirtualEnvironment(VirtualWorld::State& world, VirtualTaskOptions options, uint64_t number)
    : world_(world),
      number_(number),
      offload_duration_(options.offload_duration),
      offload_jitter_(options.offload_jitter),
      process_(std::move(options.process)),
      wall_clock_(std::move(options.wall_clock)),
      storage_(options.storage ? std::move(options.storage) : std::shared_ptr<Storage>(make_file_storage()),
               [this, ask = std::move(options.before_storage_call)] {
                 if (ask) longer_ += ask();
               }),
      buffers_(BufferPool::create()),
      log_(std::move(options.sink), std::move(options.task), [this] { return wall_now(); }),
      entropy_(fold_in(fold_in(world.seed, "entropy"), number)),
      durations_(fold_in(fold_in(world.seed, "durations"), number)),
      transports_(std::move(options.transports)) {}

VirtualEnvironment::~VirtualEnvironment() {
  for (VirtualWaiter* waiter : waiters_) waiter->env_ = nullptr;
}

WallTime VirtualEnvironment::wall_now() const {
  if (wall_clock_) return wall_clock_(world_.now);
  constexpr std::chrono::seconds kStart(1'700'000'000);  // A moment in November 2023.
  return WallTime(kStart + world_.now.time_since_epoch());
}

void VirtualEnvironment::post(Work work) {
  if (killed()) return;
  world_.add(world_.now, {this, std::move(work), nullptr});
}

Error VirtualEnvironment::refuse() {
  constexpr uint64_t kRefusedMax = 1'000'000;
  if (++refused_count_ > kRefusedMax)
    explain(quoted(name()) + " was killed but goes on, although its calls return Cancelled");
  SHOAL_CHECK(refused_count_ <= kRefusedMax);
  return cancelled();
}

Task<Result<void>> VirtualEnvironment::sleep_until(SteadyTime when, StopToken stop) {
  if (killed()) co_return refuse();
  if (stop.stop_requested()) co_return cancelled();
  VirtualWaiter waiter(*this);
  waiter.resume_at(std::max(when, world_.now));
  bool stopped = false;
  StopCallback on_stop(stop, [&stopped, &waiter, this] {
    stopped = true;
    waiter.resume_at(world_.now);
  });
  co_await waiter;
  if (stopped || killed()) co_return cancelled();
  co_return Result<void>();
}

Task<Result<void>> VirtualEnvironment::offload(Work work) {
  if (killed()) co_return refuse();
  const SteadyTime begin = std::max(world_.now, compute_free_at_);
  SteadyTime end = compute_free_at_ = begin + draw_offload_duration();
  VirtualWaiter waiter(*this);
  waiter.resume_at(begin);
  co_await waiter;
  if (killed()) co_return cancelled();
  VirtualEnvironment* strand = std::exchange(world_.current, nullptr);  // Offloaded work does not run on the strand.
  longer_ = {};
  Result<void> ended = run_awaited(work, "offloaded work");
  world_.current = strand;
  end += longer_;
  compute_free_at_ = std::max(compute_free_at_, end);
  if (end > world_.now) {
    waiter.resume_at(end);
    co_await waiter;
  }
  if (killed()) co_return cancelled();
  co_return ended;
}

Duration VirtualEnvironment::draw_offload_duration() {
  if (offload_jitter_ <= Duration::zero()) return offload_duration_;
  return offload_duration_ + Duration(int64_t(durations_.below(uint64_t(offload_jitter_.count()))));
}

void VirtualEnvironment::sometimes(std::string_view point) {
  const auto known = world_.marks.find(point);
  if (known == world_.marks.end()) {
    world_.marks.emplace(point, 1);
  } else {
    ++known->second;
  }
}

/// Starts the task's program by posting work that does nothing: each time the virtual world has run some work of a task, it
/// also runs the task's program for as long as the program can go on.
void VirtualEnvironment::begin_program() {
  post([] {});
}

void VirtualEnvironment::parallel_for(int64_t count, int64_t grain, const UniqueFunction<void(int64_t, int64_t)>& body) {
  SHOAL_CHECK(grain >= 1);
  auto& callable = const_cast<UniqueFunction<void(int64_t, int64_t)>&>(body);
  for (int64_t begin = 0; begin < count; begin += grain) callable(begin, begin + std::min(grain, count - begin));
}

Result<transport::Transport*> VirtualEnvironment::transport(std::string_view scheme) {
  if (killed()) return refuse();
  return transports_.get(scheme, *this);
}

bool VirtualEnvironment::submit(Work job) {
  if (killed()) return false;
  jobs_.push_back(std::move(job));
  if (std::exchange(in_job_, true)) return true;  // Jobs that a job submits run after it, not inside it.
  VirtualEnvironment* strand = std::exchange(world_.current, nullptr);
  while (!jobs_.empty()) {
    Work next = std::move(jobs_.front());
    jobs_.pop_front();
    run_guarded(next, "a job of the pool");
  }
  world_.current = strand;
  in_job_ = false;
  return true;
}

void VirtualEnvironment::kill() {
  if (killed()) return;
  storage_.kill();
  std::vector<Work> dropped;  // Destroyed at the end of this function, when the queue is consistent again.
  for (auto entry = world_.queue.begin(); entry != world_.queue.end();) {
    if (entry->second.env != this || entry->second.waiter) {
      ++entry;
      continue;
    }
    dropped.push_back(std::move(entry->second.work));
    entry = world_.queue.erase(entry);
  }
  // Resumes all waiting coroutines. From now on their calls return Cancelled, so they come to their ends.
  for (VirtualWaiter* waiter : waiters_) waiter->resume_at(world_.now);
}

void VirtualEnvironment::run_until_done(Task<void> entry) {
  SHOAL_CHECK(world_.current == nullptr);  // Must not be called on the strand of a task.
  if (killed()) {
    world_.current = this;
    entry.start();
    world_.current = nullptr;
  } else {
    post([&entry] { entry.start(); });
  }
  VirtualEnvironment* const waiting = world_.program_on_this_thread();
  if (waiting) {
    SHOAL_CHECK(waiting == this);  // A program may call run() of its own environment only.
    if (!entry.done()) program_->wait_for(entry);
    return;
  }
  while (!entry.done()) {
    const bool went_on = world_.step(SteadyTime::max());
    if (!went_on) {
      explain("deadlock: " + quoted(name()) + " waits, and nothing is left to run in this world at " +
              std::to_string(to_seconds(world_.now.time_since_epoch())) + " s of virtual time");
    }
    SHOAL_CHECK(went_on);
  }
}

}  // namespace shoal
