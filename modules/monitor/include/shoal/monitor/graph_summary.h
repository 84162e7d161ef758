// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A model's graph for TensorBoard's page GRAPHS: boxes by name, where "/" divides scopes, and arrows between them.
#include <cstdint>
#include <string>
#include <vector>

namespace shoal::monitor {

/// The type and shape of an output of a node.
struct GraphOutput {
  /// The number of the element type in TensorFlow's types.proto (DataType): 1 is float32, 9 is int64. 0: the type has none.
  int32_t data_type = 0;
  std::vector<int64_t> shape{};  ///< -1 for a size that changes from batch to batch.
};

struct GraphNode {
  std::string name;  ///< Unique in the graph.
  std::string op;
  std::vector<std::string> inputs{};  ///< Names of nodes; "name:1" is the second output of the node.
  std::vector<GraphOutput> outputs{};
};

}  // namespace shoal::monitor
