// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/error_border.h"

#include <cxxabi.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <typeinfo>
#include <utility>

#include "shoal/base/check.h"
#include "shoal/base/prompt_write.h"

namespace shoal {
namespace {

thread_local ErrorBorder* border_of_thread = nullptr;

}  // namespace

ErrorBorder::ErrorBorder(UniqueFunction<int(const Error&)> end) : end_(std::move(end)) {
  SHOAL_CHECK(border_of_thread == nullptr);
  border_of_thread = this;
}

ErrorBorder::~ErrorBorder() { border_of_thread = nullptr; }

void ErrorBorder::end_process(const Error& error) {
  int status = exit_status(error.kind());
  // An error that `end` itself raises finds no border, so that it ends the process at once.
  if (ErrorBorder* const border = std::exchange(border_of_thread, nullptr)) {
    status = border->end_(error);
  } else {
    write_promptly(STDERR_FILENO, "error: " + error.message() + "\n", std::chrono::seconds(1));
  }
  std::fflush(stdout);
  ::_exit(status);  // Other threads may still use what destructors of static objects would take from them.
}

}  // namespace shoal

#if !defined(__cpp_exceptions) && defined(__GLIBCXX__)
// Replaces the handler of libstdc++ for exceptions that nobody catches. That one prints the exception's type in C++, for which a
// static program needs 47 kB more. This one prints the compiler's name of the type ("St9bad_alloc").
namespace __gnu_cxx {

void __verbose_terminate_handler();

void __verbose_terminate_handler() {
  const std::type_info* const type = abi::__cxa_current_exception_type();
  const std::string what = type ? std::string("an exception of type ") + type->name() : "std::terminate()";
  shoal::write_promptly(STDERR_FILENO, "shoal: " + what + " ended the process\n", std::chrono::seconds(1));
  std::abort();
}

}  // namespace __gnu_cxx
#endif
