// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Runs graphs in tests: values by name in, tensors out.
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "shoal/backends/backend.h"
#include "shoal/base/random.h"

namespace shoal::backends::testing {

/// Inputs and variables by name.
using Feeds = std::map<std::string, Tensor>;

/// Uniform in [-1, 1), the same for the same key.
inline Tensor random_tensor(const Shape& shape, uint64_t key) {
  Tensor tensor(DType::kFloat32, shape);
  fill_uniform(key, 0, tensor.mutable_as<float>(), -1.0f, 1.0f);
  return tensor;
}

/// A program with memory for its updates; runs as often as wanted.
class Runner {
 public:
  static Result<Runner> make(Backend& backend, const Graph& graph, CompileOptions options) {
    Runner runner;
    SHOAL_TRY(runner.program_, backend.compile(graph, options));
    for (const Value& update : options.updates) {
      SHOAL_TRY(const Shape shape, update.shape().resolve(options.sizes));
      runner.updates_.emplace_back(update.dtype(), shape);
    }
    return runner;
  }

  Result<void> run(const Feeds& feeds, StepKey key = {}, VersionId weights = {}, UpdateApplier* applier = nullptr,
                   UpdateListener* listener = nullptr) {
    std::vector<TensorView> inputs;
    for (const auto& binding : info().inputs) inputs.push_back(feeds.at(binding.name).view());
    std::vector<Piece> whole;
    for (const auto& binding : info().variables)
      whole.push_back({feeds.at(binding.name).view().data, 0, rows(binding.shape)});
    std::vector<MutablePiece> whole_updates;
    for (Tensor& update : updates_) whole_updates.push_back({update.mutable_view().data, 0, rows(update.shape())});
    std::vector<Pieces> variables;
    for (const Piece& piece : whole) variables.emplace_back(&piece, 1);
    std::vector<MutablePieces> updates;
    for (const MutablePiece& piece : whole_updates) updates.emplace_back(&piece, 1);
    return program_->run({.inputs = inputs,
                          .variables = variables,
                          .updates = updates,
                          .weights = weights,
                          .key = key,
                          .applier = applier,
                          .may_apply = may_apply,
                          .listener = listener});
  }

  Tensor fetched(size_t i) const { return copy(program_->fetched()[i]); }
  const Tensor& update(size_t i) const { return updates_[i]; }
  Tensor& update(size_t i) { return updates_[i]; }
  const CompiledProgramInfo& info() const { return program_->info(); }
  Program& program() { return *program_; }
  bool (*may_apply)(float) = nullptr;  ///< That of the runs to come.

  static Tensor copy(TensorView view) {
    Tensor tensor(view.dtype, view.shape);
    if (view.bytes() > 0) std::memcpy(tensor.mutable_view().data, view.data, view.bytes());
    return tensor;
  }
  static int64_t rows(const Shape& shape) { return shape.rank() == 0 ? 1 : shape[0]; }

 private:
  std::unique_ptr<Program> program_;
  std::vector<Tensor> updates_;
};

/// One run of these fetches.
inline Result<std::vector<Tensor>> run_once(Backend& backend, const Graph& graph, const std::vector<Value>& fetches,
                                            const Feeds& feeds, const SymbolSizes& sizes = {}, StepKey key = {}) {
  SHOAL_TRY(Runner runner, Runner::make(backend, graph, {.sizes = sizes, .fetches = fetches}));
  SHOAL_TRY_VOID(runner.run(feeds, key));
  std::vector<Tensor> results;
  for (size_t i = 0; i < fetches.size(); ++i) results.push_back(runner.fetched(i));
  return results;
}

inline std::unique_ptr<Backend> backend_or_die(const std::string& name) { return value_or_raise(make_backend(name)); }

template <class T>
std::vector<T> list(const Tensor& tensor) {
  const auto values = tensor.as<T>();
  return {values.begin(), values.end()};
}

inline bool same_bits(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() && std::memcmp(a.view().data, b.view().data, a.bytes()) == 0;
}

}  // namespace shoal::backends::testing
