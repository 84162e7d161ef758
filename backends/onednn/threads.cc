#include "threads.h"

#include <dlfcn.h>

#include <algorithm>

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

void bind_compute_thread(int threads) {
  static const auto set_threads = find<SetThreads>("omp_set_num_threads");
  if (set_threads) set_threads(kTeams ? threads : 1);
  flush_denormals();  // before the first team: its threads inherit the mode
}

void detail::parallel_ranges(int threads, int64_t count, RangeFunction run, void* context) {
  static const Team team;
  if (!team.usable()) return run(context, 0, count);
  Job job{&team, count, run, context};
  team.run(&run_share, &job, unsigned(std::min<int64_t>(threads, count)), 0);
}

}  // namespace shoal::backends::onednn
