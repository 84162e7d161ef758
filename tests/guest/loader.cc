// SPDX-License-Identifier: Apache-2.0
// A program without a line of Shoal: it loads a library that has Shoal in it, calls it, takes it out again, and goes on. It ends with
// status 0 if nothing of Shoal is left behind: no thread, no handler, no code that a later fork() or exit would run.
//
// usage: loader MODULE main|thread       which thread makes the calls
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>

namespace {

constexpr int kRounds = 3;

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::_Exit(1);
}

int threads_now() {
  return int(std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator()));
}

void check_handlers(int round) {
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action {};
    if (sigaction(signal, nullptr, &action) != 0) continue;
    const bool is_plain =
        (action.sa_flags & SA_SIGINFO) == 0 && (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN);
    Dl_info owner{};
    // A handler of the program's or of a sanitizer's lies in a library that is still there.
    if (!is_plain && dladdr(reinterpret_cast<void*>(action.sa_sigaction), &owner) == 0) {
      fail("round " + std::to_string(round) + ": the handler of signal " + std::to_string(signal) + " is gone");
    }
  }
}

void check_fork(int round) {
  const pid_t child = fork();
  if (child == 0) std::exit(17);
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 17)
    fail("round " + std::to_string(round) + ": a child did not end well");
}

/// Returns the library, which is still loaded.
void* call(const char* module, const std::string& folder) {
  void* const library = dlopen(module, RTLD_NOW | RTLD_LOCAL);
  if (!library) fail(dlerror());
  const auto make_all_calls = reinterpret_cast<int (*)(const char*, int)>(dlsym(library, "make_all_calls"));
  if (!make_all_calls) fail(dlerror());
  if (make_all_calls(folder.c_str(), 2) != 0) fail("a call did not end as it has to");
  return library;
}

}  // namespace

int main(int, char** argv) {
  const bool in_a_thread = std::string(argv[2]) == "thread";
  std::string folder = (std::filesystem::temp_directory_path() / "shoal-loader-XXXXXX").string();
  if (!mkdtemp(folder.data())) fail("no folder can be made in " + folder);
  const int before = threads_now();
  for (int round = 1; round <= kRounds; ++round) {
    void* library = nullptr;
    if (in_a_thread) {
      std::thread([&] { library = call(argv[1], folder); }).join();
    } else {
      library = call(argv[1], folder);
    }
    if (dlclose(library) != 0) fail(dlerror());
    // The C library keeps the code for as long as a thread that has called it will run destructors of its thread_local
    // variables: those of the first thread run as the program ends.
    if (in_a_thread && dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD)) fail("the library is still loaded");
    if (in_a_thread && threads_now() != before) fail("threads are left: " + std::to_string(threads_now() - before));
    check_handlers(round);
    check_fork(round);
  }
  std::filesystem::remove_all(folder);
  return 0;
}
