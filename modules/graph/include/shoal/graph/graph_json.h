// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Reading back the description that Graph::to_json() writes: exports store it, predict loads it.
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

/// The graph that `text` describes: the same nodes, names, variables, seed and constants, so also the same fingerprint.
/// `catalogue` (default: the built-in one) has every op it uses, and outlives the graph.
///
/// Never trusts the text: DataLoss if it is no JSON, lacks a field, has one of the wrong type, or contradicts itself (types
/// that the ops would not give, inputs that come later, a name twice); FailedPrecondition for a version this build does
/// not read; NotFound for an op the catalogue lacks; InvalidArgument beyond the limits.
Result<std::unique_ptr<Graph>> graph_from_json(std::string_view text, const OpCatalogue* catalogue = nullptr,
                                               const GraphJsonLimits& limits = {});

/// Ops of the graph that `text` describes that `catalogue` (default: the built-in one) lacks, with their versions (0: it says
/// none). For who cannot read the graph without them; errors as of graph_from_json(), which finds more.
Result<std::map<std::string, int64_t>> lacking_ops(std::string_view text, const OpCatalogue* catalogue = nullptr,
                                                   const GraphJsonLimits& limits = {});

}  // namespace shoal
