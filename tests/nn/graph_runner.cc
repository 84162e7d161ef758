// SPDX-License-Identifier: Apache-2.0
#include "graph_runner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "shoal/nn/apply_update.h"
#include "shoal/nn/initializers.h"

namespace shoal::nn {
namespace {

std::byte* bytes_of(std::vector<float>& values) { return reinterpret_cast<std::byte*>(values.data()); }

Tensor copy_of(const TensorView& view) {
  Tensor tensor(view.dtype, view.shape);
  if (view.bytes() > 0) std::memcpy(tensor.mutable_view().data, view.data, view.bytes());
  return tensor;
}

int64_t rows_of(const Shape& shape) { return shape.rank() == 0 ? 1 : shape[0]; }

}  // namespace

GraphRunner::GraphRunner(Graph& graph, SymbolSizes sizes)
    : graph_(graph), sizes_(std::move(sizes)), backend_(value_or_raise(backends::make_backend("reference"))) {}

GraphRunner::Execution GraphRunner::execute(const std::vector<Value>& fetches, const std::vector<Value>& updates,
                                            const Feeds& feeds, std::vector<std::vector<float>>& update_memory,
                                            uint64_t ordinal) {
  for (const Variable& variable : graph_.variables()) {
    auto [at, fresh] = variables_.try_emplace(variable.name, size_t(variable.shape.elements()));
    const MutableTensorView view{variable.dtype, variable.shape, bytes_of(at->second)};
    if (fresh) {
      value_or_raise(initialize(variable.initializer, variable_key(graph_.seed(), variable.name), 0, view));
    }
  }
  auto compiled = backend_->compile(graph_, {.sizes = sizes_, .fetches = fetches, .updates = updates});
  if (!compiled) return {nullptr, std::move(compiled).error()};
  Execution execution{std::move(*compiled), {}};
  const backends::CompiledProgramInfo& info = execution.program->info();

  std::vector<TensorView> inputs;
  for (const auto& input : info.inputs) {
    EXPECT_TRUE(feeds.contains(input.name)) << input.name;
    inputs.push_back(feeds.at(input.name).view());
  }
  std::vector<backends::Piece> pieces;
  for (const auto& variable : info.variables) {
    pieces.push_back({bytes_of(variables_.at(variable.name)), 0, rows_of(variable.shape)});
  }
  std::vector<backends::MutablePiece> update_pieces;
  for (const Value& update : updates) {
    const Shape shape = value_or_raise(update.shape().resolve(sizes_));
    update_memory.emplace_back(size_t(shape.elements()));
    update_pieces.push_back({bytes_of(update_memory.back()), 0, rows_of(shape)});
  }
  std::vector<backends::Pieces> variables;
  for (const auto& piece : pieces) variables.emplace_back(&piece, 1);
  std::vector<backends::MutablePieces> update_bindings;
  for (const auto& piece : update_pieces) update_bindings.emplace_back(&piece, 1);
  execution.result = execution.program->run({.inputs = inputs,
                                             .variables = variables,
                                             .updates = update_bindings,
                                             .weights = {},
                                             .key = {.trainer = 0, .ordinal = ordinal}});
  return execution;
}

Result<std::vector<Tensor>> GraphRunner::run(const std::vector<Value>& fetches, const Feeds& feeds, uint64_t ordinal) {
  std::vector<std::vector<float>> none;
  Execution execution = execute(fetches, {}, feeds, none, ordinal);
  SHOAL_TRY_VOID(execution.result);
  std::vector<Tensor> tensors;
  for (const TensorView& view : execution.program->fetched()) tensors.push_back(copy_of(view));
  return tensors;
}

std::vector<float> GraphRunner::floats(Value fetch, const Feeds& feeds, uint64_t ordinal) {
  const std::vector<Tensor> tensors = value_or_raise(run({fetch}, feeds, ordinal));
  const auto values = tensors.at(0).as<float>();
  return {values.begin(), values.end()};
}

void GraphRunner::train(const TrainOp& op, const Feeds& feeds) {
  std::vector<std::vector<float>> memory;
  std::vector<Value> values;
  std::vector<Value> fetches = scalar_values(op);
  const size_t scalar_count = fetches.size();
  for (const VariableUpdate& update : op.updates) {
    if (update.rows.empty()) values.push_back(update.update);
    for (const RowUpdate& part : update.rows) fetches.insert(fetches.end(), {part.ids, part.gradients});
  }
  std::vector<float> fetched;
  std::vector<Tensor> rows;
  if (!op.updates.empty()) {
    Execution execution = execute(fetches, values, feeds, memory, global_step_);
    value_or_raise(execution.result);
    for (const TensorView& view : execution.program->fetched()) {
      if (fetched.size() < scalar_count) {
        fetched.push_back(view.as<float>()[0]);
      } else {
        rows.push_back(copy_of(view));
      }
    }
  }
  std::vector<double> scalars(op.scalars.size());
  value_or_raise(compute_scalars(op, global_step_, fetched, scalars));
  auto whole = memory.begin();
  auto next_rows = rows.begin();
  for (const VariableUpdate& update : op.updates) {
    std::vector<float>& variable = variables_.at(update.variable);
    std::vector<std::vector<float>>& slots = slots_[update.variable];
    for (int s = int(slots.size()); s < slot_count(update.rule); ++s) {
      slots.emplace_back(variable.size(), slot_start(update.rule, s));
    }
    std::vector<float*> slot_pointers;
    for (auto& slot : slots) slot_pointers.push_back(slot.data());
    const double rate = uses_learning_rate(update.rule) ? scalars.at(size_t(update.rule.learning_rate_scalar)) : 0;
    const int32_t scale_scalar = update.rule.gradient_scale_scalar;
    const float scale = scale_scalar < 0 ? 1.0f : float(scalars.at(size_t(scale_scalar)));
    auto apply = [&](int64_t first, int64_t count, const float* gradient) {
      std::vector<float*> slots_here;
      for (float* slot : slot_pointers) slots_here.push_back(slot + first);
      apply_update(update.rule, rate, global_step_ + 1, count, variable.data() + first, variable.data() + first, slots_here,
                   {.gradients = {&gradient, 1}, .scales = {&scale, 1}, .factor = 1});
    };
    if (update.rows.empty()) {
      apply(0, int64_t(variable.size()), (whole++)->data());
      continue;
    }
    std::map<int64_t, std::vector<float>> sums;
    int64_t width = 0;
    for (size_t part = 0; part < update.rows.size(); ++part) {
      const Tensor ids = *next_rows++, gradients = *next_rows++;
      width = gradients.elements() / std::max<int64_t>(1, ids.elements());
      for (int64_t i = 0; i < ids.elements(); ++i) {
        std::vector<float>& sum = sums[ids.as<int64_t>()[size_t(i)]];
        sum.resize(size_t(width));
        for (int64_t k = 0; k < width; ++k) sum[size_t(k)] += gradients.as<float>()[size_t(i * width + k)];
      }
    }
    for (const auto& [row, sum] : sums) {
      if (std::any_of(sum.begin(), sum.end(), [](float value) { return value != 0; }))
        apply(row * width, width, sum.data());
    }
  }
  if (op.advances_global_step) ++global_step_;
}

std::map<std::string, double> evaluate(Graph& graph, const std::vector<std::pair<std::string, Metric>>& metrics,
                                       const std::vector<Feeds>& batches) {
  std::vector<Value> fetches;
  for (const auto& [name, metric] : metrics) fetches.insert(fetches.end(), metric.inputs.begin(), metric.inputs.end());
  std::vector<MetricAccumulator> parts[2];
  for (const auto& [name, metric] : metrics) {
    parts[0].emplace_back(metric);
    parts[1].emplace_back(metric);
  }
  for (size_t b = 0; b < batches.size(); ++b) {
    GraphRunner runner(graph, {{"batch", batches[b].at("logits").shape()[0]}});
    const std::vector<Tensor> tensors = value_or_raise(runner.run(fetches, batches[b]));
    std::vector<TensorView> views;
    for (const Tensor& tensor : tensors) views.push_back(tensor.view());
    std::span<const TensorView> rest = views;
    for (size_t m = 0; m < metrics.size(); ++m) {
      value_or_raise(parts[b % 2][m].update(rest.first(metrics[m].second.inputs.size())));
      rest = rest.subspan(metrics[m].second.inputs.size());
    }
  }
  std::map<std::string, double> report;
  for (size_t m = 0; m < metrics.size(); ++m) {
    parts[0][m].merge(parts[1][m]);
    report[metrics[m].first] = parts[0][m].value();
  }
  return report;
}

}  // namespace shoal::nn
