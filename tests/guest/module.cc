// SPDX-License-Identifier: Apache-2.0
// Shoal as a part of a library that a program loads with dlopen(), and takes out again with dlclose(). The library shows the program
// one function and hides everything else, as plug-ins of other programs do; otherwise dlclose() would leave it in.
#include <cstdio>
#include <exception>

#include "calls.h"

/// Makes all public calls, whose model lies in `folder`. Returns 0 if each ended as it has to.
extern "C" __attribute__((visibility("default"))) int make_all_calls(const char* folder, int threads) {
  using namespace shoal::testing;
  try {
    if (!std::filesystem::exists(std::string(folder) + "/export")) prepare(folder);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "prepare: %s\n", error.what());
    return 1;
  }
  for (const Call& call : all_calls()) {
    bool threw = false;
    try {
      call.make(folder, threads);
    } catch (const std::exception& error) {
      threw = true;
      if (!call.throws) std::fprintf(stderr, "%s: %s\n", call.name.c_str(), error.what());
    }
    if (threw != call.throws) return 1;
  }
  return 0;
}
