// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Writes one function of the generated source: straight-line code for the nodes that its outputs need, and the place
/// in memory of each value.
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cpp/int8_plan.h"
#include "cpp/op_writer.h"
#include "cpp/places.h"
#include "cpp/weight_arrays.h"
#include "shoal/base/result.h"
#include "shoal/convert/trained_model.h"
#include "shoal/graph/dim.h"

namespace shoal::convert::cpp {

/// How a function computes with 8-bit integers: for which nodes (the plan), and with which scales.
struct Int8Writing {
  Int8Plan plan;
  std::map<Place, Int8Scale> scales;  ///< The scale of each value that is stored as 8-bit integers.
};

/// Returns an object that writes the code of the node `id`. `sizes` has the sizes of symbolic axes; InvalidArgument if it
/// lacks one of the node's axes.
Result<OpWriter> op_writer(const Graph& graph, NodeId id, const SymbolSizes& sizes, const std::set<Place>& read,
                           FunctionText* function);

class FunctionWriter final : public FunctionText {
 public:
  /// `inputs` and `outputs` become the parameters in0, in1, ..., out0, out1, ... of the function.
  FunctionWriter(const Graph& graph, const SymbolSizes& sizes, std::vector<Value> inputs, std::vector<Value> outputs,
                 WeightArrays& weights, std::set<std::string>& parts, const Int8Writing* int8 = nullptr);

  Result<void> write();
  /// The text between the braces of the function; valid after write(). With `weights_apart` the function reads weights from
  /// the file that the program has loaded.
  std::string body(bool weights_apart) const;
  size_t memory_bytes() const { return memory_bytes_; }

  std::string read(const Value& value) override;
  std::string written(const Value& value) override;
  std::string scratch(std::string_view type, size_t bytes) override;
  void may_write_over(const Value& value) override;
  std::span<const float> floats(const Value& value) override;
  std::string array(const Value& value, std::string_view layout, const Shape& shape,
                    const std::vector<float>& elements) override;
  void need(std::string_view part) override { parts_.emplace(part); }
  void line(const std::string& text) override { lines_.push_back(text); }

 private:
  /// The memory of one value, or of several values that are views of each other.
  struct Root {
    std::string type;
    size_t bytes = 0;
    int32_t first = 0, last = 0;       // The first and last step (node) that uses the memory.
    std::vector<int32_t> may_replace;  // Indexes of other Roots whose memory this one may take over.
    size_t offset = 0;
  };

  int32_t add_root(std::string type, size_t bytes);
  std::string array_name(const std::string& key, std::string_view type, const Shape& shape,
                         std::span<const std::byte> bytes);
  Result<void> write_node(NodeId id, const std::set<Place>& read);
  void copy_to_outputs();

  // The functions below write code that computes with 8-bit integers (function_writer_int8.cc).

  /// If the plan says so, writes code that computes the node with 8-bit integers. Returns true if it has done so, or if the
  /// node is part of a layer whose code, with 8-bit integers, is written for the layer as a whole.
  Result<bool> write_in_int8(NodeId id, const std::set<Place>& read);
  Result<void> write_int8_layer(const Int8Layer& layer, OpWriter& head);
  void write_int8_pool(OpWriter& writer, const Value& result);
  /// The name of a value's array of 8-bit integers. If no node has written this array, converts the float array first.
  std::string read_int8(const Value& value);
  std::string written_int8(const Value& value, const Int8Scale& scale);
  /// Writes code that converts a value from 8-bit integers to float, unless earlier code has computed the floats.
  void write_float_of(const Value& root);

  Result<void> plan();

  const Graph& graph_;
  const SymbolSizes& sizes_;
  std::vector<Value> inputs_, outputs_;
  WeightArrays& weights_;
  std::set<std::string>& parts_;
  std::vector<std::string> lines_;
  std::vector<Root> roots_;             // The generated code has a pointer m<i> to the memory roots_[i].
  std::map<Place, int32_t> root_at_;    // The index in roots_ of each value in the function's own memory.
  std::map<Place, std::string> names_;  // The names of values that are parameters of the function.
  std::set<std::string> arrays_;        // The names of the weight arrays that the function reads.
  std::vector<int32_t> over_;           // Indexes of roots_: memory that output 0 of the current node may overwrite.
  const OpWriter* writer_ = nullptr;    // The writer of the current node.
  const Int8Writing* int8_;
  struct Int8Value {
    int32_t root;
    Int8Scale scale;
  };
  std::map<Place, Int8Value> int8_values_;
  std::set<Place> floats_missing_;  // Values written so far only as 8-bit integers, not as floats.
  int32_t step_ = 0;
  size_t memory_bytes_ = 0;
};

}  // namespace shoal::convert::cpp
