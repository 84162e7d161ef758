// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The training loop without anything around it: a program, the update rules, memory of its own.
#include <memory>
#include <string>
#include <vector>

#include "models.h"
#include "shoal/backends/backend.h"
#include "shoal/base/result.h"
#include "shoal/base/tensor.h"

namespace shoal::bench {

struct TrainerOptions {
  std::string backend;
  int64_t batch = 32;
  int threads = 1;
  /// Whether updates are applied as local training does it; if false, after the run, as over servers.
  bool apply_during_run = true;
};

/// Trains on random batches. All calls on one thread, which becomes a compute thread of the backend.
class Trainer final : private backends::UpdateApplier {
 public:
  static Result<std::unique_ptr<Trainer>> make(const ModelEntry& entry, const TrainerOptions& options);

  /// Gradients of the next batch, and the next version of all variables.
  Result<void> step();
  /// From now on `observer`, which outlives this, is told about the runs; null for nobody.
  void observe(backends::KernelObserver* observer) { observer_ = observer; }
  float loss() const { return program_->fetched()[0].as<float>()[0]; }
  const backends::CompiledProgramInfo& info() const { return program_->info(); }
  int64_t parameters() const;

 private:
  static constexpr uint64_t kBatches = 8;  // Different ones, taken in turn.

  struct Parameter {
    Tensor value, gradient;
    std::vector<Tensor> slots = {};
    std::vector<float*> slot_data = {};
    float* data = nullptr;  ///< Points to `value`.
    const nn::VariableUpdate* update = nullptr;
    int64_t elements = 0;
    int64_t rows() const { return value.shape()[0]; }
    int64_t row_elements() const { return elements / rows(); }
    // For gradients by rows, `gradient` has the sums of touched rows, and zeros elsewhere.
    std::vector<int64_t> touched = {};
    std::vector<bool> is_touched = {};
  };

  Result<void> make_parameters();
  Result<void> add_parameter(const nn::VariableUpdate& update);
  void make_batches(const ModelEntry& entry, int64_t batch);
  void bind();
  bool by_rows(size_t index) const override { return !nn::needs_whole_variable(parameters_[index].update->rule); }
  void apply(size_t index, int64_t row_begin, int64_t row_end, const std::byte* rows) override;
  void add_rows(Parameter& parameter, const TensorView& ids, const TensorView& gradients);
  void apply_rows(size_t index);

  Model model_;
  std::unique_ptr<backends::Backend> backend_;
  std::unique_ptr<backends::Program> program_;
  std::vector<Parameter> parameters_;  // In the order of the train op, those with gradients by rows last.
  size_t whole_count_ = 0;             // How many do not have gradients by rows.
  std::vector<data::Batch> batches_;
  std::vector<std::vector<TensorView>> inputs_;  // The inputs of each batch, in the program's order.
  std::vector<backends::Piece> pieces_;
  std::vector<backends::MutablePiece> update_pieces_;
  std::vector<backends::Pieces> variables_;
  std::vector<backends::MutablePieces> updates_;
  backends::KernelObserver* observer_ = nullptr;
  bool apply_during_run_ = true;
  double rate_ = 0;
  uint64_t steps_ = 0;
};

}  // namespace shoal::bench
