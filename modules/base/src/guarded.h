#pragma once
/// Entering what others wrote from a loop or thread of ours: an exception that comes out ends the process with its text.
#include "died.h"
#include "shoal/base/function.h"

namespace shoal {

inline void run_guarded(Work& work, [[maybe_unused]] const char* what) noexcept {
#if defined(__cpp_exceptions)
  try {
    work();
  } catch (...) {
    died_of_current_exception(what);
  }
#else
  work();
#endif
}

}  // namespace shoal
