// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Makes a graph from the description that Graph::to_json() writes. Exported models contain such a description.
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "shoal/base/result.h"
#include "shoal/graph/graph.h"

namespace shoal {

struct GraphJsonLimits {
  size_t text_bytes_max = size_t(256) << 20;
  size_t nodes_max = 1'000'000;
};

/// Makes the graph that `text` describes, with the same nodes, names, variables, seed and constants, hence the same
/// fingerprint. `catalogue` (default: the built-in ops) has to contain every op that the graph uses, and to outlive the
/// graph.
///
/// The text is not trusted. DataLoss if it is not JSON, lacks a field, has a field of a wrong type, or contradicts itself
/// (types that the ops do not produce, inputs that come later, a name twice); FailedPrecondition for a version that this
/// build does not read; NotFound for an op that the catalogue lacks; InvalidArgument beyond the limits.
Result<std::unique_ptr<Graph>> graph_from_json(std::string_view text, const OpCatalogue* catalogue = nullptr,
                                               const GraphJsonLimits& limits = {});

/// Returns the ops that the described graph uses and `catalogue` (default: the built-in ops) lacks, with their versions
/// (0: not stated). Use it to explain why a graph cannot be read. Errors: as graph_from_json(), but it checks less.
Result<std::map<std::string, int64_t>> lacking_ops(std::string_view text, const OpCatalogue* catalogue = nullptr,
                                                   const GraphJsonLimits& limits = {});

}  // namespace shoal
