// SPDX-License-Identifier: Apache-2.0
// The description of an exported model. One that is understood is written, and understood again as it is written.
#include "model/export_format.h"
#include "shoal/base/check.h"
#include "shoal/checkpoint/checksum.h"
#include "target.h"

namespace {

using namespace shoal;

void decode(std::string_view given) {
  const Result<ExportDescription> description = decode_export(given);
  if (!description) {
    SHOAL_CHECK(description.error().kind() == ErrorKind::kDataLoss ||
                description.error().kind() == ErrorKind::kFailedPrecondition);
    fuzz::touch(description.error().message());
    return;
  }
  const std::string text = encode_export(*description);
  const Result<ExportDescription> again = decode_export(text);
  SHOAL_CHECK(again && encode_export(*again) == text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(fuzz::Input(data, size).text());
  decode(text);
  // The fuzzer never finds a checksum that fits, so the input is tried behind one as well.
  decode("{\"checksum\": \"" + checkpoint::to_hex(checkpoint::checksum_of(text)) + "\",\n" + text);
  return 0;
}
