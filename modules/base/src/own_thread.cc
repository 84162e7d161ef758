// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/own_thread.h"

#include <dlfcn.h>
#include <sched.h>

#include <cstdlib>
#include <string_view>

#include "shoal/base/cpu.h"

namespace shoal {
namespace {

/// The functions of OpenMP 4.5 that name the cores its threads may use ("places"). Only a backend or the user's program
/// brings OpenMP along, so the functions are looked up at run time rather than linked.
struct OpenMpPlaces {
  int (*count)() = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "omp_get_num_places"));
  int (*size)(int) = reinterpret_cast<int (*)(int)>(dlsym(RTLD_DEFAULT, "omp_get_place_num_procs"));
  void (*processors)(int, int*) = reinterpret_cast<void (*)(int, int*)>(dlsym(RTLD_DEFAULT, "omp_get_place_proc_ids"));
};

bool is_set(const char* variable) {
  const char* const value = std::getenv(variable);
  return value && *value != '\0' && std::string_view(value) != "false" && std::string_view(value) != "FALSE";
}

/// All processors of OpenMP's places if OpenMP binds threads; else an empty set.
cpu_set_t processors_of_places() {
  cpu_set_t all;
  CPU_ZERO(&all);
  if (!is_set("OMP_PROC_BIND") && !is_set("GOMP_CPU_AFFINITY") && !is_set("OMP_PLACES")) return all;
  const OpenMpPlaces places;
  if (!places.count || !places.size || !places.processors) return all;
  for (int place = 0; place < places.count(); ++place) {
    std::vector<int> numbers(size_t(places.size(place)));
    places.processors(place, numbers.data());
    for (const int number : numbers) {
      if (number >= 0 && number < CPU_SETSIZE) CPU_SET(number, &all);
    }
  }
  return all;
}

}  // namespace

std::vector<int> processors_of_process() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  // The call fails if there are more processors than cpu_set_t has bits.
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return {};
  const cpu_set_t places = processors_of_places();
  std::vector<int> numbers;
  for (int number = 0; number < CPU_SETSIZE; ++number) {
    if (CPU_ISSET(number, &allowed) || CPU_ISSET(number, &places)) numbers.push_back(number);
  }
  return numbers;
}

void begin_own_thread() {
  flush_denormals();
  const cpu_set_t places = processors_of_places();
  // If this call fails, the thread only runs on fewer processors, so it may be slower. Its results have the same bits.
  if (CPU_COUNT(&places) > 0) ::sched_setaffinity(0, sizeof places, &places);
}

}  // namespace shoal
