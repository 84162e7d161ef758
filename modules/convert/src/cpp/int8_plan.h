// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Decides which nodes of a function compute in eight bits, and the ranges of the values that they read and write.
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cpp/places.h"
#include "shoal/convert/cpp.h"
#include "shoal/graph/dim.h"

namespace shoal::convert::cpp {

/// The eight-bit form of a value: scale * (q - zero).
struct Int8Scale {
  float scale = 1;
  int32_t zero = 0;
};

/// A dense layer or a convolution, with the batch normalization and the relu that follow it.
struct Int8Layer {
  NodeId head = -1;
  std::optional<NodeId> norm = {};
  bool relu = false;
  Value result = {};  ///< The output of the layer's last node: relu, normalization, or else the product.
};

class Int8Plan {
 public:
  /// Plans the function that computes these outputs. All of its nodes must be ones that can be written as C++.
  Int8Plan(const Graph& graph, const std::vector<Value>& outputs);

  /// The layer whose last node is `last`; null if there is none.
  const Int8Layer* layer_at(NodeId last) const;
  /// True if a node is part of a layer but not its last node.
  bool is_inside_layer(NodeId id) const { return inside_.contains(id); }
  /// True if a node reads its input 0 in eight bits: a layer, or a node between layers.
  bool reads_int8(NodeId id) const { return reads_.contains(id); }
  /// True if any node reads this value in eight bits.
  bool is_read_as_int8(const Value& value) const { return read_.contains(place_of(value)); }
  /// The values whose ranges the eight-bit code needs.
  const std::vector<Value>& ranged() const { return ranged_; }

 private:
  void find_layers(const std::vector<NodeId>& nodes, const std::vector<Value>& outputs);
  void find_readers(const std::vector<NodeId>& nodes);

  const Graph& graph_;
  std::map<NodeId, Int8Layer> layers_;  // The key is the last node of a layer.
  std::set<NodeId> inside_, reads_;
  std::set<Place> read_;
  std::vector<Value> ranged_;
};

/// Runs the examples, and returns the range of each value over all of them, which always includes 0. InvalidArgument if
/// there are no examples, if an example lacks an input that is needed, or if a value is never a finite number.
Result<std::vector<Int8Range>> ranges_of(const TrainedModel& model, const std::vector<Value>& values,
                                         const SymbolSizes& sizes, const Calibration& calibration);
Int8Scale scale_of(const Int8Range& range);

}  // namespace shoal::convert::cpp
