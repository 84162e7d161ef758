// SPDX-License-Identifier: Apache-2.0
#include "launch/descriptor.h"

#include <fcntl.h>

#include <cerrno>

#include "shoal/base/exhaustion.h"

namespace shoal::cli::launch {

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return unavailable("no pipe can be made: " + system_error_text(errno));
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

}  // namespace shoal::cli::launch
