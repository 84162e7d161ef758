// SPDX-License-Identifier: Apache-2.0
// What a checkpoint or an export says its ids stand for. One that is understood is written, and understood again as the same.
#include "shoal/base/check.h"
#include "shoal/graph/meaning.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace shoal;
  const Result<Meaning> meaning = Meaning::decode(fuzz::Input(data, size).text());
  if (!meaning) {
    SHOAL_CHECK(meaning.error().kind() == ErrorKind::kDataLoss);
    fuzz::touch(meaning.error().message());
    return 0;
  }
  const std::string text = meaning->encode();
  const Result<Meaning> again = Meaning::decode(text);
  SHOAL_CHECK(again && *again == *meaning && again->encode() == text);
  for (const MeaningScope scope : {MeaningScope::kWhole, MeaningScope::kPart}) {
    SHOAL_CHECK(!meaning_difference(*meaning, *again, scope));
    const Meaning nothing;
    if (const auto difference = meaning_difference(*meaning, nothing, scope)) fuzz::touch(*difference);
    if (const auto difference = meaning_difference(nothing, *meaning, scope)) fuzz::touch(*difference);
  }
  return 0;
}
