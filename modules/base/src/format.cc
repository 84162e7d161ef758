// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/format.h"

#include <locale.h>

#include <algorithm>
#include <charconv>
#include <cstdarg>
#include <cstdio>

#include "printed_shortest.h"
#include "shoal/base/check.h"

namespace shoal {
namespace {

locale_t plain() {
  static const locale_t made = newlocale(LC_ALL_MASK, "C", nullptr);
  return made;
}

template <class Float>
std::string text_for_build(Float number) {
#ifdef __OPTIMIZE_SIZE__
  return printed_shortest(number);
#else
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, number).ptr};
#endif
}

}  // namespace

PlainLocale::PlainLocale() : before_(uselocale(plain())) {}
PlainLocale::~PlainLocale() { uselocale(static_cast<locale_t>(before_)); }

std::string formatted(const char* pattern, ...) {
  const PlainLocale locale;
  va_list arguments, again;
  va_start(arguments, pattern);
  va_copy(again, arguments);
  char start[64];
  const int length = std::vsnprintf(start, sizeof start, pattern, arguments);
  va_end(arguments);
  SHOAL_CHECK(length >= 0);
  std::string text(start, std::min(size_t(length), sizeof start - 1));
  if (text.size() < size_t(length)) {
    text.resize(size_t(length));
    std::vsnprintf(text.data(), text.size() + 1, pattern, again);
  }
  va_end(again);
  return text;
}

std::string shortest_text(double number) { return text_for_build(number); }
std::string shortest_text(float number) { return text_for_build(number); }

}  // namespace shoal
