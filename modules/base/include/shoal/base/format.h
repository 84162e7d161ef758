#pragma once
/// Numbers as text for people and files, the same in every locale: a program that has called setlocale() writes 0.5 as "0,5"
/// with printf(), which no reader of ours takes, and which has another hash.
#include <string>

namespace shoal {

/// The calling thread reads and writes numbers as in the "C" locale while this lives, whatever the process has: for libraries
/// that call std::strtod() or std::snprintf(). Used on the thread that made it only.
class PlainLocale {
 public:
  PlainLocale();
  ~PlainLocale();
  PlainLocale(const PlainLocale&) = delete;
  PlainLocale& operator=(const PlainLocale&) = delete;

 private:
  void* const before_;
};

/// As std::snprintf() makes it in the "C" locale, of any length.
__attribute__((format(printf, 1, 2))) std::string formatted(const char* pattern, ...);

}  // namespace shoal
