// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/nearest_text.h"

#include <algorithm>
#include <vector>

namespace shoal {
namespace {

constexpr size_t kLettersMax = 100;  // Longer words get no suggestion, which bounds the cost.

/// The optimal string alignment distance, in which no letter is changed twice.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool exchanged = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (exchanged) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

bool differs_in_case_alone(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; };
  return a != b && std::ranges::equal(a, b, [lower](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace

std::string nearest_text(std::string_view text, std::span<const std::string> known) {
  std::string nearest;
  size_t least = text.size() / 3 + 1;
  if (text.size() > kLettersMax) return nearest;
  for (const std::string& word : known) {
    if (differs_in_case_alone(text, word)) return word;
  }
  for (const std::string& word : known) {
    if (word.size() > kLettersMax) continue;
    const size_t changes = distance(text, word);
    if (changes >= least) continue;
    least = changes;
    nearest = word;
  }
  return nearest;
}

std::string did_you_mean(std::string_view text, std::span<const std::string> known) {
  const std::string nearest = nearest_text(text, known);
  return nearest.empty() ? "" : "; did you mean " + nearest + "?";
}

}  // namespace shoal
