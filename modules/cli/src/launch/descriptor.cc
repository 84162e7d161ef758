#include "launch/descriptor.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>

namespace shoal::cli::launch {

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return unavailable("no pipe can be made: " + std::string(std::strerror(errno)) +
                       (errno == EMFILE ? "; the limit of open files (ulimit -n) is too low for so many tasks" : ""));
  }
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

}  // namespace shoal::cli::launch
