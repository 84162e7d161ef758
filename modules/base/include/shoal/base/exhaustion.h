// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Errors for memory, threads, descriptors and disk space that have run out. Their sentences name the limit. Exhaustion is
/// no bug in the program, so it never aborts the process: launchers would start an aborted process again.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "shoal/base/result.h"

namespace shoal {

/// The sentence for the errno `number`. If a limit was met, the sentence names the limit and says what to raise:
/// "Too many open files; this process may have 64 files and sockets open (ulimit -n)".
std::string system_error_text(int number);
/// As system_error_text(), for a thread or process that could not be started: EAGAIN then means that a limit was met.
std::string no_thread_text(int number);

/// The error for `bytes` of memory that could not be allocated for `what` ("a buffer"). FailedPrecondition if this process
/// can never have so many (because of its machine, its cgroup or its limits), else Unavailable.
Error no_memory(uint64_t bytes, std::string_view what);

/// FailedPrecondition if `bytes` exceeds `memory_bytes` (see ProcessInfo; 0: not known, which allows everything). The error
/// names the user of the memory by `whose` ("this server's part of the model") and ends with `advice` on how to need less.
Result<void> fits_memory(uint64_t bytes, uint64_t memory_bytes, std::string_view whose, std::string_view advice);

/// Raises an `error` about exhaustion. Coroutines and offloaded work turn the exception back into this error, so the caller
/// must leave no data half changed.
[[noreturn]] void raise_exhausted(Error error);

/// If the exception being handled says that memory, threads or descriptors ran out, returns the error for it ("... while
/// `where` ran"); nothing for any other exception. Call it inside a catch block.
std::optional<Error> exhaustion_of_current_exception(std::string_view where) noexcept;

/// Whether the process could get `bytes` more of memory now. For calls into libraries that crash when they get none.
bool has_memory_left(size_t bytes) noexcept;

/// While an object of this class lives, the process ends with an error message and the error's exit status if memory or
/// threads or descriptors run out where no code can return an error. Examples: an exception in a destructor or a noexcept
/// function, a stack that cannot grow, a library that writes through the null pointer it got instead of memory. All other
/// crashes end as they would without the object. Since it changes handlers of the whole process, only programs make one:
/// shoal::run() and the program `shoal`. One at a time.
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
