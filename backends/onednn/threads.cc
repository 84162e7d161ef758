#include "threads.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "shoal/base/check.h"
#include "shoal/base/cpu.h"

namespace shoal::backends::onednn {
namespace {

// libgomp comes with oneDNN where that was built with OpenMP, and is absent otherwise (Debian's riscv64), so its functions
// are looked up rather than linked; this also keeps our code free of -fopenmp.
template <class Function>
Function find(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

using SetThreads = void (*)(int);
using GetThreads = int (*)();
using RunTeam = void (*)(void (*run)(void*), void* data, unsigned threads, unsigned flags);

// libgomp is not instrumented: with more than one thread ThreadSanitizer reports races that are none.
#if defined(__SANITIZE_THREAD__)
constexpr bool kTeams = false;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
constexpr bool kTeams = false;
#else
constexpr bool kTeams = true;
#endif
#else
constexpr bool kTeams = true;
#endif

struct Team {
  RunTeam run = find<RunTeam>("GOMP_parallel");
  GetThreads rank = find<GetThreads>("omp_get_thread_num");
  GetThreads size = find<GetThreads>("omp_get_num_threads");
  bool usable() const { return kTeams && run && rank && size; }
};

const Team& the_team() {
  static const Team team;
  return team;
}

struct Job {
  const Team* team;
  int64_t count;
  detail::RangeFunction run;
  void* context;
};

void run_share(void* data) {
  const Job& job = *static_cast<const Job*>(data);
  const int64_t rank = job.team->rank(), size = job.team->size();
  const int64_t begin = job.count * rank / size, end = job.count * (rank + 1) / size;
  if (begin < end) job.run(job.context, begin, end);
}

}  // namespace

/// Each thread's share is a pair of chunk numbers, in one word: its owner moves the beginning up, others the end down.
class ChunkedLoop {
 public:
  static constexpr int kThreadsMax = 64;  // further threads find no share of their own, and help

  ChunkedLoop(int threads, int64_t count, int64_t chunk, detail::ChunkFunction body, void* context)
      : count_(count), chunk_(chunk), body_(body), context_(context), shares_(std::clamp(threads, 1, kThreadsMax)) {
    const int64_t chunks = (count + chunk - 1) / chunk;
    SHOAL_CHECK(chunks <= int64_t(UINT32_MAX));
    for (int64_t i = 0; i < shares_; ++i) {
      share_[size_t(i)].chunks = word(uint64_t(chunks * i / shares_), uint64_t(chunks * (i + 1) / shares_));
    }
  }

  void run(int thread) {
    Chunks chunks;
    chunks.loop_ = this;
    chunks.own_ = chunks.from_ = thread % shares_;
    body_(context_, thread, chunks);
  }

  bool take(int own, int& from, int64_t& begin, int64_t& end) {
    do {
      std::atomic<uint64_t>& share = share_[size_t(from)].chunks;
      uint64_t seen = share.load(std::memory_order_relaxed);
      while (first(seen) < last(seen)) {
        const bool mine = from == own;
        const uint64_t left = mine ? word(first(seen) + 1, last(seen)) : word(first(seen), last(seen) - 1);
        // Nothing but the numbers themselves passes from thread to thread here: the team's barriers order the rest.
        if (!share.compare_exchange_weak(seen, left, std::memory_order_relaxed)) continue;
        begin = int64_t(mine ? first(seen) : last(seen) - 1) * chunk_;
        end = std::min(begin + chunk_, count_);
        return true;
      }
      from = (from + 1) % shares_;
    } while (from != own);
    return false;
  }

 private:
  static uint64_t word(uint64_t first, uint64_t last) { return first << 32 | last; }
  static uint64_t first(uint64_t word) { return word >> 32; }
  static uint64_t last(uint64_t word) { return word & UINT32_MAX; }

  struct alignas(64) Share {  // a line of the cache each
    std::atomic<uint64_t> chunks;
  };
  int64_t count_, chunk_;
  detail::ChunkFunction body_;
  void* context_;
  int shares_;
  std::array<Share, kThreadsMax> share_;
};

bool Chunks::next(int64_t& begin, int64_t& end) { return loop_->take(own_, from_, begin, end); }

void bind_compute_thread(int threads) {
  static const auto set_threads = find<SetThreads>("omp_set_num_threads");
  if (set_threads) set_threads(kTeams ? threads : 1);
  flush_denormals();  // before the first team: its threads inherit the mode
}

void detail::parallel_ranges(int threads, int64_t count, RangeFunction run, void* context) {
  const Team& team = the_team();
  if (!team.usable()) return run(context, 0, count);
  Job job{&team, count, run, context};
  team.run(&run_share, &job, unsigned(std::min<int64_t>(threads, count)), 0);
}

void detail::parallel_chunks(int threads, int64_t count, int64_t chunk, ChunkFunction run, void* context) {
  const Team& team = the_team();
  threads = team.usable() ? int(std::min<int64_t>(threads, (count + chunk - 1) / chunk)) : 1;
  ChunkedLoop loop(threads, count, chunk, run, context);
  if (threads <= 1) return loop.run(0);
  struct Job {
    ChunkedLoop& loop;
    const Team& team;
  } job{loop, team};
  team.run([](void* data) { static_cast<Job*>(data)->loop.run(static_cast<Job*>(data)->team.rank()); }, &job,
           unsigned(threads), 0);
}

}  // namespace shoal::backends::onednn
