// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Memory, threads, descriptors and space that have run out: a sentence that names the limit, and the status of its kind. It is
/// no mistake in the program, and so never an abort, after which a launcher would start the same again.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "shoal/base/result.h"

namespace shoal {

/// A sentence for `number`, an errno. Where a limit was met, the sentence names the limit and says what to raise:
/// "Too many open files; this process may have 64 files and sockets open (ulimit -n)".
std::string system_error_text(int number);
/// As system_error_text(), for a thread or a process that could not be started: there EAGAIN means that a limit was met.
std::string no_thread_text(int number);

/// `bytes` could not be had for `what` ("a buffer"). FailedPrecondition if this process may never have so many (by its machine,
/// its cgroup or its limits), else Unavailable.
Error no_memory(uint64_t bytes, std::string_view what);

/// FailedPrecondition if `bytes`, which `whose` takes ("this server's part of the model"), are more than `memory_bytes`
/// (ProcessInfo); 0, which is not known, holds anything. `advice`: what makes it less.
Result<void> fits_memory(uint64_t bytes, uint64_t memory_bytes, std::string_view whose, std::string_view advice);

/// raise(), where `error` tells of an exhaustion. What comes out of a coroutine, or of offloaded work, is that error again; so the
/// caller leaves nothing half changed behind.
[[noreturn]] void raise_exhausted(Error error);

/// The error that the exception being handled stands for, if it says that memory, threads or descriptors ran out ("... while
/// `where` ran"); none for any other exception. From inside a catch block.
std::optional<Error> exhaustion_of_current_exception(std::string_view where) noexcept;

/// Whether `bytes` more of memory could be had now. For calls into libraries that crash where they get none.
bool has_memory_left(size_t bytes) noexcept;

/// While it lives, an exhaustion that no other place has made an error of ends the process with a sentence and its status: an
/// exception in a destructor, or in a function that may throw none; a stack that cannot grow, or a library that has written
/// through the null that it got in place of memory. Everything else ends as ever. It is a whole program's decision, and so made
/// by shoal::run() and by `shoal` itself: a library changes no handler. One at a time.
class ExhaustionAsError {
 public:
  ExhaustionAsError();
  ~ExhaustionAsError();
  ExhaustionAsError(const ExhaustionAsError&) = delete;
  ExhaustionAsError& operator=(const ExhaustionAsError&) = delete;

 private:
  bool watches_faults_ = false;
};

}  // namespace shoal
