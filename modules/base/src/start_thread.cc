// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/start_thread.h"

#include <system_error>

#include "shoal/base/exhaustion.h"

namespace shoal {

Result<std::thread> start_thread(Work work) {
#if defined(__cpp_exceptions)
  try {
#endif
    return std::thread(std::move(work));
#if defined(__cpp_exceptions)
  } catch (const std::system_error& error) {
    return unavailable("a thread could not be started: " + no_thread_text(error.code().value()));
  }
#endif
}

}  // namespace shoal
