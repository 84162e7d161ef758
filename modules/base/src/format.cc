// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/format.h"

#include <locale.h>

#include <cstdarg>
#include <cstdio>

#include "shoal/base/check.h"

namespace shoal {
namespace {

locale_t plain() {
  static const locale_t made = newlocale(LC_ALL_MASK, "C", nullptr);
  return made;
}

}  // namespace

PlainLocale::PlainLocale() : before_(uselocale(plain())) {}
PlainLocale::~PlainLocale() { uselocale(static_cast<locale_t>(before_)); }

std::string formatted(const char* pattern, ...) {
  const PlainLocale locale;
  va_list arguments, again;
  va_start(arguments, pattern);
  va_copy(again, arguments);
  const int length = std::vsnprintf(nullptr, 0, pattern, arguments);
  va_end(arguments);
  SHOAL_CHECK(length >= 0);
  std::string text(size_t(length), '\0');
  std::vsnprintf(text.data(), text.size() + 1, pattern, again);
  va_end(again);
  return text;
}

}  // namespace shoal
