// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/exhaustion.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <system_error>

#include "cgroup.h"
#include "exhaustion.h"
#include "loop_wait.h"
#include "memory_limit.h"
#include "shoal/base/kernel_file.h"
#include "shoal/base/prompt_write.h"

namespace shoal {
namespace {

constexpr uint64_t kMiB = uint64_t(1) << 20;

// Global variables, since terminate handlers and signal handlers get no pointer to data.
std::atomic<void*> reserve{nullptr};  // Freed when memory has run out, so that the error can be printed.
std::atomic<std::terminate_handler> terminate_before{nullptr};

class Exhausted final : public Exception {
 public:
  using Exception::Exception;
};

std::string mib(uint64_t bytes) { return std::to_string(bytes / kMiB) + " MiB"; }
/// Rounds up, for amounts of memory in use; mib() rounds down, for limits. So an error about a limit never shows an amount
/// that seems to fit the limit.
std::string mib_taken(uint64_t bytes) { return std::to_string(bytes / kMiB + (bytes % kMiB != 0 ? 1 : 0)) + " MiB"; }

std::optional<uint64_t> own_limit(decltype(RLIMIT_AS) resource) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return limit.rlim_cur;
}

/// The size of this process's address space. 0: not known.
uint64_t address_space_bytes() {
  const auto pages = numbers_in<uint64_t>("/proc/self/statm", 1)[0];  // The first field is the address space, in pages.
  return pages.value_or(0) * uint64_t(::sysconf(_SC_PAGESIZE));
}

/// Returns a text for errors: "; this process has 60 MiB of address space and may have 64 MiB (its limit of address space,
/// ulimit -v)".
std::string memory_text() {
  const MemoryLimit limit = read_memory_limit();
  if (limit.bytes == 0) return "";
  const std::string has = limit.of_process ? "has " + mib_taken(address_space_bytes()) + " of address space and " : "";
  return "; this process " + has + "may have " + mib(limit.bytes) + " (" + limit.whose + ")";
}

/// Lists the limits that may have prevented the start of another thread.
std::string threads_text() {
  std::string limits;
  const auto add = [&limits](const std::string& limit) { limits += (limits.empty() ? "; limits: " : ", ") + limit; };
  if (const auto count = own_limit(RLIMIT_NPROC))
    add(std::to_string(*count) + " threads and processes of this user (ulimit -u)");
  if (const auto count = read_cgroup_limits().processes) add(std::to_string(*count) + " of its cgroup (pids.max)");
  if (const auto bytes = own_limit(RLIMIT_AS)) {
    add(mib(*bytes) + " of address space (ulimit -v), of which it has " + mib_taken(address_space_bytes()));
    if (const auto stack = own_limit(RLIMIT_STACK)) add(mib(*stack) + " of it for each thread (ulimit -s)");
  }
  return limits + "; raise the limit, or use fewer threads (--threads)";
}

std::string descriptors_text() {
  const auto count = own_limit(RLIMIT_NOFILE);
  return "; this process may have " + (count ? std::to_string(*count) + " " : "no more ") +
         "files and sockets open (ulimit -n): raise that limit";
}

/// If errno `number` says that a limit was met, returns a text to append to an error's sentence, such as "; raise the limit
/// of file sizes (ulimit -f)"; else "".
std::string limit_text(int number) {
  switch (number) {
    case EMFILE: return descriptors_text();
    case ENFILE: return "; all processes of this machine together have as many files open as it allows (fs.file-max)";
    case ENOMEM: return memory_text();
    case ENOSPC:
    case EDQUOT: return "; free some space";
    case EFBIG: return "; raise the limit of file sizes (ulimit -f)";
    default: return "";
  }
}

Error memory_ran_out(std::string_view where) {
  return unavailable("memory ran out while " + std::string(where) + " ran" + memory_text() +
                     "; raise the limit, or use less: a smaller model or batch, fewer batches ahead (prefetch)");
}

Error ran_out(int number, std::string_view where) {
  if (number == ENOMEM) return memory_ran_out(where);
  const std::string what = number == EAGAIN ? "a thread could not be started" : "a descriptor could not be opened";
  return unavailable(what + " while " + std::string(where) + " ran: " + no_thread_text(number));
}

/// Whether `number` is an errno that std::system_error carries when a limit of the system was met.
bool is_limit(int number) {
  constexpr int kLimits[] = {ENOMEM, EAGAIN, EMFILE, ENFILE};
  return std::find(std::begin(kLimits), std::end(kLimits), number) != std::end(kLimits);
}

void write_line(const char* begin, std::string_view sentence) {
  std::array<char, 1024> line;
  const int bytes = std::snprintf(line.data(), line.size(), "%s%.*s\n", begin, int(sentence.size()), sentence.data());
  const auto written = std::min(size_t(std::max(bytes, 0)), line.size() - 1);
  if (written > 0) line[written - 1] = '\n';
  write_promptly(STDERR_FILENO, {line.data(), written}, std::chrono::seconds(1));
}

[[noreturn]] void on_terminate() {
  end_if_exhausted("a part of it that may not fail");
  if (const auto before = terminate_before.load()) before();
  std::abort();
}

constexpr size_t kFaultProbeBytes = 8 * kMiB;

/// The handler of SIGSEGV, which has two causes: a bug, or an allocation that failed. If no memory is left, the second is
/// assumed: prints that memory ran out, and ends the process.
extern "C" void shoal_on_fault(int number) {
  if (!has_memory_left(kFaultProbeBytes)) {
    constexpr std::string_view kText =
        "memory ran out in a library, or for a stack that had to grow; raise the limit (ulimit -v), or use "
        "less: a smaller model or batch, fewer threads";
    write_line("error: ", kText);
    ::_exit(exit_status(ErrorKind::kUnavailable));
  }
  struct sigaction standard {};  // The default action: the instruction faults again, and ends the process.
  standard.sa_handler = SIG_DFL;
  ::sigaction(number, &standard, nullptr);
}

/// Makes shoal_on_fault() the handler of SIGSEGV. The handler gets a stack of its own, since a thread's stack that cannot
/// grow is one cause of the signal. Returns false if the signal has a handler already, or if a system call fails.
bool watch_faults() {
  struct sigaction now {};
  ::sigaction(SIGSEGV, nullptr, &now);
  if (now.sa_handler != SIG_DFL) return false;  // A sanitizer or the program handles SIGSEGV already.
  alignas(16) static std::array<std::byte, size_t(64) * 1024> stack;
  stack_t other{};
  other.ss_sp = stack.data();
  other.ss_size = stack.size();
  if (::sigaltstack(&other, nullptr) != 0) return false;
  struct sigaction action {};
  action.sa_handler = shoal_on_fault;
  action.sa_flags = SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  return ::sigaction(SIGSEGV, &action, nullptr) == 0;
}

}  // namespace

std::string system_error_text(int number) { return std::generic_category().message(number) + limit_text(number); }

std::string no_thread_text(int number) {
  return number == EAGAIN ? std::generic_category().message(number) + threads_text() : system_error_text(number);
}

Error no_memory(uint64_t bytes, std::string_view what) {
  const MemoryLimit limit = read_memory_limit();
  const std::string sentence =
      mib_taken(bytes) + " of memory could not be allocated for " + std::string(what) + memory_text();
  if (limit.bytes != 0 && bytes > limit.bytes) return failed_precondition(sentence + ", so it can never have that");
  // The C library allocates no larger piece, since the difference of two pointers into it would overflow.
  if (bytes > uint64_t(PTRDIFF_MAX)) return failed_precondition(sentence + ", and it can never have that in one piece");
  return unavailable(sentence);
}

Result<void> fits_memory(uint64_t bytes, uint64_t memory_bytes, std::string_view whose, std::string_view advice) {
  if (memory_bytes == 0 || bytes <= memory_bytes) return {};
  return failed_precondition(std::string(whose) + " takes at least " + mib_taken(bytes) +
                             " of memory, and this process may have " + mib(memory_bytes) +
                             " (the least of the machine's memory, the limit of its cgroup, and ulimit -v); " +
                             std::string(advice));
}

std::optional<Error> exhaustion_of_current_exception([[maybe_unused]] std::string_view where) noexcept {
#if defined(__cpp_exceptions)
  std::free(reserve.exchange(nullptr));
  // Printing the error allocates memory, and there may be none left.
  try {
    try {
      throw;
    } catch (const Exhausted& exhausted) {
      return exhausted.error();
    } catch (const std::bad_alloc&) {
      return memory_ran_out(where);
    } catch (const std::system_error& error) {
      if (is_limit(error.code().value())) return ran_out(error.code().value(), where);
    } catch (const std::exception& exception) {
      if (const int number = error_number_of(exception); is_limit(number)) return ran_out(number, where);
    } catch (...) {
      return std::nullopt;
    }
    return std::nullopt;
  } catch (...) {
    return Error(ErrorKind::kUnavailable, "memory ran out");  // Short enough to fit into the string without an allocation.
  }
#else
  return std::nullopt;
#endif
}

std::optional<Error> raised_exhaustion() noexcept {
#if defined(__cpp_exceptions)
  try {
    throw;
  } catch (const Exhausted& exhausted) {
    return exhausted.error();
  } catch (...) {
    return std::nullopt;
  }
#else
  return std::nullopt;
#endif
}

void raise_exhausted(Error error) {
#if defined(__cpp_exceptions)
  error = Error(error).with_cause(std::make_exception_ptr(Exhausted(error)));
#endif
  raise(std::move(error));
}

bool has_memory_left(size_t bytes) noexcept {
  void* const probe = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (probe == MAP_FAILED) return false;
  ::munmap(probe, bytes);
  return true;
}

void end_if_exhausted(const char* where) noexcept {
#if defined(__cpp_exceptions)
  if (!std::current_exception()) return;
  const std::optional<Error> error = exhaustion_of_current_exception(where);
  if (!error) return;
  write_line("error: ", error->message());
  ::_exit(exit_status(error->kind()));
#else
  static_cast<void>(where);
#endif
}

ExhaustionAsError::ExhaustionAsError() {
  constexpr size_t kReserveBytes =
      256 * 1024;  // Large enough for malloc() to map it separately, so that free() returns it to the system.
  std::free(reserve.exchange(std::malloc(kReserveBytes)));
  terminate_before = std::set_terminate(on_terminate);
  watches_faults_ = watch_faults();
}

ExhaustionAsError::~ExhaustionAsError() {
  if (watches_faults_) {
    struct sigaction standard {};
    standard.sa_handler = SIG_DFL;
    ::sigaction(SIGSEGV, &standard, nullptr);
  }
  std::set_terminate(terminate_before);
  std::free(reserve.exchange(nullptr));
}

}  // namespace shoal
