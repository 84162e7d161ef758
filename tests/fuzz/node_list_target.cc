// SPDX-License-Identifier: Apache-2.0
// Slurm's short texts for many nodes and many counts. A list that is understood is understood again when it is written out.
#include "job/resolvers/node_list.h"
#include "shoal/base/check.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace shoal::cluster;
  const std::string_view text = shoal::fuzz::Input(data, size).text();
  const shoal::Result<std::vector<std::string>> nodes = parse_node_list(text);
  if (nodes) {
    SHOAL_CHECK(!nodes->empty() && nodes->size() <= kNodesMax);
    std::string plain;
    for (const std::string& node : *nodes) plain += (plain.empty() ? "" : ",") + node;
    const shoal::Result<std::vector<std::string>> again = parse_node_list(plain);
    SHOAL_CHECK(again && *again == *nodes);
  } else {
    shoal::fuzz::touch(nodes.error().message());
  }
  const shoal::Result<std::vector<int32_t>> counts = parse_task_counts(text);
  SHOAL_CHECK(!counts || (!counts->empty() && counts->size() <= kNodesMax));
  return 0;
}
