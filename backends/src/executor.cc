// SPDX-License-Identifier: Apache-2.0
#include "executor.h"

#include <algorithm>
#include <cstring>

namespace shoal::backends {
namespace {

using Place = Location::Place;

int64_t row_count(const Shape& shape) { return shape.rank() == 0 ? 1 : shape[0]; }

size_t row_bytes(const CompiledProgramInfo::Binding& binding) {
  const int64_t rows = row_count(binding.shape);
  return rows == 0 ? 0 : size_t(binding.shape.elements() / rows) * size_of(binding.dtype);
}

template <class Byte>
Result<void> check_pieces(const char* what, const CompiledProgramInfo::Binding& binding, BasicPieces<Byte> pieces) {
  int64_t next = 0;
  bool in_order = !pieces.empty();
  for (const BasicPiece<Byte>& piece : pieces) {
    in_order = in_order && piece.row_begin == next && piece.row_end >= next;
    next = piece.row_end;
    if (in_order && !piece.data && piece.row_end > piece.row_begin) {
      return invalid_argument(std::string(what) + " \"" + binding.name + "\": a piece has no data");
    }
  }
  const int64_t rows = row_count(binding.shape);
  if (in_order && next == rows) return {};
  return invalid_argument(std::string(what) + " \"" + binding.name + "\": the pieces bound must cover its " +
                          std::to_string(rows) + " rows in order, each once");
}

Error wrong_count(const char* what, size_t given, size_t wanted) {
  return invalid_argument("the program takes " + std::to_string(wanted) + " " + what + ", " + std::to_string(given) +
                          " were bound");
}

}  // namespace

ExecutorProgram::ExecutorProgram(Parts parts)
    : steps_(std::move(parts.steps)),
      constants_(std::move(parts.constants)),
      updates_(std::move(parts.updates)),
      info_(std::move(parts.info)),
      takes_applier_(parts.takes_applier),
      threads_(parts.threads),
      set_library_threads_(parts.set_library_threads),
      parallel_(parts.parallel),
      denormals_(parts.denormals),
      arena_(Buffer::allocate(align_up(info_.arena_bytes) + info_.scratch_bytes)),
      scratch_(arena_->data() + align_up(info_.arena_bytes)),
      thread_scratch_{scratch_ + parts.scratch_bytes, parts.thread_scratch_bytes},
      variable_readers_(info_.variables.size()),
      update_data_(updates_.size()),
      read_in_pieces_(info_.variables.size(), true),
      variable_staging_(info_.variables.size()),
      update_staging_(updates_.size()) {
  for (size_t i = 0; i < info_.fetched.size(); ++i) {
    const Location at = parts.fetches[i];
    const std::byte* data = at.place == Place::kConstant ? constants_[at.index].view().data : arena_->data() + at.index;
    fetched_.push_back({info_.fetched[i].dtype, info_.fetched[i].shape, data});
  }
  find_what_lies_in_pieces();
  find_first_reads();
  fix_addresses();
  find_first_update();
}

void ExecutorProgram::find_what_lies_in_pieces() {
  const auto takes = [this](const Step& step, size_t input) {
    const Location at = step.input_locations[input];
    return input == 0 && step.kernel && step.kernel->takes_pieces() &&
           step.inputs[0].shape == info_.variables[at.index].shape;
  };
  for (const Step& step : steps_) {
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      const Location at = step.input_locations[i];
      if (at.place == Place::kVariable && !takes(step, i)) read_in_pieces_[at.index] = false;
    }
  }
  for (Step& step : steps_) {
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      const Location at = step.input_locations[i];
      if (at.place == Place::kVariable && read_in_pieces_[at.index]) step.pieces_of = ptrdiff_t(at.index);
    }
  }
}

void ExecutorProgram::find_first_reads() {
  std::vector<bool> read(info_.variables.size(), false);
  for (Step& step : steps_) {
    for (const Location& at : step.input_locations) {
      if (at.place != Place::kVariable || read[at.index]) continue;
      read[at.index] = true;
      step.first_reads.push_back(at.index);
    }
  }
}

/// Finds the first step that applies an update to variables, and whether the first fetched value (a scalar such as the
/// loss) is computed before that step. Several values may use the same memory one after the other, so the last step that
/// writes to the address of the fetched value computes it.
void ExecutorProgram::find_first_update() {
  const auto applies = [](const Step& step) { return step.update_by_rows >= 0 || !step.updates_to_apply.empty(); };
  first_update_ = size_t(std::ranges::find_if(steps_, applies) - steps_.begin());
  if (fetched_.empty() || fetched_[0].dtype != DType::kFloat32 || fetched_[0].elements() != 1) return;
  size_t known_at = 0;
  for (size_t i = 0; i < steps_.size(); ++i) {
    for (const MutableTensorView& output : steps_[i].outputs) {
      if (output.data == fetched_[0].data) known_at = i + 1;
    }
  }
  info_.fetches_before_updates = known_at <= first_update_;
}

void ExecutorProgram::fix_addresses() {
  for (Step& step : steps_) {
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      const Location at = step.input_locations[i];
      if (at.place == Place::kNone) continue;
      if (at.place == Place::kArena) {
        step.inputs[i].data = arena_->data() + at.index;
      } else if (at.place == Place::kConstant) {
        step.inputs[i].data = constants_[at.index].view().data;
      } else if (at.place == Place::kVariable) {
        variable_readers_[at.index].push_back(&step.inputs[i].data);
      } else {
        readers_.push_back({&step.inputs[i].data, at});
      }
    }
    for (size_t i = 0; i < step.outputs.size(); ++i) {
      const Location at = step.output_locations[i];
      if (at.place == Place::kArena) {
        step.outputs[i].data = arena_->data() + at.index;
      } else {
        writers_.push_back({&step.outputs[i].data, at});
      }
    }
  }
}

Result<void> ExecutorProgram::check(const StepBinding& binding) const {
  if (binding.inputs.size() != info_.inputs.size())
    return wrong_count("inputs", binding.inputs.size(), info_.inputs.size());
  if (binding.variables.size() != info_.variables.size())
    return wrong_count("variables", binding.variables.size(), info_.variables.size());
  if (binding.updates.size() != updates_.size()) return wrong_count("updates", binding.updates.size(), updates_.size());
  if (binding.applier && !takes_applier_) {
    return invalid_argument("an applier was bound, but the program was compiled without update_variables");
  }
  for (size_t i = 0; i < info_.inputs.size(); ++i) {
    const TensorView& given = binding.inputs[i];
    const CompiledProgramInfo::Binding& wanted = info_.inputs[i];
    if (given.dtype == wanted.dtype && given.shape == wanted.shape && (given.data || given.elements() == 0)) continue;
    return invalid_argument("input \"" + wanted.name + "\": " + std::string(to_string(given.dtype)) + " " +
                            to_string(given.shape) + (given.data ? "" : " without data") +
                            " was bound, the program was compiled for " + std::string(to_string(wanted.dtype)) + " " +
                            to_string(wanted.shape));
  }
  for (size_t i = 0; i < updates_.size(); ++i) {
    SHOAL_TRY_VOID(check_pieces("update", updates_[i], binding.updates[i]));
  }
  return {};
}

/// Gives kernels the variable's address. If its rows lie in several pieces of memory, first copies the pieces into one
/// buffer, unless every kernel that reads the variable accepts pieces.
Result<void> ExecutorProgram::bind_variable(size_t index, const StepBinding& binding) {
  const Pieces pieces = binding.variables[index];
  SHOAL_TRY_VOID(check_pieces("variable", info_.variables[index], pieces));
  const std::byte* data = pieces[0].data;
  if (pieces.size() > 1 && !read_in_pieces_[index]) {
    Staging& staging = variable_staging_[index];
    const size_t bytes_per_row = row_bytes(info_.variables[index]);
    if (!staging.buffer) {
      staging.buffer = Buffer::allocate(bytes_per_row * size_t(row_count(info_.variables[index].shape)));
    }
    data = staging.buffer->data();
    const bool current = binding.weights != VersionId{} && staging.contents == binding.weights;
    for (const Piece& piece : pieces) {
      const auto bytes = size_t(piece.row_end - piece.row_begin) * bytes_per_row;
      if (current || bytes == 0) continue;
      std::memcpy(staging.buffer->data() + size_t(piece.row_begin) * bytes_per_row, piece.data, bytes);
    }
    staging.contents = binding.weights;
  }
  for (const std::byte** reader : variable_readers_[index]) *reader = data;
  return {};
}

void ExecutorProgram::bind(const StepBinding& binding) {
  for (size_t i = 0; i < update_data_.size(); ++i) {
    const MutablePieces pieces = binding.updates[i];
    update_data_[i] = pieces[0].data;
    if (pieces.size() == 1) continue;
    Staging& staging = update_staging_[i];
    if (!staging.buffer) staging.buffer = Buffer::allocate(row_bytes(updates_[i]) * size_t(row_count(updates_[i].shape)));
    update_data_[i] = staging.buffer->data();
  }
  for (const Reader& reader : readers_) {
    const size_t index = reader.from.index;
    switch (reader.from.place) {
      case Place::kInput: *reader.address = binding.inputs[index].data; break;
      case Place::kUpdate: *reader.address = update_data_[index]; break;
      default: SHOAL_CHECK(false);
    }
  }
  for (const Writer& writer : writers_) *writer.address = update_data_[writer.to.index];
}

void ExecutorProgram::scatter_update(size_t index, MutablePieces pieces) const {
  if (pieces.size() == 1) return;  // The kernel wrote to the variable's only piece itself.
  const size_t bytes_per_row = row_bytes(updates_[index]);
  for (const MutablePiece& piece : pieces) {
    const auto bytes = size_t(piece.row_end - piece.row_begin) * bytes_per_row;
    if (bytes > 0) std::memcpy(piece.data, update_data_[index] + size_t(piece.row_begin) * bytes_per_row, bytes);
  }
}

void ExecutorProgram::apply_update(size_t index, UpdateApplier& applier) const {
  constexpr size_t kWorthATeamBytes = 256 << 10;
  const int64_t rows = row_count(updates_[index].shape);
  const size_t bytes_per_row = row_bytes(updates_[index]);
  const std::byte* data = update_data_[index];
  if (!parallel_ || threads_ == 1 || rows * int64_t(bytes_per_row) < int64_t(kWorthATeamBytes) || !applier.by_rows(index)) {
    return applier.apply(index, 0, rows, data);
  }
  struct Job {
    UpdateApplier& applier;
    size_t index;
    const std::byte* data;
    size_t bytes_per_row;
  } job{applier, index, data, bytes_per_row};
  parallel_(
      threads_, rows,
      [](void* context, int64_t begin, int64_t end) {
        const Job& of = *static_cast<const Job*>(context);
        of.applier.apply(of.index, begin, end, of.data + size_t(begin) * of.bytes_per_row);
      },
      &job);
}

Result<void> ExecutorProgram::run_kernel(Step& step, const KernelCall& call, KernelObserver* observer) {
  if (observer) observer->kernel_started(step.kernel_index);
  if (auto done = step.kernel->run(call); !done) return std::move(done).error().with_context(step.name);
  if (observer) observer->kernel_ended(step.kernel_index);
  return {};
}

Result<void> ExecutorProgram::run_step(Step& step, const StepBinding& binding, UpdateApplier* applier) {
  KernelCall call{.inputs = step.inputs,
                  .outputs = step.outputs,
                  .scratch = scratch_,
                  .thread_scratch = thread_scratch_,
                  .weights = binding.weights,
                  .key = binding.key};
  if (applier && step.update_by_rows >= 0 && applier->by_rows(size_t(step.update_by_rows))) {
    call.sink = {applier, size_t(step.update_by_rows)};
  }
  if (step.pieces_of >= 0 && binding.variables[size_t(step.pieces_of)].size() > 1) {
    call.pieces = binding.variables[size_t(step.pieces_of)];
  }
  if (!step.kernel) {
    if (const size_t bytes = step.inputs[0].bytes(); bytes > 0)
      std::memcpy(step.outputs[0].data, step.inputs[0].data, bytes);
  } else {
    SHOAL_TRY_VOID(run_kernel(step, call, binding.observer));
  }
  if (!applier) return {};
  for (size_t index : step.updates_to_apply) {
    if (!call.sink || index != call.sink.update) apply_update(index, *applier);
  }
  return {};
}

Result<void> ExecutorProgram::begin(const StepBinding& binding) {
  SHOAL_TRY_VOID(check(binding));
  for (size_t i = 0; i < info_.variables.size() && !binding.arrivals; ++i) SHOAL_TRY_VOID(bind_variable(i, binding));
  if (binding.observer) binding.observer->run_started(info_);
  bind(binding);
  return {};
}

Result<void> ExecutorProgram::run_on(const StepBinding& binding, RunProgress& progress) {
  const ThreadScope scope(set_library_threads_, denormals_);
  if (!progress.begun) {
    SHOAL_TRY_VOID(begin(binding));
  } else if (binding.observer) {
    binding.observer->run_resumed();
  }
  progress.begun = true;
  for (; progress.next < steps_.size(); ++progress.next) {
    Step& step = steps_[progress.next];
    for (const size_t variable : step.first_reads) {
      if (!binding.arrivals) break;
      if (!binding.arrivals->has_come(variable)) {
        progress.missing = variable;
        if (binding.observer) binding.observer->run_paused();
        return {};
      }
      SHOAL_TRY_VOID(bind_variable(variable, binding));
    }
    if (binding.applier && binding.may_apply && progress.next == first_update_) {
      progress.withheld = !binding.may_apply(fetched_[0].as<float>()[0]);
    }
    SHOAL_TRY_VOID(run_step(step, binding, progress.withheld ? nullptr : binding.applier));
    if (binding.applier) continue;
    for (size_t index : step.updates_done) {
      scatter_update(index, binding.updates[index]);
      if (binding.listener) binding.listener->update_made(index);
    }
  }
  if (binding.observer) binding.observer->run_ended();
  progress.done = true;
  return {};
}

/// Runs all steps in one call. StepBinding::arrivals is null, so run_on() does not wait for variables to arrive.
Result<void> ExecutorProgram::run(const StepBinding& binding) {
  StepBinding complete = binding;
  complete.arrivals = nullptr;
  RunProgress progress;
  return run_on(complete, progress);
}

}  // namespace shoal::backends
