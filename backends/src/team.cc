// SPDX-License-Identifier: Apache-2.0
#include "team.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "core_share.h"
#include "shoal/base/check.h"
#include "shoal/base/cpu.h"
#include "shoal/base/fork.h"
#include "shoal/base/own_thread.h"
#include "shoal/base/start_thread.h"

namespace shoal::backends {
namespace {

using Clock = std::chrono::steady_clock;

/// How long a waiting thread spins: longer than most gaps between two loops of a step, shorter than a few wake-ups.
constexpr auto kSpin = std::chrono::microseconds(50);
/// Helpers spin for longer on a core that no other program wants, since a step of small kernels has gaps of 200 us.
constexpr auto kSpinAlone = std::chrono::microseconds(200);

thread_local bool computes_a_piece = false;
/// True once the calling thread has destroyed its team, because the thread ends. Destructors of the user's objects may
/// still compute after that, also while the program exits. The flag is not a member of Keeper, because compilers drop what
/// a destructor writes to its own object.
thread_local bool is_gone = false;

/// Spins until over() is true, for at most `longest`. Returns over().
template <class Over>
bool spin_until(const Over& over, Clock::duration longest = kSpin) {
  constexpr int kLooksPerTime = 32;
  const auto end = Clock::now() + longest;
  do {
    for (int i = 0; i < kLooksPerTime; ++i) {
      if (over()) return true;
      relax_cpu();
    }
  } while (Clock::now() < end);
  return false;
}

CoreUse core_use() {
  rusage usage{};
  if (getrusage(RUSAGE_THREAD, &usage) != 0) return {};
  const auto of = [](const timeval& time) {
    return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
  };
  return {of(usage.ru_utime) + of(usage.ru_stime), usage.ru_nivcsw};
}

}  // namespace

/// Measures whether the system gives the calling thread's core to other programs.
class Team::CoreWatch {
 public:
  /// True if the system has not taken the core from this thread for 20 ms.
  bool is_ours() {
    constexpr auto kWhile = std::chrono::milliseconds(20);  // A few time slices of the scheduler.
    const auto now = Clock::now();
    if (const long taken = core_use().taken; taken != taken_) {
      taken_ = taken;
      since_ = now;
    }
    return now - since_ > kWhile;
  }
  void slept(Clock::duration time) { slept_ += time; }
  /// Returns for how long this thread should pause (zero: it should not), if other programs use its core. Called between
  /// two loops.
  Clock::duration look(int threads) {
    const auto now = Clock::now();
    const Clock::duration wanted = now - looked_ - slept_;
    if (now - looked_ < CoreShare::kLookEvery || wanted < CoreShare::kWantedLeast) return {};
    looked_ = now;
    slept_ = {};
    return share_.look(wanted, core_use(), threads);
  }
  /// Begins a new period of measurement. Called after a pause, during which the team has measured nothing.
  void restart() {
    looked_ = Clock::now();
    slept_ = {};
  }

 private:
  long taken_ = 0;  // Involuntary context switches at the last call.
  Clock::time_point since_ = Clock::now(), looked_ = since_;
  Clock::duration slept_{};
  CoreShare share_;
};

Team* Team::of_this_thread() {
  struct Keeper {
    std::unique_ptr<Team, DeleteUnlessForked<Team>> team = make_threaded<Team>();
    ~Keeper() { is_gone = true; }
  };
  static thread_local Keeper keeper;
  if (is_gone) return nullptr;
  if (keeper.team.get_deleter().is_of_parent()) {  // fork() has copied the team, but none of its threads.
    static_cast<void>(keeper.team.release());
    keeper.team = make_threaded<Team>();
  }
  return keeper.team.get();
}

Team::~Team() {
  {
    const std::lock_guard lock(mutex_);
    ends_.store(true, std::memory_order_relaxed);
  }
  over_.notify_all();
  bell_.fetch_add(1, std::memory_order_release);
  bell_.notify_all();
  for (std::thread& helper : helpers_) helper.join();
}

void Team::start_helpers(int count) {
  while (int(helpers_.size()) < count && !no_more_helpers_) {
    Result<std::thread> helper = start_thread([this, rank = int(helpers_.size()) + 1] { help(rank); });
    if (helper) {
      helpers_.push_back(*std::move(helper));
    } else {
      no_more_helpers_ = true;  // The system's limit of threads is reached; the team works with the helpers it has.
    }
  }
}

void Team::run(int pieces, Piece piece, void* context) {
  SHOAL_CHECK(pieces <= kPiecesMax);
  if (pieces <= 1 || computes_a_piece) {
    for (int i = 0; i < pieces; ++i) piece(context, i);
    return;
  }
  start_helpers(pieces - 1);
  const uint64_t job = job_.load(std::memory_order_relaxed) + 1;
  piece_ = piece;
  context_ = context;
  denormals_ = denormals_of_thread();
  pieces_.store(pieces, std::memory_order_relaxed);
  unfinished_.store(pieces, std::memory_order_relaxed);
  for (int i = 0; i < pieces; ++i) claims_[size_t(i)].number.store(2 * job, std::memory_order_release);
  job_.store(job, std::memory_order_release);
  bell_.fetch_add(1, std::memory_order_release);
  bell_.notify_all();
  take_pieces(0, job);
  wait_for_pieces();
}

/// Takes this thread's own piece first. A thread has the same own piece in every loop, so each core finds in its cache what
/// it worked on before.
void Team::take_pieces(int rank, uint64_t job) {
  const int pieces = pieces_.load(std::memory_order_relaxed);
  for (int i = 0; i < pieces; ++i) {
    const int number = (rank + i) % pieces;
    std::atomic<uint64_t>& claim = claims_[size_t(number)].number;
    // A piece of this job that no thread has taken has this number. A thread that comes too late, when the team has begun
    // another job, finds a larger number, and takes no piece.
    uint64_t free = 2 * job;
    if (claim.load(std::memory_order_relaxed) != free) continue;
    if (!claim.compare_exchange_strong(free, free + 1, std::memory_order_acquire, std::memory_order_relaxed)) continue;
    computes_a_piece = true;
    if (rank == 0) {
      piece_(context_, number);
    } else {
      const ComputeMode mode(denormals_);
      piece_(context_, number);
    }
    computes_a_piece = false;
    if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) unfinished_.notify_one();
  }
}

void Team::wait_for_pieces() {
  if (spin_until([this] { return unfinished_.load(std::memory_order_acquire) == 0; })) return;
  for (int32_t left; (left = unfinished_.load(std::memory_order_acquire)) != 0;) unfinished_.wait(left);
}

/// Waits for a job after the job `done`. Returns the number of the newest job, or `done` if the team ends.
uint64_t Team::wait_for_job(uint64_t done, CoreWatch& core) {
  const auto changed = [this, done] {
    return job_.load(std::memory_order_acquire) != done || ends_.load(std::memory_order_relaxed);
  };
  while (!changed() && !spin_until(changed) && !(core.is_ours() && spin_until(changed, kSpinAlone - kSpin))) {
    const uint32_t rung = bell_.load(std::memory_order_acquire);
    if (changed()) break;
    const auto asleep = Clock::now();
    bell_.wait(rung);
    core.slept(Clock::now() - asleep);
  }
  return ends_.load(std::memory_order_relaxed) ? done : job_.load(std::memory_order_acquire);
}

void Team::help(int rank) {
  begin_own_thread();
  CoreWatch core;
  for (uint64_t done = 0, job; (job = wait_for_job(done, core)) != done; done = job) {
    take_pieces(rank, job);
    if (const Clock::duration away = core.look(pieces_.load(std::memory_order_relaxed)); away > away.zero()) {
      std::unique_lock lock(mutex_);
      over_.wait_for(lock, away, [this] { return ends_.load(std::memory_order_relaxed); });
      core.restart();
    }
  }
}

}  // namespace shoal::backends
