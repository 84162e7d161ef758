// SPDX-License-Identifier: Apache-2.0
// A program with an OpenMP of its own: one that binds threads, so that the first thread has one core, though ours have all that the
// process may use; and a second library of it beside the one that oneDNN brings.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
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

/// LLVM's OpenMP, as a program by clang has it beside oneDNN's libgomp.
constexpr const char* kSecondOpenMp = "libomp.so.5";

std::atomic<int> seen = 0;
void count_thread(int*, int*, ...) { ++seen; }

/// A loop of a user's, which LLVM's OpenMP shares among threads. Returns by how many.
int threads_of_a_loop(void* library) {
  using Body = void (*)(int*, int*, ...);
  struct Where {  // What a compiler writes down of a loop: four numbers, and a text.
    int numbers[4];
    const char* text;
  };
  static Where where{{0, 2, 0, 0}, ";unknown;unknown;0;0;;"};
  const auto fork_call = reinterpret_cast<void (*)(Where*, int, Body, ...)>(dlsym(library, "__kmpc_fork_call"));
  if (!fork_call) return -1;
  seen = 0;
  fork_call(&where, 0, &count_thread);
  return seen;
}

/// All public calls between loops of a user's, whose library has three threads for them.
void compute_beside(void* library, const std::string& folder) {
  const auto set_threads = reinterpret_cast<void (*)(int)>(dlsym(library, "omp_set_num_threads"));
  const auto threads = reinterpret_cast<int (*)()>(dlsym(library, "omp_get_max_threads"));
  ASSERT_TRUE(set_threads && threads);
  set_threads(3);
  for (const Call& call : all_calls()) {
    try {
      call.make(folder, 4);
      EXPECT_FALSE(call.throws) << call.name;
    } catch (const std::exception& error) {
      EXPECT_TRUE(call.throws) << call.name << ": " << error.what();
    }
    EXPECT_EQ(threads(), 3) << call.name;
    EXPECT_EQ(threads_of_a_loop(library), 3) << call.name;
  }
}

TEST(OpenMp, MayBeThereTwice) {
  void* const library = dlopen(kSecondOpenMp, RTLD_NOW | RTLD_LOCAL);
  if (!library) GTEST_SKIP() << "needs " << kSecondOpenMp << " of the Debian package libomp5";
  const TemporaryFolder folder;
  prepare(folder.path());
  compute_beside(library, folder.path());
}

TEST(OpenMp, MayBeTheProgramsOwnWhereItComesFirst) {
  void* const library = dlopen(kSecondOpenMp, RTLD_NOW | RTLD_LOCAL);
  if (!library) GTEST_SKIP() << "needs " << kSecondOpenMp << " of the Debian package libomp5";
  if (std::getenv("LD_PRELOAD")) {
    const TemporaryFolder folder;
    prepare(folder.path());
    compute_beside(library, folder.path());
    std::exit(HasFailure() ? 1 : kOwn);
  }
  EXPECT_EQ(
      status_of_child([] {
        const char* const words[] = {"guest_tests", "--gtest_filter=OpenMp.MayBeTheProgramsOwnWhereItComesFirst", nullptr};
        const std::string preload = std::string("LD_PRELOAD=") + kSecondOpenMp;
        const char* const variables[] = {preload.c_str(), "ASAN_OPTIONS=verify_asan_link_order=0", nullptr};
        execve("/proc/self/exe", const_cast<char* const*>(words), const_cast<char* const*>(variables));
        return 98;
      }),
      kOwn);
}

}  // namespace
}  // namespace shoal::testing
