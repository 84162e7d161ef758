// SPDX-License-Identifier: Apache-2.0
#include "openmp.h"

#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.h>

namespace shoal::backends::onednn {
namespace {

struct OpenMp {
  void (*set_threads)(int) = nullptr;
  int (*threads)() = nullptr;
};

/// Finds OpenMP's functions at run time. Shoal does not link to libgomp, which has them, for two reasons: a oneDNN that was
/// built without OpenMP (Debian's for riscv64) does not bring this library, and Shoal's code needs no -fopenmp this way.
/// The first search covers all libraries of the program. If two of them contain OpenMP, it finds the one that was loaded
/// first, which oneDNN calls, too. If a program loads Shoal with dlopen(), the first search may miss Shoal's libraries, so
/// a second search covers the libraries that oneDNN is linked with.
OpenMp find_openmp() {
  const auto find = [](void* scope) {
    return OpenMp{reinterpret_cast<void (*)(int)>(dlsym(scope, "omp_set_num_threads")),
                  reinterpret_cast<int (*)()>(dlsym(scope, "omp_get_max_threads"))};
  };
  if (const OpenMp found = find(RTLD_DEFAULT); found.set_threads) return found;
  Dl_info library{};
  if (dladdr(reinterpret_cast<const void*>(&dnnl_version), &library) == 0 || !library.dli_fname) return {};
  void* const onednn = dlopen(library.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (!onednn) return {};
  const OpenMp found = find(onednn);
  dlclose(onednn);  // oneDNN stays loaded, since this library is linked with it.
  return found;
}

}  // namespace

int set_openmp_threads(int count) {
  static const OpenMp openmp = find_openmp();
  if (count < 1 || !openmp.set_threads || !openmp.threads) return 0;
  const int before = openmp.threads();
  if (before != count) openmp.set_threads(count);
  return before;
}

}  // namespace shoal::backends::onednn
