// SPDX-License-Identifier: Apache-2.0
// The JSON texts of a rendezvous; the first byte of the input says which. What is understood is understood again as it is
// written.
#include "job/rendezvous/messages.h"
#include "shoal/base/check.h"
#include "target.h"

namespace shoal::cluster {
namespace {

template <class T>
void read(std::string_view text, Result<T> (*parse)(std::string_view)) {
  const Result<T> value = parse(text);
  if (!value) return fuzz::touch(value.error().message());
  const std::string written = to_json(*value);
  const Result<T> again = parse(written);
  SHOAL_CHECK(again && to_json(*again) == written);
}

}  // namespace
}  // namespace shoal::cluster

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace shoal::cluster;
  shoal::fuzz::Input input(data, size);
  const auto which = input.take<uint8_t>();
  switch (which % 5) {
    case 0: read<Join>(input.text(), &parse_join); break;
    case 1: read<SeatOffer>(input.text(), &parse_seat_offer); break;
    case 2: read<SeatTaken>(input.text(), &parse_seat_taken); break;
    case 3: read<Missing>(input.text(), &parse_missing); break;
    default: read<Gathering>(input.text(), &parse_gathering);
  }
  return 0;
}
