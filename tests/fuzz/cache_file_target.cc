// SPDX-License-Identifier: Apache-2.0
// Reads a file of cache(). The first byte of the input says what it is: 0, the file as it stands; 1, records, each behind two bytes of its length, that are
// framed here, and the end of a file behind them, since no mutation finds a right checksum. Every element is the same when it is looked
// for alone.
#include "cache_file.h"
#include "element_state.h"
#include "framed.h"
#include "memory_storage.h"
#include "shoal/base/check.h"
#include "target.h"

namespace shoal::data {
namespace {

constexpr size_t kElementsMax = 100;

/// Where the last record of `records` begins.
uint64_t last_record(std::string_view records) {
  uint64_t last = 0;
  for (uint64_t at = 0; at < records.size();) {
    last = at;
    at += kRecordHeadBytes + load_little_endian<uint64_t>(records.substr(size_t(at))) + kRecordTailBytes;
  }
  return last;
}

std::string text_of(const Element& element) {
  std::string text;
  write_element(element, text);
  return text;
}

}  // namespace
}  // namespace shoal::data

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace shoal;
  using namespace shoal::data;
  fuzz::Input input(data, size);
  const bool records = input.take<uint8_t>() % 2 == 1;
  std::string file = records ? fuzz::framed(input) : std::string(input.text());
  if (records) {
    const uint64_t last = last_record(file);
    append_little_endian(file, last);
    file += "shoalend";
  }
  fuzz::MemoryStorage storage;
  storage.files["a"] = std::move(file);
  Result<CacheFileReader> reader = CacheFileReader::open(storage, "a");
  if (!reader) {
    fuzz::touch(reader.error().message());
    return 0;
  }
  std::vector<std::string> elements;
  bool failed = false;
  for (Element element; elements.size() < kElementsMax;) {
    const Result<bool> more = reader->next(element);
    failed = !more;
    if (!more || !*more) break;
    elements.push_back(text_of(element));
  }
  if (!failed && elements.size() < kElementsMax) SHOAL_CHECK(elements.size() == reader->elements());
  for (size_t i = elements.size(); i-- > 0;) {
    Element element;
    reader->go_to(i);
    SHOAL_CHECK(value_or_raise(reader->next(element)) && text_of(element) == elements[i]);
  }
  return 0;
}
