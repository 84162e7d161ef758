// SPDX-License-Identifier: Apache-2.0
#include "shoal/monitor/graph_summary.h"

#include "event_codec.h"
#include "event_pieces.h"

namespace shoal::monitor {
namespace {

using protozero::pbf_writer;

constexpr int32_t kProducer = 22;  // The GraphDef version in the file. Readers of the last ten years accept it.

/// Adds an attribute; `write` fills its AttrValue.
template <class Write>
void add_attribute(pbf_writer& node, std::string_view name, Write write) {
  pbf_writer entry(node, node_field::kAttribute);
  entry.add_string(entry_field::kKey, name.data(), name.size());
  pbf_writer value(entry, entry_field::kValue);
  write(value);
}

void add_node(pbf_writer& graph, const GraphNode& node) {
  pbf_writer message(graph, graph_field::kNode);
  message.add_string(node_field::kName, node.name);
  message.add_string(node_field::kOp, node.op);
  for (const std::string& input : node.inputs) message.add_string(node_field::kInput, input);
  if (node.outputs.empty()) return;
  add_attribute(message, "_output_shapes", [&](pbf_writer& value) {
    pbf_writer list(value, attribute_field::kList);
    for (const GraphOutput& output : node.outputs) add_shape(list, attribute_field::kListShapes, output.shape);
  });
  const int32_t type = node.outputs.front().data_type;
  if (type != 0) add_attribute(message, "dtype", [&](pbf_writer& value) { value.add_enum(attribute_field::kType, type); });
}

}  // namespace

std::string encode_graph(double wall_time, std::span<const GraphNode> nodes) {
  std::string definition;
  pbf_writer graph(definition);
  for (const GraphNode& node : nodes) add_node(graph, node);
  {
    pbf_writer versions(graph, graph_field::kVersions);
    versions.add_int32(graph_field::kVersionsProducer, kProducer);
  }
  std::string bytes;
  pbf_writer event(bytes);
  event.add_double(event_field::kWallTime, wall_time);
  event.add_bytes(event_field::kGraphDef, definition);
  return bytes;
}

}  // namespace shoal::monitor
