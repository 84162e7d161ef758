// SPDX-License-Identifier: Apache-2.0
// Reads a whole text file.
#include <algorithm>

#include "byte_source.h"
#include "no_text.h"
#include "shoal/data/text_files.h"

namespace shoal::data {
namespace {

constexpr size_t kPieceBytes = 64 << 10;

Result<std::string> read_rest(ByteSource& source, int64_t bytes_max) {
  std::string text;
  for (;;) {
    const size_t had = text.size();
    text.resize(had + kPieceBytes);
    SHOAL_TRY(const size_t count, source.read(std::as_writable_bytes(std::span(text)).subspan(had)));
    text.resize(had + count);
    if (count == 0) break;
    if (int64_t(text.size()) > bytes_max)
      return data_loss("the text has more than " + std::to_string(bytes_max) + " bytes");
  }
  // Readers of records only warn of such bytes. Here an error is needed: there is no log, and who reads a list, such as a
  // vocabulary, would not notice that its end is missing.
  if (source.passed_over() == 0) return text;
  return data_loss(
      "the last " + std::to_string(source.passed_over()) +
      " bytes of the file are no gzip data; if lines are missing, the file is damaged there, else unpack it by "
      "gunzip, which passes over such bytes");
}

}  // namespace

Result<std::string> read_text(Storage& storage, const std::string& path, int64_t bytes_max, const StopToken& stop) {
  const auto in_file = [&path](Error error) {
    return error.message().starts_with(path) ? error : std::move(error).with_context(path);
  };
  auto source = open_bytes(storage, path, stop);
  if (!source) return in_file(std::move(source).error());
  auto text = read_rest(**source, bytes_max);
  if (!text) return in_file(std::move(text).error());
  text->erase(0, byte_order_mark_in(*text));
  if (const auto what = what_are_no_lines(*text)) return failed_precondition(path + " " + *what);
  return text;
}

}  // namespace shoal::data
