// SPDX-License-Identifier: Apache-2.0
#pragma once
/// CSV texts of tests, and all of their records.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "shoal/data/csv_reader.h"

namespace shoal::data {

/// Gives `text` in pieces of `piece_bytes`, as a pipe may.
inline ReadBytes bytes_of(std::string text, size_t piece_bytes = 1000) {
  return [text = std::move(text), piece_bytes, at = size_t(0)](std::span<std::byte> out) mutable -> Result<size_t> {
    const size_t count = std::min({piece_bytes, text.size() - at, out.size()});
    std::memcpy(out.data(), text.data() + at, count);
    at += count;
    return count;
  };
}

/// The records of a text, as fields between brackets, and behind them the error that ended it, if one did: "[a|b][c|d]
/// sentence".
inline std::string records_of(const std::string& text, const CsvOptions& options, size_t piece_bytes = 1000) {
  CsvReader reader(bytes_of(text, piece_bytes), "t.csv", options);
  std::string all;
  for (;;) {
    const auto fields = reader.fields();
    if (!fields) return all + " " + fields.error().message();
    if (fields->empty()) return all;
    all += "[";
    for (size_t i = 0; i < fields->size(); ++i) all += (i > 0 ? "|" : "") + (*fields)[i];
    all += "]";
  }
}

}  // namespace shoal::data
