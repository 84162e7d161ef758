// SPDX-License-Identifier: Apache-2.0
// An event file. The first byte says whether the file follows, or the contents of its records (2 bytes of length before
// each), which are framed here: no chance finds their checksums. The second says where the file ends at first, as one does
// that is still being written: read in two parts it says the same.
#include <bit>
#include <optional>
#include <vector>

#include "framed.h"
#include "memory_storage.h"
#include "shoal/base/check.h"
#include "shoal/monitor/event_reader.h"
#include "target.h"

namespace shoal::monitor {
namespace {

const std::string kPath = "m/events.out.tfevents.1";

struct History {
  std::vector<EventValue> values;
  std::optional<Error> damage;

  void read(EventFileReader& reader) {
    EventValue value;
    for (;;) {
      const Result<bool> found = reader.next(value);
      if (!found) damage = found.error();
      if (!found || !*found) return;
      values.push_back(value);
    }
  }
};

/// Bit by bit, since a NaN is not equal to itself.
bool same(const EventValue& a, const EventValue& b) {
  const auto same_bits = [](double x, double y) { return std::bit_cast<uint64_t>(x) == std::bit_cast<uint64_t>(y); };
  return a.tag == b.tag && a.kind == b.kind && a.global_step == b.global_step && a.text == b.text &&
         same_bits(a.wall_time, b.wall_time) && same_bits(a.scalar, b.scalar) && a.width == b.width &&
         a.height == b.height && a.plugin == b.plugin && a.shape == b.shape && a.values.size() == b.values.size() &&
         a.histogram.limits.size() == b.histogram.limits.size() && a.histogram.counts.size() == b.histogram.counts.size();
}

/// A tensor has as many values as its shape says, and both are in the file.
bool is_whole(const EventValue& value) {
  if (value.kind != EventValue::Kind::kTensor) return value.shape.empty() && value.values.empty();
  uint64_t elements = 1;
  for (const int64_t size : value.shape) {
    if (size < 0) return false;
    elements *= uint64_t(size);
  }
  return elements == value.values.size();
}

}  // namespace
}  // namespace shoal::monitor

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace shoal;
  using namespace shoal::monitor;
  fuzz::Input input(data, size);
  const bool whole = input.take<uint8_t>() % 2 == 0;
  const auto first_part = size_t(input.take<uint8_t>());
  const std::string file = whole ? std::string(input.text()) : fuzz::framed(input);

  fuzz::MemoryStorage storage;
  storage.files[kPath] = file;
  History at_once, in_parts;
  EventFileReader reader(storage, kPath);
  at_once.read(reader);

  storage.files[kPath] = file.substr(0, file.size() * first_part / 255);
  EventFileReader follower(storage, kPath);
  in_parts.read(follower);
  storage.files[kPath] = file;
  in_parts.read(follower);

  SHOAL_CHECK(at_once.damage == in_parts.damage && at_once.values.size() == in_parts.values.size());
  for (size_t i = 0; i < at_once.values.size(); ++i) {
    fuzz::touch(at_once.values[i].tag);
    fuzz::touch(at_once.values[i].text);
    SHOAL_CHECK(same(at_once.values[i], in_parts.values[i]) && is_whole(at_once.values[i]));
  }
  return 0;
}
