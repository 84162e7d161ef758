// SPDX-License-Identifier: Apache-2.0
#include "died.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "exhaustion.h"
#include "shoal/base/prompt_write.h"

namespace shoal {

void died_of_current_exception(const char* where) noexcept {
  end_if_exhausted(where);
#if defined(__cpp_exceptions)
  try {
    throw;
  } catch (const std::exception& exception) {
    abort_with_line("shoal: %s ended with an uncaught exception: %s\n", where, exception.what());
  } catch (...) {
    abort_with_line("shoal: %s ended with an uncaught exception that is no std::exception\n", where);
  }
#else
  abort_with_line("shoal: %s ended with an uncaught exception\n", where);
#endif
}

void abort_with_line(const char* format, ...) noexcept {
  std::array<char, 4096> line;
  va_list values;
  va_start(values, format);
  const int bytes = std::vsnprintf(line.data(), line.size(), format, values);
  va_end(values);
  const size_t written = std::min(size_t(std::max(bytes, 0)), line.size() - 1);
  if (written > 0) line[written - 1] = '\n';
  write_promptly(STDERR_FILENO, {line.data(), written}, std::chrono::seconds(1));
  std::abort();
}

}  // namespace shoal
