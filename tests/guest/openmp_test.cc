// A program whose OpenMP binds threads: its first thread has one core, but ours have all that the process may use.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <cstdlib>
#include <thread>

#include "../base/temporary_folder.h"
#include "calls.h"
#include "child.h"
#include "shoal/base/own_thread.h"
#include "shoal/base/process_info.h"

namespace shoal::testing {
namespace {

constexpr const char* kProcessors = "SHOAL_TEST_PROCESSORS";

int processors_of_this_thread() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  sched_getaffinity(0, sizeof allowed, &allowed);
  return CPU_COUNT(&allowed);
}

/// In a process that was started with OMP_PROC_BIND: 0 if all is as it should be.
int check_bound(int processors) {
  if (int(processors_of_process().size()) != processors) return 1;
  if (processors > 1 && read_process_info().usable_cores < 1) return 2;
  int in_own_thread = 0;
  std::thread([&in_own_thread] {
    begin_own_thread();
    in_own_thread = processors_of_this_thread();
  }).join();
  if (in_own_thread != processors) return 3;
  const int before = processors_of_this_thread();
  const TemporaryFolder folder;
  prepare(folder.path());
  if (processors_of_this_thread() != before) return 4;  // The binding of the user's thread is the user's.
  const bool is_bound = before == 1 && processors > 1;
  const bool has_openmp = dlsym(RTLD_DEFAULT, "omp_get_num_places") != nullptr;  // A build without oneDNN has none.
  return is_bound || !has_openmp || processors == 1 ? kOwn : 5;
}

TEST(OpenMp, ThatBindsThreadsLeavesUsAllProcessors) {
  if (const char* const processors = std::getenv(kProcessors)) std::exit(check_bound(std::atoi(processors)));
  const std::string processors = std::string(kProcessors) + "=" + std::to_string(processors_of_this_thread());
  for (const char* const binding : {"OMP_PROC_BIND=true", "OMP_PROC_BIND=close", "OMP_PLACES=threads"}) {
    EXPECT_EQ(status_of_child([&] {
                const char* const words[] = {"guest_tests", "--gtest_filter=OpenMp.ThatBindsThreadsLeavesUsAllProcessors",
                                             nullptr};
                const char* const variables[] = {binding, processors.c_str(), nullptr};
                execve("/proc/self/exe", const_cast<char* const*>(words), const_cast<char* const*>(variables));
                return 98;
              }),
              kOwn)
        << binding;
  }
}

}  // namespace
}  // namespace shoal::testing
