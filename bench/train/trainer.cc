// SPDX-License-Identifier: Apache-2.0
#include "trainer.h"

#include <algorithm>
#include <array>

#include "shoal/backends/indices.h"
#include "shoal/base/random.h"
#include "shoal/nn/apply_update.h"
#include "shoal/nn/initializers.h"

namespace shoal::bench {

Result<std::unique_ptr<Trainer>> Trainer::make(const ModelEntry& entry, const TrainerOptions& options) {
  auto trainer = std::make_unique<Trainer>();
  trainer->model_ = build(entry);
  SHOAL_TRY(trainer->backend_, backends::make_backend(options.backend));
  trainer->apply_during_run_ = options.apply_during_run;
  SHOAL_TRY(trainer->program_,
            trainer->backend_->compile(*trainer->model_.graph, step_of(trainer->model_, options.batch, options.threads)));
  SHOAL_TRY_VOID(trainer->make_parameters());
  trainer->make_batches(entry, options.batch);
  trainer->bind();
  return trainer;
}

Result<void> Trainer::make_parameters() {
  for (const bool by_rows : {false, true}) {
    for (const nn::VariableUpdate& update : model_.train_op.updates) {
      if (update.rows.empty() != by_rows) SHOAL_TRY_VOID(add_parameter(update));
    }
    if (!by_rows) whole_count_ = parameters_.size();
  }
  return {};
}

Result<void> Trainer::add_parameter(const nn::VariableUpdate& update) {
  const Variable& variable = *model_.graph->find_variable(update.variable);
  Parameter parameter{.value = Tensor(variable.dtype, variable.shape),
                      .gradient = Tensor::zeros(variable.dtype, variable.shape),
                      .update = &update,
                      .elements = variable.shape.elements()};
  const RandomKey key = nn::variable_key(model_.graph->seed(), variable.name);
  SHOAL_TRY_VOID(nn::initialize(variable.initializer, key, 0, parameter.value.mutable_view()));
  for (int slot = 0; slot < nn::slot_count(update.rule); ++slot) {
    parameter.slots.emplace_back(variable.dtype, variable.shape);
    const std::span<float> elements = parameter.slots.back().mutable_as<float>();
    std::fill(elements.begin(), elements.end(), nn::slot_start(update.rule, slot));
    parameter.slot_data.push_back(elements.data());
  }
  parameter.data = parameter.value.mutable_as<float>().data();
  if (!update.rows.empty()) parameter.is_touched.resize(size_t(parameter.rows()));
  parameters_.push_back(std::move(parameter));
  return {};
}

void Trainer::make_batches(const ModelEntry& entry, int64_t batch) {
  for (uint64_t i = 0; i < kBatches; ++i) {
    batches_.push_back(entry.make_batch(batch, fold_in(RandomKey{7}, i)));
    inputs_.emplace_back();
    for (const auto& binding : program_->info().inputs) {
      inputs_.back().push_back(tensor_for(batches_.back(), binding.name).view());
    }
  }
}

/// Programs may order variables as they like; updates come in the order asked for.
void Trainer::bind() {
  const auto& bindings = program_->info().variables;
  pieces_.resize(bindings.size());
  update_pieces_.resize(whole_count_);
  for (size_t i = 0; i < parameters_.size(); ++i) {
    Parameter& parameter = parameters_[i];
    const int64_t rows = parameter.rows();
    const auto place = std::find_if(bindings.begin(), bindings.end(),
                                    [&](const auto& binding) { return binding.name == parameter.update->variable; });
    if (place != bindings.end()) {  // Moving averages are updated, not read.
      pieces_[size_t(place - bindings.begin())] = {parameter.value.mutable_view().data, 0, rows};
    }
    if (i < whole_count_) update_pieces_[i] = {parameter.gradient.mutable_view().data, 0, rows};
  }
  for (const auto& piece : pieces_) variables_.emplace_back(&piece, 1);
  for (const auto& piece : update_pieces_) updates_.emplace_back(&piece, 1);
}

void Trainer::apply(size_t index, int64_t row_begin, int64_t row_end, const std::byte* rows) {
  const Parameter& parameter = parameters_[index];
  const int64_t row_elements = parameter.row_elements(), first = row_begin * row_elements;
  std::array<float*, nn::kSlotsMax> slots{};
  for (size_t s = 0; s < parameter.slot_data.size(); ++s) slots[s] = parameter.slot_data[s] + first;
  const float scale = 1.0f;
  const float* gradient = reinterpret_cast<const float*>(rows);
  float* value = parameter.data + first;
  nn::apply_update(parameter.update->rule, rate_, steps_ + 1, (row_end - row_begin) * row_elements, value, value,
                   {slots.data(), parameter.slot_data.size()}, {.gradients = {&gradient, 1}, .scales = {&scale, 1}});
}

/// What belongs to one row is added up in order.
void Trainer::add_rows(Parameter& parameter, const TensorView& ids, const TensorView& gradients) {
  const int64_t width = parameter.row_elements();
  const backends::Indices rows(ids);
  const float* from = gradients.as<float>().data();
  float* const sums = parameter.gradient.mutable_as<float>().data();
  for (int64_t i = 0; i < rows.count(); ++i, from += width) {
    float* sum = sums + rows[i] * width;
    for (int64_t k = 0; k < width; ++k) sum[k] += from[k];
    if (parameter.is_touched[size_t(rows[i])]) continue;
    parameter.is_touched[size_t(rows[i])] = true;
    parameter.touched.push_back(rows[i]);
  }
}

void Trainer::apply_rows(size_t index) {
  Parameter& parameter = parameters_[index];
  const int64_t width = parameter.row_elements();
  float* const sums = parameter.gradient.mutable_as<float>().data();
  for (int64_t row : parameter.touched) {
    float* sum = sums + row * width;
    const bool all_zero = std::all_of(sum, sum + width, [](float value) { return value == 0.0f; });
    if (!all_zero) apply(index, row, row + 1, reinterpret_cast<const std::byte*>(sum));
    std::fill_n(sum, width, 0.0f);
    parameter.is_touched[size_t(row)] = false;
  }
  parameter.touched.clear();
}

Result<void> Trainer::step() {
  rate_ = model_.train_op.scalars[0].at(steps_);
  SHOAL_TRY_VOID(program_->run({.inputs = inputs_[steps_ % kBatches],
                                .variables = variables_,
                                .updates = updates_,
                                .weights = {.epoch = 1, .version = steps_ + 1},
                                .key = {.trainer = 0, .ordinal = steps_},
                                .applier = apply_during_run_ ? this : nullptr,
                                .observer = observer_}));
  for (size_t i = 0; i < whole_count_ && !apply_during_run_; ++i) {
    apply(i, 0, parameters_[i].rows(), update_pieces_[i].data);
  }
  auto part = program_->fetched().begin() + 1;  // The loss comes before it.
  for (size_t i = whole_count_; i < parameters_.size(); ++i) {
    for (size_t lookup = 0; lookup < parameters_[i].update->rows.size(); ++lookup, part += 2) {
      add_rows(parameters_[i], part[0], part[1]);
    }
    apply_rows(i);
  }
  ++steps_;
  return {};
}

int64_t Trainer::parameters() const {
  int64_t total = 0;
  for (const Parameter& parameter : parameters_) total += parameter.elements;
  return total;
}

}  // namespace shoal::bench
