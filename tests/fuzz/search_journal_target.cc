// SPDX-License-Identifier: Apache-2.0
// The journal of a search. What is read can be written, and is read as the same.
#include "shoal/base/check.h"
#include "shoal/search/journal.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace shoal::tuning;
  const std::string_view text = shoal::fuzz::Input(data, size).text();
  const auto contents = parse_journal(text, "j");
  if (!contents) {
    SHOAL_CHECK(contents.error().message().starts_with("j, line "));
    return 0;
  }
  if (!*contents) return 0;
  SHOAL_CHECK((*contents)->intact_bytes <= size);
  std::string written = line_of((*contents)->header);
  for (const Record& record : (*contents)->records) written += line_of(record);
  const auto again = parse_journal(written, "j");
  SHOAL_CHECK(again && *again && (*again)->records.size() == (*contents)->records.size());
  SHOAL_CHECK(difference((*again)->header, (*contents)->header).empty());
  std::string rewritten = line_of((*again)->header);
  for (const Record& record : (*again)->records) rewritten += line_of(record);
  SHOAL_CHECK(rewritten == written);
  return 0;
}
