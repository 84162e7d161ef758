// SPDX-License-Identifier: Apache-2.0
// A caller's thread and process are after each public call what they were before, whichever way the call ends.
#include <dirent.h>
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cfenv>
#include <clocale>
#include <csignal>
#include <exception>
#include <iostream>
#include <locale>
#include <map>
#include <new>
#include <thread>

#include "../base/temporary_folder.h"
#include "calls.h"

namespace shoal::testing {
namespace {

using State = std::map<std::string, std::string>;

int (*openmp_threads())() { return reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "omp_get_max_threads")); }

std::string bytes_of(const void* object, size_t size) { return {static_cast<const char*>(object), size}; }

std::string number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%a", value);
  return text;
}

/// What belongs to the calling thread.
State state_of_thread() {
  State state;
  volatile double small = 1e-310, one = 1;
  volatile float small_float = 1e-40f, three = 3;
  state["denormal double"] = number(small / 2);
  state["denormal float"] = number(small_float * 0.5f);
  state["rounding"] = number(float(one) / three);
  state["rounding of long doubles"] = std::to_string(std::fegetround());
  state["traps"] = std::to_string(fegetexcept());
  state["raised"] = std::to_string(std::fetestexcept(FE_ALL_EXCEPT & ~FE_INEXACT));
  if (openmp_threads()) state["threads of OpenMP"] = std::to_string(openmp_threads()());
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  for (int signal = 1; signal < NSIG; ++signal) state["blocked"] += sigismember(&blocked, signal) == 1 ? '1' : '0';
  char name[17] = {};
  prctl(PR_GET_NAME, name);
  state["name"] = name;
  cpu_set_t processors;
  CPU_ZERO(&processors);
  sched_getaffinity(0, sizeof processors, &processors);
  state["processors"] = bytes_of(&processors, sizeof processors);
  return state;
}

/// What all threads share.
State state_of_process() {
  State state;
  state["locale of C"] = std::setlocale(LC_ALL, nullptr);
  state["locale of C++"] = std::locale().name();
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action {};
    if (sigaction(signal, nullptr, &action) != 0) continue;
    state["handler of " + std::to_string(signal)] =
        std::to_string(uintptr_t(action.sa_sigaction)) + " " + std::to_string(action.sa_flags);
  }
  char folder[4096] = {};
  state["folder"] = getcwd(folder, sizeof folder) ? folder : "none";
  const mode_t mask = umask(0);
  umask(mask);
  state["umask"] = std::to_string(mask);
  state["terminate"] = std::to_string(uintptr_t(std::get_terminate()));
  state["new handler"] = std::to_string(uintptr_t(std::get_new_handler()));
  state["precision of cout"] = std::to_string(std::cout.precision()) + " " + std::to_string(int(std::cout.flags()));
  DIR* const open = opendir("/proc/self/fd");
  for (const dirent* entry; (entry = readdir(open));) state["descriptors"] += std::string(entry->d_name) + " ";
  closedir(open);
  return state;
}

/// Sets up the calling thread as none of ours is.
void set_up_as_a_user() {
  std::fesetenv(FE_DFL_ENV);
  std::fesetround(FE_DOWNWARD);
  feenableexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW);
  if (const auto set = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"))) set(3);
  prctl(PR_SET_NAME, "guest's host");
}

class CallerState : public ::testing::Test {
 protected:
  /// Makes each call on `callers` threads at once, with `threads` compute threads for each.
  void make_all(int callers, int threads) {
    for (const Call& call : all_calls()) {
      SCOPED_TRACE(call.name + ", " + std::to_string(callers) + " callers, " + std::to_string(threads) + " threads");
      const State process = state_of_process();
      std::vector<std::thread> all;
      for (int i = 0; i < callers; ++i) all.emplace_back([&, i] { make(call, folder_ / std::to_string(i), threads); });
      for (std::thread& caller : all) caller.join();
      EXPECT_EQ(state_of_process(), process);
    }
  }

  static void make(const Call& call, const std::string& folder, int threads) {
    set_up_as_a_user();
    const State before = state_of_thread();
    bool threw = false;
    try {
      call.make(folder, threads);
    } catch (const std::exception&) {
      threw = true;
    }
    EXPECT_EQ(state_of_thread(), before) << call.name;
    EXPECT_EQ(threw, call.throws) << call.name;
  }

  void SetUp() override {
    for (int i = 0; i < 4; ++i) prepare(folder_ / std::to_string(i));
  }
  TemporaryFolder folder_;
};

TEST_F(CallerState, IsAsItWasForOneCaller) {
  make_all(1, 1);
  make_all(1, 4);
}

TEST_F(CallerState, IsAsItWasForFourCallers) {
  make_all(4, 1);
  make_all(4, 4);
}

TEST_F(CallerState, IsAsItWasWithinAPrediction) {
  std::thread([this] {
    set_up_as_a_user();
    const State before = state_of_thread();
    Estimator estimator(guest_model, guest_config(folder_ / "0/model", 2));
    const auto predictions = estimator.predict(guest_data().batch(kBatch).prefetch(2));
    while (predictions->next()) EXPECT_EQ(state_of_thread(), before);
  }).join();
}

}  // namespace
}  // namespace shoal::testing
