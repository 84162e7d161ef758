// SPDX-License-Identifier: Apache-2.0
// Reads a file of records. The first byte of the input selects one of three kinds: a TFRecord file as it stands; records, each behind
// two bytes of its length, that are framed here, since no mutation finds a right checksum; or a file of records of a fixed length. Two more
// bytes are that length, or the limit of a record. An iterator that is restored to a position reads on as the first one did, and skipping
// a record does not change the others.
#include <vector>

#include "framed.h"
#include "memory_storage.h"
#include "shoal/base/check.h"
#include "shoal/base/virtual.h"
#include "shoal/data/dataset.h"
#include "target.h"

namespace shoal::data {
namespace {

constexpr size_t kRecordsMax = 50;

std::string bytes_of(const Element& element) {
  const Tensor& record = element.features.single();
  if (record.dtype() == DType::kString) return record.strings()[0];
  return {reinterpret_cast<const char*>(record.view().data), record.bytes()};
}

struct Reading {
  std::vector<std::string> records;
  std::vector<Position> positions;  // Before each record.
  bool failed = false;
};

Reading read_on(Iterator& iterator) {
  Reading reading;
  for (Element element; reading.records.size() < kRecordsMax;) {
    const Result<Position> position = iterator.save();
    const Result<bool> more = iterator.next(element);
    if (!more) fuzz::touch(more.error().message());
    reading.failed = !more;
    if (!more || !*more) break;
    reading.positions.push_back(value_or_raise(position));
    reading.records.push_back(bytes_of(element));
    fuzz::touch(reading.records.back());
  }
  return reading;
}

}  // namespace
}  // namespace shoal::data

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace shoal;
  using namespace shoal::data;
  fuzz::Input input(data, size);
  const uint8_t how = input.take<uint8_t>();
  const auto length = int64_t(input.take<uint16_t>()) + 1;
  const auto storage = std::make_shared<fuzz::MemoryStorage>();
  storage->files["a"] = how % 3 == 1 ? fuzz::framed(input) : std::string(input.text());
  const Dataset dataset =
      how % 3 == 2 ? Dataset::fixed_length_records(
                         {"a"}, {.record_bytes = length, .header_bytes = how / 3 % 4, .footer_bytes = how / 12 % 4})
                   : Dataset::tf_records({"a"}, {.record_bytes_max = length});

  VirtualWorld world(1);
  Environment& env = world.add_task({.storage = storage});
  const Reading all = read_on(*value_or_raise(dataset.iterate(env)));
  for (size_t i = 0; i < all.records.size(); ++i) {
    SHOAL_CHECK(int64_t(all.records[i].size()) <= length);
    const auto resumed = value_or_raise(dataset.iterate(env));
    value_or_raise(resumed->restore(all.positions[i]));
    const Reading rest = read_on(*resumed);
    SHOAL_CHECK(rest.records.size() >= all.records.size() - i && rest.records.front() == all.records[i]);
    SHOAL_CHECK(all.records.size() == kRecordsMax ||
                (rest.failed == all.failed && rest.records.back() == all.records.back()));
  }
  const auto skipping = value_or_raise(dataset.iterate(env));
  const Result<int64_t> skipped = skipping->skip(1);
  if (all.records.size() > 1) SHOAL_CHECK(skipped && *skipped == 1 && read_on(*skipping).records.front() == all.records[1]);
  return 0;
}
