// The description of an exported model. One that is understood is written, and understood again as it is written.
#include "model/export_format.h"
#include "shoal/base/check.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace shoal;
  const Result<ExportDescription> description = decode_export(fuzz::Input(data, size).text());
  if (!description) {
    SHOAL_CHECK(description.error().kind() == ErrorKind::kDataLoss ||
                description.error().kind() == ErrorKind::kFailedPrecondition);
    fuzz::touch(description.error().message());
    return 0;
  }
  const std::string text = encode_export(*description);
  const Result<ExportDescription> again = decode_export(text);
  SHOAL_CHECK(again && encode_export(*again) == text);
  return 0;
}
