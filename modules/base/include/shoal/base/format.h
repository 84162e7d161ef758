// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Writes numbers as text, the same in every locale. After a program has called setlocale(), printf() may write 0.5 as
/// "0,5": Shoal's readers refuse this text, and its hash differs from that of "0.5".
#include <string>

namespace shoal {

/// While an object of this class lives, the calling thread reads and writes numbers as in the "C" locale, whatever the
/// locale of the process is. Use it around calls of libraries that call std::strtod() or std::snprintf(). Destroy it on the
/// thread that made it.
class PlainLocale {
 public:
  PlainLocale();
  ~PlainLocale();
  PlainLocale(const PlainLocale&) = delete;
  PlainLocale& operator=(const PlainLocale&) = delete;

 private:
  void* const before_;
};

/// The text that std::snprintf() would write in the "C" locale, of any length.
__attribute__((format(printf, 1, 2))) std::string formatted(const char* pattern, ...);

/// The shortest decimal text that reads back as the same number, such as "0.1", "1e-07", "inf" or "nan": what
/// std::to_chars() writes. A build for size (-Os) has it without the standard library's tables, which are 133 kB on arm64,
/// and takes about a microsecond for a number in place of a tenth of one.
std::string shortest_text(double number);
std::string shortest_text(float number);

}  // namespace shoal
