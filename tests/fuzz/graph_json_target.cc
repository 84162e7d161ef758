// SPDX-License-Identifier: Apache-2.0
// The description of a graph. One that is understood is described again, and that is understood as the same graph.
#include "shoal/base/check.h"
#include "shoal/graph/graph_json.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace shoal;
  constexpr GraphJsonLimits kLimits{.text_bytes_max = 1 << 20, .nodes_max = 1000};
  const std::string given(fuzz::Input(data, size).text());
  const auto graph = graph_from_json(given, nullptr, kLimits);
  const auto lacking = lacking_ops(given, nullptr, kLimits);
  SHOAL_CHECK(!graph || (lacking && lacking->empty()));
  if (!graph) {
    if (!lacking) fuzz::touch(lacking.error().message());
    fuzz::touch(graph.error().message());
    return 0;
  }
  const std::string text = (*graph)->to_json();
  const auto again = graph_from_json(text, nullptr, kLimits);
  SHOAL_CHECK(again && (*again)->to_json() == text && (*again)->fingerprint() == (*graph)->fingerprint());
  return 0;
}
