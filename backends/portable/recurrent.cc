// SPDX-License-Identifier: Apache-2.0
// LSTM and GRU. A step consists of one product of the state with weights that are packed once per run, and one loop over
// the gates.
#include <algorithm>

#include "recurrence.h"
#include "shoal/backends/lengths.h"
#include "shoal/backends/optional_input.h"
#include "sources.h"
#include "vector.h"

namespace shoal::backends::portable {
namespace {

void copy(const float* from, float* to, int64_t count) { std::copy_n(from, count, to); }
void copy_or_zero(const float* from, float* to, int64_t count) { from ? copy(from, to, count) : zero(to, count); }
/// `from + offset`; null if `from` is null.
const float* row_of(const float* from, int64_t offset) { return from ? from + offset : nullptr; }
/// `from + offset`; zeros if `from` is null.
const float* or_zeros(const float* from, int64_t offset, const float* zeros) { return from ? from + offset : zeros; }

// The functions below compute the gates of one step of one row. `gates` may overlap `projection`, and `dprojection` may
// overlap `gates`; no other arrays overlap.

SHOAL_VECTOR_LOOP void lstm_gates(const float* projection, const float* recurrent, const float* cell_before, float* gates,
                                  float* cell, float* hidden, float* sequence, int64_t units) {
  SHOAL_INDEPENDENT
  for (int64_t u = 0; u < units; ++u) {
    const float i = vector_sigmoid(projection[u] + recurrent[u]);
    const float f = vector_sigmoid(projection[units + u] + recurrent[units + u]);
    const float g = vector_tanh(projection[2 * units + u] + recurrent[2 * units + u]);
    const float o = vector_sigmoid(projection[3 * units + u] + recurrent[3 * units + u]);
    const float c = f * cell_before[u] + i * g;
    const float h = o * vector_tanh(c);
    gates[u] = i;
    gates[units + u] = f;
    gates[2 * units + u] = g;
    gates[3 * units + u] = o;
    cell[u] = c;
    hidden[u] = h;
    sequence[u] = h;
  }
}

SHOAL_VECTOR_LOOP void lstm_gates_grad(const float* gates, const float* cell, const float* cell_before,
                                       const float* dsequence, const float* dhidden, float* dcell, float* dgates,
                                       float* dprojection, int64_t units) {
  SHOAL_INDEPENDENT
  for (int64_t u = 0; u < units; ++u) {
    const float i = gates[u], f = gates[units + u], g = gates[2 * units + u], o = gates[3 * units + u];
    const float squashed = vector_tanh(cell[u]);
    const float dh = dhidden[u] + dsequence[u];
    const float dc = dcell[u] + dh * o * (1.0f - squashed * squashed);
    const float di = dc * g * i * (1.0f - i);
    const float df = dc * cell_before[u] * f * (1.0f - f);
    const float dg = dc * i * (1.0f - g * g);
    const float d_o = dh * squashed * o * (1.0f - o);
    dcell[u] = dc * f;
    dgates[u] = di;
    dgates[units + u] = df;
    dgates[2 * units + u] = dg;
    dgates[3 * units + u] = d_o;
    dprojection[u] = di;
    dprojection[units + u] = df;
    dprojection[2 * units + u] = dg;
    dprojection[3 * units + u] = d_o;
  }
}

SHOAL_VECTOR_LOOP void gru_gates(const float* projection, const float* recurrent, const float* bias, float* gates,
                                 float* candidates, float* hidden, float* sequence, int64_t units) {
  SHOAL_INDEPENDENT
  for (int64_t u = 0; u < units; ++u) {
    const float r = vector_sigmoid(projection[u] + (recurrent[u] + bias[u]));
    const float z = vector_sigmoid(projection[units + u] + (recurrent[units + u] + bias[units + u]));
    const float q = recurrent[2 * units + u] + bias[2 * units + u];
    const float proposed = vector_tanh(projection[2 * units + u] + r * q);
    const float h = (1.0f - z) * proposed + z * hidden[u];
    gates[u] = r;
    gates[units + u] = z;
    gates[2 * units + u] = proposed;
    candidates[u] = q;
    hidden[u] = h;
    sequence[u] = h;
  }
}

/// Computes the gradients of one step of a GRU for one row. The gradient of the state after the step is dh = dhidden + kept
/// + dsequence. Here dhidden comes through the matrix product of the next step, and `kept` directly from the next step.
/// Writes to `kept` what this step passes directly to the step before it: dh * z.
SHOAL_VECTOR_LOOP void gru_gates_grad(const float* gates, const float* candidates, const float* hidden_before,
                                      const float* dsequence, const float* dhidden, float* kept, float* dgates,
                                      float* dprojection, float* drecurrent, int64_t units) {
  SHOAL_INDEPENDENT
  for (int64_t u = 0; u < units; ++u) {
    const float r = gates[u], z = gates[units + u], proposed = gates[2 * units + u];
    const float dh = (dhidden[u] + kept[u]) + dsequence[u];
    const float dproposed = dh * (1.0f - z) * (1.0f - proposed * proposed);
    const float dr = dproposed * candidates[u] * r * (1.0f - r);
    const float dz = dh * (hidden_before[u] - proposed) * z * (1.0f - z);
    const float dq = dproposed * r;
    kept[u] = dh * z;
    dgates[u] = dr;
    dgates[units + u] = dz;
    dgates[2 * units + u] = dq;
    drecurrent[u] = dr;
    drecurrent[units + u] = dz;
    drecurrent[2 * units + u] = dq;
    dprojection[u] = dr;
    dprojection[units + u] = dz;
    dprojection[2 * units + u] = dproposed;
  }
}

struct Sizes {
  int64_t n, t, units, gates;  ///< `gates` is the number of gates times units.
  explicit Sizes(const Shape& sequence, const Shape& all_gates)
      : n(sequence[0]), t(sequence[1]), units(sequence[2]), gates(all_gates[2]) {}
};

/// Divides a kernel's scratch memory into parts, each on a cache line of its own.
class ScratchParts {
 public:
  explicit ScratchParts(std::byte* data = nullptr) : data_(data) {}
  float* floats(int64_t count) {
    float* result = reinterpret_cast<float*>(data_ + used_);
    used_ += align_up(size_t(count) * sizeof(float));
    return result;
  }
  size_t used() const { return used_; }

 private:
  std::byte* data_;
  size_t used_ = 0;
};

/// The scratch memory of a kernel: forward or backward, of an LSTM or a GRU.
struct Parts {
  float* packed;   ///< The weights.
  float* wide;     ///< [n, gates]
  float* narrow;   ///< [n, units]
  float* carried;  ///< [n, units], backward GRU: the gradient that a step passes on without a matrix product.
  float* zeros;    ///< [gates]
  size_t bytes;
  Parts(std::byte* data, const Sizes& size) {
    ScratchParts scratch(data);
    packed = scratch.floats(std::max(packed_floats(size.units, size.gates), packed_floats(size.gates, size.units)));
    wide = scratch.floats(size.n * size.gates);
    narrow = scratch.floats(size.n * size.units);
    carried = scratch.floats(size.n * size.units);
    zeros = scratch.floats(size.gates);
    bytes = scratch.used();
  }
};

/// Packs the weights and returns the product that every forward step computes: wide [n, gates] = narrow [n, units] *
/// kernel^T.
Recurrence forward_recurrence(int threads, const Sizes& size, const Parts& parts, const float* kernel,
                              const int64_t* lengths) {
  pack_together(threads, {kernel, 1, size.units}, size.units, size.gates, parts.packed);
  zero(parts.zeros, size.gates);
  return {threads, size.n, size.t, size.units, size.gates, parts.packed, parts.narrow, parts.wide, lengths};
}

/// Packs the weights and returns the product that every backward step computes: narrow [n, units] = wide [n, gates] *
/// kernel.
Recurrence backward_recurrence(int threads, const Sizes& size, const Parts& parts, const float* kernel,
                               const int64_t* lengths) {
  pack_together(threads, {kernel, size.units}, size.gates, size.units, parts.packed);
  zero(parts.zeros, size.gates);
  return {threads, size.n, size.t, size.gates, size.units, parts.packed, parts.wide, parts.narrow, lengths};
}

}  // namespace

std::unique_ptr<Kernel> make_lstm(const KernelRequest& request) {
  if (!none_empty(request)) return nullptr;
  const Sizes size(request.outputs[0].shape, request.outputs[3].shape);
  const auto initial_hidden = OptionalInput(request, "initial_hidden"),
             initial_cell = OptionalInput(request, "initial_cell"), lengths_input = OptionalInput(request, "lengths");
  auto run = [=, threads = request.threads](const KernelCall& call) -> Result<void> {
    const int64_t* lengths = lengths_input.integers(call);
    SHOAL_TRY_VOID(check_lengths(lengths, size.n, size.t));
    const Parts parts(call.scratch, size);
    const int64_t units = size.units;
    const float* projection = floats(call.inputs[0]);
    float *sequence = floats(call.outputs[0]), *last_cell = floats(call.outputs[2]);
    float *gates = floats(call.outputs[3]), *cells = floats(call.outputs[4]);
    const Recurrence recurrence = forward_recurrence(threads, size, parts, floats(call.inputs[1]), lengths);
    copy_or_zero(initial_hidden.floats(call), parts.narrow, size.n * units);
    copy_or_zero(initial_cell.floats(call), last_cell, size.n * units);
    recurrence.run_forward({{gates, size.gates}, {cells, units}, {sequence, units}}, [&](const Position& at) {
      float* cell = cells + at.place * units;
      const float* before = at.step > 0 ? cell - units : last_cell + at.row * units;
      lstm_gates(projection + at.place * size.gates, parts.wide + at.row * size.gates, before,
                 gates + at.place * size.gates, cell, parts.narrow + at.row * units, sequence + at.place * units, units);
      if (at.last) copy(cell, last_cell + at.row * units, units);
    });
    copy(parts.narrow, floats(call.outputs[1]), size.n * units);
    return {};
  };
  return make_loop(run, Parts(nullptr, size).bytes);
}

std::unique_ptr<Kernel> make_lstm_grad(const KernelRequest& request) {
  if (!none_empty(request)) return nullptr;
  const Sizes size(request.inputs[1].shape, request.inputs[0].shape);
  const auto initial_cell = OptionalInput(request, "initial_cell"), lengths_input = OptionalInput(request, "lengths"),
             dsequence_input = OptionalInput(request, "dsequence"), dlast_hidden = OptionalInput(request, "dlast_hidden"),
             dlast_cell = OptionalInput(request, "dlast_cell");
  auto run = [=, threads = request.threads](const KernelCall& call) -> Result<void> {
    const int64_t* lengths = lengths_input.integers(call);
    SHOAL_TRY_VOID(check_lengths(lengths, size.n, size.t));
    const Parts parts(call.scratch, size);
    const int64_t units = size.units;
    const float *gates = floats(call.inputs[0]), *cells = floats(call.inputs[1]);
    const float *dsequence = dsequence_input.floats(call), *cell_at_start = initial_cell.floats(call);
    float *dprojection = floats(call.outputs[0]), *dhidden = floats(call.outputs[1]), *dcell = floats(call.outputs[2]);
    const Recurrence recurrence = backward_recurrence(threads, size, parts, floats(call.inputs[2]), lengths);
    copy_or_zero(dlast_hidden.floats(call), dhidden, size.n * units);
    copy_or_zero(dlast_cell.floats(call), dcell, size.n * units);
    recurrence.run_backward({{dprojection, size.gates}}, [&](const Position& at) {
      const float* cell = cells + at.place * units;
      const float* before = at.step > 0 ? cell - units : or_zeros(cell_at_start, at.row * units, parts.zeros);
      const float* through_product = (at.last ? dhidden : parts.narrow) + at.row * units;
      lstm_gates_grad(gates + at.place * size.gates, cell, before, or_zeros(dsequence, at.place * units, parts.zeros),
                      through_product, dcell + at.row * units, parts.wide + at.row * size.gates,
                      dprojection + at.place * size.gates, units);
    });
    for (int64_t row = 0; row < size.n; ++row) {
      if (recurrence.length(row) > 0) copy(parts.narrow + row * units, dhidden + row * units, units);
    }
    return {};
  };
  return make_loop(run, Parts(nullptr, size).bytes);
}

std::unique_ptr<Kernel> make_gru(const KernelRequest& request) {
  if (!none_empty(request)) return nullptr;
  const Sizes size(request.outputs[0].shape, request.outputs[2].shape);
  const auto bias_input = OptionalInput(request, "recurrent_bias"),
             initial_hidden = OptionalInput(request, "initial_hidden"), lengths_input = OptionalInput(request, "lengths");
  auto run = [=, threads = request.threads](const KernelCall& call) -> Result<void> {
    const int64_t* lengths = lengths_input.integers(call);
    SHOAL_TRY_VOID(check_lengths(lengths, size.n, size.t));
    const Parts parts(call.scratch, size);
    const int64_t units = size.units;
    const float* projection = floats(call.inputs[0]);
    const float* bias = or_zeros(bias_input.floats(call), 0, parts.zeros);
    float *sequence = floats(call.outputs[0]), *gates = floats(call.outputs[2]), *candidates = floats(call.outputs[3]);
    const Recurrence recurrence = forward_recurrence(threads, size, parts, floats(call.inputs[1]), lengths);
    copy_or_zero(initial_hidden.floats(call), parts.narrow, size.n * units);
    recurrence.run_forward({{gates, size.gates}, {candidates, units}, {sequence, units}}, [&](const Position& at) {
      gru_gates(projection + at.place * size.gates, parts.wide + at.row * size.gates, bias, gates + at.place * size.gates,
                candidates + at.place * units, parts.narrow + at.row * units, sequence + at.place * units, units);
    });
    copy(parts.narrow, floats(call.outputs[1]), size.n * units);
    return {};
  };
  return make_loop(run, Parts(nullptr, size).bytes);
}

std::unique_ptr<Kernel> make_gru_grad(const KernelRequest& request) {
  if (!none_empty(request)) return nullptr;
  const Sizes size(request.inputs[1].shape, request.inputs[0].shape);
  const auto initial_hidden = OptionalInput(request, "initial_hidden"), lengths_input = OptionalInput(request, "lengths"),
             dsequence_input = OptionalInput(request, "dsequence"), dlast_hidden = OptionalInput(request, "dlast_hidden");
  auto run = [=, threads = request.threads](const KernelCall& call) -> Result<void> {
    const int64_t* lengths = lengths_input.integers(call);
    SHOAL_TRY_VOID(check_lengths(lengths, size.n, size.t));
    const Parts parts(call.scratch, size);
    const int64_t units = size.units;
    const float *gates = floats(call.inputs[0]), *candidates = floats(call.inputs[1]), *sequence = floats(call.inputs[2]);
    const float *hidden_at_start = initial_hidden.floats(call), *dsequence = dsequence_input.floats(call);
    float *dprojection = floats(call.outputs[0]), *drecurrent = floats(call.outputs[1]), *dhidden = floats(call.outputs[2]);
    const Recurrence recurrence = backward_recurrence(threads, size, parts, floats(call.inputs[3]), lengths);
    copy_or_zero(dlast_hidden.floats(call), parts.carried, size.n * units);
    recurrence.run_backward({{dprojection, size.gates}, {drecurrent, size.gates}}, [&](const Position& at) {
      const float* before =
          at.step > 0 ? sequence + (at.place - 1) * units : or_zeros(hidden_at_start, at.row * units, parts.zeros);
      const float* through_product = at.last ? parts.zeros : parts.narrow + at.row * units;
      gru_gates_grad(gates + at.place * size.gates, candidates + at.place * units, before,
                     or_zeros(dsequence, at.place * units, parts.zeros), through_product, parts.carried + at.row * units,
                     parts.wide + at.row * size.gates, dprojection + at.place * size.gates,
                     drecurrent + at.place * size.gates, units);
    });
    for (int64_t row = 0; row < size.n; ++row) {
      const bool none = recurrence.length(row) == 0;
      add(1, none ? parts.zeros : parts.narrow + row * units, parts.carried + row * units, dhidden + row * units, units);
    }
    return {};
  };
  return make_loop(run, Parts(nullptr, size).bytes);
}

namespace {

/// Packs panels [first, last) of a matrix [n * t, units]. Its rows are the hidden states before each step of each sequence:
/// the initial state before the first step, else the row of `sequence` for the step before.
void pack_states_before(const float* sequence, const float* initial, const Shape& shape, float* packed, int64_t first,
                        int64_t last) {
  const int64_t n = shape[0], t = shape[1], units = shape[2];
  for (int64_t panel = first; panel < last; ++panel) {
    const int64_t column = panel * kPanelColumns, columns = std::min(kPanelColumns, units - column);
    float* to = packed + column * n * t;
    for (int64_t row = 0; row < n; ++row) {
      for (int64_t step = 0; step < t; ++step, to += kPanelColumns) {
        const float* before = step > 0 ? sequence + (row * t + step - 1) * units : row_of(initial, row * units);
        copy_or_zero(row_of(before, column), to, columns);
        zero(to + columns, kPanelColumns - columns);
      }
    }
  }
}

}  // namespace

std::unique_ptr<Kernel> make_recurrent_grad_kernel(const KernelRequest& request) {
  if (!none_empty(request)) return nullptr;
  const Shape sequence = request.inputs[1].shape;
  const TransposedProduct product{.threads = request.threads,
                                  .rows = request.outputs[0].shape[0],
                                  .depth = sequence[0] * sequence[1],
                                  .columns = sequence[2]};
  const auto initial_hidden = OptionalInput(request, "initial_hidden");
  auto run = [=](const KernelCall& call) -> Result<void> {
    ScratchParts scratch(call.scratch);
    float* const packed = scratch.floats(packed_floats(product.depth, product.columns));
    const float *states = floats(call.inputs[1]), *initial = initial_hidden.floats(call);
    parallel_for(product.threads, panel_count(product.columns), 2 * sequence.elements() * int64_t(sizeof(float)),
                 [&](int64_t first, int64_t last) { pack_states_before(states, initial, sequence, packed, first, last); });
    product.run(floats(call.inputs[0]), packed, floats(call.outputs[0]),
                scratch.floats(product.threads * kLeftBlockFloats));
    return {};
  };
  ScratchParts needed;
  needed.floats(packed_floats(product.depth, product.columns));
  needed.floats(product.threads * kLeftBlockFloats);
  return make_loop(run, needed.used());
}

}  // namespace shoal::backends::portable
