// SPDX-License-Identifier: Apache-2.0
#include "shoal/cluster/compression.h"

#include <array>
#include <optional>

#include "shoal/base/format.h"
#include "shoal/base/number_text.h"

namespace shoal::cluster {
namespace {

using transport::Encoding;

constexpr std::array<std::pair<std::string_view, Encoding>, 5> kWords{{{"none", Encoding::kDense},
                                                                       {"bfloat16", Encoding::kBfloat16},
                                                                       {"float16", Encoding::kFloat16},
                                                                       {"int8", Encoding::kInt8},
                                                                       {"top-k", Encoding::kTopK}}};

Error unknown(std::string_view text) {
  return invalid_argument(
      "compression \"" + std::string(text) +
      "\": there are none, bfloat16, float16, int8 (both ways), top-k and top-k:0.01 (gradients only), or "
      "each by itself: gradients=top-k,weights=bfloat16");
}

/// Reads one encoding. "top-k:0.001" also sets `fraction`.
std::optional<Encoding> read_word(std::string_view word, double& fraction) {
  const size_t colon = word.find(':');
  for (const auto& [name, encoding] : kWords) {
    if (word.substr(0, colon) != name) continue;
    if (colon == word.npos) return encoding;
    const std::optional<double> number = number_from<double>(word.substr(colon + 1));
    if (encoding != Encoding::kTopK || !number || !(*number > 0 && *number <= 1)) continue;
    fraction = *number;
    return encoding;
  }
  return std::nullopt;
}

std::string_view word_of(Encoding encoding) {
  for (const auto& [name, known] : kWords) {
    if (known == encoding) return name;
  }
  return "?";
}

}  // namespace

Result<Compression> parse_compression(std::string_view text) {
  Compression compression;
  if (text.find('=') == text.npos) {
    const std::optional<Encoding> both = read_word(text, compression.fraction);
    if (!both) return unknown(text);
    compression.gradients = *both;
    if (*both != Encoding::kTopK) compression.weights = *both;
    return compression;
  }
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    const size_t equals = part.find('=');
    if (equals == part.npos) return unknown(text);
    const std::string_view what = part.substr(0, equals);
    const std::optional<Encoding> encoding = read_word(part.substr(equals + 1), compression.fraction);
    const bool weights = what == "weights";
    if (!encoding || (!weights && what != "gradients") || (weights && *encoding == Encoding::kTopK)) return unknown(text);
    (weights ? compression.weights : compression.gradients) = *encoding;
  }
  return compression;
}

std::string to_string(const Compression& compression) {
  std::string gradients(word_of(compression.gradients));
  if (compression.gradients == Encoding::kTopK) {
    gradients += ":" + shortest_text(compression.fraction);
    if (compression.weights == Encoding::kDense) return gradients;
  }
  if (compression.gradients == compression.weights) return gradients;
  return "gradients=" + gradients + ",weights=" + std::string(word_of(compression.weights));
}

}  // namespace shoal::cluster
