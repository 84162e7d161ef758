#include "compute_thread.h"

#include <dlfcn.h>

#include "shoal/base/cpu.h"

namespace shoal::backends::onednn {
namespace {

using SetThreads = void (*)(int);

/// libgomp comes with oneDNN where that was built with OpenMP, and is absent otherwise (Debian's riscv64), so its
/// function is looked up rather than linked; this also keeps our code free of -fopenmp.
SetThreads openmp_set_threads() {
  static const auto found = reinterpret_cast<SetThreads>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
  return found;
}

}  // namespace

void bind_compute_thread(int) {
  // OpenMP keeps it per calling thread, and a new thread does not inherit it.
  if (const SetThreads set_threads = openmp_set_threads()) set_threads(1);
  flush_denormals();
}

}  // namespace shoal::backends::onednn
