// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Runs a test's graph on the reference backend, with its variables in plain memory.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "shoal/backends/backend.h"
#include "shoal/graph/graph.h"
#include "shoal/nn/metrics.h"
#include "shoal/nn/train_op.h"

namespace shoal::nn {

using Feeds = std::map<std::string, Tensor, std::less<>>;

inline Tensor floats(Shape shape, const std::vector<float>& values) {
  return Tensor::of<float>(shape, std::span<const float>(values));
}
inline std::vector<std::string> names_of_variables(const Graph& graph) {
  std::vector<std::string> names;
  for (const Variable& variable : graph.variables()) names.push_back(variable.name);
  return names;
}

class GraphRunner {
 public:
  /// Variables start as their initializers say. `sizes` are those of the graph's symbols.
  explicit GraphRunner(Graph& graph, SymbolSizes sizes = {});

  /// The values, or the program's error.
  Result<std::vector<Tensor>> run(const std::vector<Value>& fetches, const Feeds& feeds = {}, uint64_t ordinal = 0);
  /// One float32 value, which the test expects to succeed.
  std::vector<float> floats(Value fetch, const Feeds& feeds = {}, uint64_t ordinal = 0);
  float number(Value fetch, const Feeds& feeds = {}) { return floats(fetch, feeds).at(0); }
  /// One training step as local training does it: gradients, then rules, then the step.
  void train(const TrainOp& op, const Feeds& feeds = {});

  std::vector<float>& variable(const std::string& name) { return variables_.at(name); }
  uint64_t global_step() const { return global_step_; }
  void set_sizes(SymbolSizes sizes) { sizes_ = std::move(sizes); }

 private:
  struct Execution {
    std::unique_ptr<backends::Program> program;
    Result<void> result;
  };
  Execution execute(const std::vector<Value>& fetches, const std::vector<Value>& updates, const Feeds& feeds,
                    std::vector<std::vector<float>>& update_memory, uint64_t ordinal);

  Graph& graph_;
  SymbolSizes sizes_;
  std::unique_ptr<backends::Backend> backend_;
  std::map<std::string, std::vector<float>> variables_;
  std::map<std::string, std::vector<std::vector<float>>> slots_;
  uint64_t global_step_ = 0;
};

/// What an evaluation over these batches reports, by name. `batch` is the first size of each batch's "logits". Batches of
/// even and of odd number are accumulated apart and merged.
std::map<std::string, double> evaluate(Graph& graph, const std::vector<std::pair<std::string, Metric>>& metrics,
                                       const std::vector<Feeds>& batches);

/// The kind of error that `call` raises and its sentence: "InvalidArgument: dense: ...", or "" if it raises none.
template <class F>
std::string raised(F call) {
  try {
    call();
  } catch (const Exception& exception) {
    return std::string(to_string(exception.kind())) + ": " + exception.what();
  }
  return "";
}

}  // namespace shoal::nn
