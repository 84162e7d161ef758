#include "trainer.h"

#include <algorithm>
#include <array>

#include "shoal/base/random.h"
#include "shoal/nn/initialisers.h"

namespace shoal::bench {

Result<std::unique_ptr<Trainer>> Trainer::make(const ModelEntry& entry, const TrainerOptions& options) {
  auto trainer = std::make_unique<Trainer>();
  trainer->model_ = build(entry);
  SHOAL_TRY(trainer->backend_, backends::make_backend(options.backend));
  backends::CompileOptions compile{.sizes = {{"batch", options.batch}},
                                   .fetches = {trainer->model_.loss},
                                   .updates = {},
                                   .update_variables = {},
                                   .threads = options.threads,
                                   .fallback = {}};
  for (const nn::VariableUpdate& update : trainer->model_.train_op.updates) {
    compile.updates.push_back(update.update);
    compile.update_variables.push_back(update.variable);
  }
  trainer->apply_during_run_ = options.apply_during_run;
  SHOAL_TRY(trainer->program_, trainer->backend_->compile(*trainer->model_.graph, compile));
  SHOAL_TRY_VOID(trainer->make_parameters());
  trainer->make_batches(entry, options.batch);
  trainer->bind();
  return trainer;
}

Result<void> Trainer::make_parameters() {
  for (const nn::VariableUpdate& update : model_.train_op.updates) {
    const Variable& variable = *model_.graph->find_variable(update.variable);
    Parameter parameter{Tensor(variable.dtype, variable.shape),
                        Tensor::zeros(variable.dtype, variable.shape),
                        {},
                        {},
                        nullptr,
                        update.rule,
                        variable.shape.elements()};
    const RandomKey key = nn::variable_key(model_.graph->seed(), variable.name);
    SHOAL_TRY_VOID(nn::initialise(variable.initialiser, key, 0, parameter.value.mutable_view()));
    for (int slot = 0; slot < nn::slot_count(update.rule); ++slot) {
      parameter.slots.push_back(Tensor::zeros(variable.dtype, variable.shape));
    }
    for (Tensor& slot : parameter.slots) parameter.slot_data.push_back(slot.mutable_as<float>().data());
    parameter.data = parameter.value.mutable_as<float>().data();
    parameters_.push_back(std::move(parameter));
  }
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
  update_pieces_.resize(parameters_.size());
  for (size_t i = 0; i < parameters_.size(); ++i) {
    Parameter& parameter = parameters_[i];
    const int64_t rows = parameter.value.shape()[0];
    const auto place = std::find_if(bindings.begin(), bindings.end(), [&](const auto& binding) {
      return binding.name == model_.train_op.updates[i].variable;
    });
    SHOAL_CHECK(place != bindings.end());
    pieces_[size_t(place - bindings.begin())] = {parameter.value.mutable_view().data, 0, rows};
    update_pieces_[i] = {parameter.gradient.mutable_view().data, 0, rows};
  }
  for (const auto& piece : pieces_) variables_.emplace_back(&piece, 1);
  for (const auto& piece : update_pieces_) updates_.emplace_back(&piece, 1);
}

void Trainer::apply(size_t index, int64_t row_begin, int64_t row_end, const std::byte* rows) {
  const Parameter& parameter = parameters_[index];
  const int64_t row_elements = parameter.elements / parameter.value.shape()[0];
  const int64_t first = row_begin * row_elements;
  std::array<float*, nn::kSlotsMax> slots{};
  for (size_t s = 0; s < parameter.slot_data.size(); ++s) slots[s] = parameter.slot_data[s] + first;
  const float scale = 1.0f;
  const float* gradient = reinterpret_cast<const float*>(rows);
  float* value = parameter.data + first;
  nn::apply_update(parameter.rule, rate_, steps_ + 1, (row_end - row_begin) * row_elements, value, value,
                   {slots.data(), parameter.slot_data.size()}, {.gradients = {&gradient, 1}, .scales = {&scale, 1}});
}

Result<void> Trainer::step() {
  rate_ = model_.train_op.scalars[0].at(steps_);
  SHOAL_TRY_VOID(program_->run({.inputs = inputs_[steps_ % kBatches],
                                .variables = variables_,
                                .updates = updates_,
                                .weights = {.epoch = 1, .version = steps_ + 1},
                                .key = {.trainer = 0, .ordinal = steps_},
                                .ready = nullptr,
                                .applier = apply_during_run_ ? this : nullptr}));
  for (size_t i = 0; i < parameters_.size() && !apply_during_run_; ++i) {
    apply(i, 0, parameters_[i].value.shape()[0], update_pieces_[i].data);
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
