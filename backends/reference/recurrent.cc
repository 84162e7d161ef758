// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "loops.h"
#include "shoal/backends/lengths.h"
#include "shoal/backends/optional_input.h"

namespace shoal::backends::reference {
namespace {

/// Returns row `row` of an optional [n, size] operand; null if the operand is absent.
const float* row_or_null(const float* data, int64_t row, int64_t size) { return data ? data + row * size : nullptr; }
void copy_or_zero(const float* from, int64_t count, float* to) {
  if (from) {
    std::copy_n(from, count, to);
  } else {
    std::fill_n(to, count, 0.0f);
  }
}
double at(const float* data, int64_t i) { return data ? double(data[i]) : 0.0; }

std::unique_ptr<Kernel> make_lstm(const KernelRequest& request) {
  const int64_t units = request.outputs[1].shape[1];
  const OptionalInput initial_hidden(request, "initial_hidden"), initial_cell_input(request, "initial_cell"),
      lengths_input(request, "lengths");
  auto loop = [=](const KernelCall& call) -> Result<void> {
    const int64_t n = call.outputs[0].shape[0], t = call.outputs[0].shape[1];
    const float* projection = call.inputs[0].as<float>().data();
    const float* kernel = call.inputs[1].as<float>().data();
    const int64_t* lengths = lengths_input.integers(call);
    SHOAL_TRY_VOID(check_lengths(lengths, n, t));
    float* sequence = call.outputs[0].as<float>().data();
    float* gates = call.outputs[3].as<float>().data();
    float* cells = call.outputs[4].as<float>().data();
    auto* sums = reinterpret_cast<double*>(call.scratch);  // The sums for the gates of one time step.
    for (int64_t row = 0; row < n; ++row) {
      float* h = call.outputs[1].as<float>().data() + row * units;
      float* c = call.outputs[2].as<float>().data() + row * units;
      copy_or_zero(row_or_null(initial_hidden.floats(call), row, units), units, h);
      copy_or_zero(row_or_null(initial_cell_input.floats(call), row, units), units, c);
      for (int64_t step = 0; step < t; ++step) {
        const int64_t place = row * t + step;
        float* gate = gates + place * 4 * units;
        if (lengths && step >= lengths[row]) {
          std::fill_n(gate, 4 * units, 0.0f);
          std::fill_n(cells + place * units, units, 0.0f);
          std::fill_n(sequence + place * units, units, 0.0f);
          continue;
        }
        for (int64_t g = 0; g < 4 * units; ++g) {
          sums[g] = double(projection[place * 4 * units + g]) + dot(h, kernel + g * units, units);
        }
        for (int64_t u = 0; u < units; ++u) {
          const double i = sigmoid(sums[u]), f = sigmoid(sums[units + u]);
          const double g = std::tanh(sums[2 * units + u]), o = sigmoid(sums[3 * units + u]);
          gate[u] = float(i);
          gate[units + u] = float(f);
          gate[2 * units + u] = float(g);
          gate[3 * units + u] = float(o);
          c[u] = float(f * double(c[u]) + i * g);
          h[u] = float(o * std::tanh(double(c[u])));
        }
        std::copy_n(c, units, cells + place * units);
        std::copy_n(h, units, sequence + place * units);
      }
    }
    return {};
  };
  return make_loop(loop, size_t(4 * units) * sizeof(double));
}

std::unique_ptr<Kernel> make_lstm_grad(const KernelRequest& request) {
  const int64_t units = request.outputs[1].shape[1];
  const OptionalInput initial_cell_input(request, "initial_cell"), lengths_input(request, "lengths"),
      dsequence(request, "dsequence"), dlast_hidden(request, "dlast_hidden"), dlast_cell(request, "dlast_cell");
  auto loop = [=](const KernelCall& call) -> Result<void> {
    const int64_t n = call.outputs[0].shape[0], t = call.outputs[0].shape[1];
    const float* gates = call.inputs[0].as<float>().data();
    const float* cells = call.inputs[1].as<float>().data();
    const float* kernel = call.inputs[2].as<float>().data();
    const int64_t* lengths = lengths_input.integers(call);
    SHOAL_TRY_VOID(check_lengths(lengths, n, t));
    float* dprojection = call.outputs[0].as<float>().data();
    auto* dh = reinterpret_cast<double*>(call.scratch);
    double* dc = dh + units;
    for (int64_t row = 0; row < n; ++row) {
      for (int64_t u = 0; u < units; ++u) {
        dh[u] = at(row_or_null(dlast_hidden.floats(call), row, units), u);
        dc[u] = at(row_or_null(dlast_cell.floats(call), row, units), u);
      }
      const float* initial_cell = row_or_null(initial_cell_input.floats(call), row, units);
      for (int64_t step = t - 1; step >= 0; --step) {
        const int64_t place = row * t + step;
        const float* gate = gates + place * 4 * units;
        const float* cell = cells + place * units;
        const float* cell_before = step > 0 ? cell - units : initial_cell;
        float* dgate = dprojection + place * 4 * units;
        if (lengths && step >= lengths[row]) {
          std::fill_n(dgate, 4 * units, 0.0f);
          continue;
        }
        for (int64_t u = 0; u < units; ++u) {
          const double i = double(gate[u]), f = double(gate[units + u]);
          const double g = double(gate[2 * units + u]), o = double(gate[3 * units + u]);
          const double squashed = std::tanh(double(cell[u]));
          const double dhidden = dh[u] + at(row_or_null(dsequence.floats(call), place, units), u);
          const double dcell = dc[u] + dhidden * o * (1 - squashed * squashed);
          dgate[u] = float(dcell * g * i * (1 - i));
          dgate[units + u] = float(dcell * at(cell_before, u) * f * (1 - f));
          dgate[2 * units + u] = float(dcell * i * (1 - g * g));
          dgate[3 * units + u] = float(dhidden * squashed * o * (1 - o));
          dc[u] = dcell * f;
        }
        std::fill_n(dh, units, 0.0);
        for (int64_t g = 0; g < 4 * units; ++g) add_scaled(dh, dgate[g], kernel + g * units, units);
      }
      round_to(call.outputs[1].as<float>().data() + row * units, dh, units);
      round_to(call.outputs[2].as<float>().data() + row * units, dc, units);
    }
    return {};
  };
  return make_loop(loop, size_t(2 * units) * sizeof(double));
}

std::unique_ptr<Kernel> make_gru(const KernelRequest& request) {
  const int64_t units = request.outputs[1].shape[1];
  const OptionalInput recurrent_bias(request, "recurrent_bias"), initial_hidden(request, "initial_hidden"),
      lengths_input(request, "lengths");
  auto loop = [=](const KernelCall& call) -> Result<void> {
    const int64_t n = call.outputs[0].shape[0], t = call.outputs[0].shape[1];
    const float* projection = call.inputs[0].as<float>().data();
    const float* kernel = call.inputs[1].as<float>().data();
    const float* bias = recurrent_bias.floats(call);
    const int64_t* lengths = lengths_input.integers(call);
    SHOAL_TRY_VOID(check_lengths(lengths, n, t));
    float* sequence = call.outputs[0].as<float>().data();
    float* gates = call.outputs[2].as<float>().data();
    float* candidates = call.outputs[3].as<float>().data();
    auto* sums = reinterpret_cast<double*>(call.scratch);  // The sums of products for one time step.
    for (int64_t row = 0; row < n; ++row) {
      float* h = call.outputs[1].as<float>().data() + row * units;
      copy_or_zero(row_or_null(initial_hidden.floats(call), row, units), units, h);
      for (int64_t step = 0; step < t; ++step) {
        const int64_t place = row * t + step;
        const float* from_input = projection + place * 3 * units;
        float* gate = gates + place * 3 * units;
        float* candidate = candidates + place * units;
        if (lengths && step >= lengths[row]) {
          std::fill_n(gate, 3 * units, 0.0f);
          std::fill_n(candidate, units, 0.0f);
          std::fill_n(sequence + place * units, units, 0.0f);
          continue;
        }
        for (int64_t g = 0; g < 3 * units; ++g) sums[g] = dot(h, kernel + g * units, units) + at(bias, g);
        for (int64_t u = 0; u < units; ++u) {
          const double r = sigmoid(double(from_input[u]) + sums[u]);
          const double z = sigmoid(double(from_input[units + u]) + sums[units + u]);
          const double q = sums[2 * units + u];
          const double proposed = std::tanh(double(from_input[2 * units + u]) + r * q);
          gate[u] = float(r);
          gate[units + u] = float(z);
          gate[2 * units + u] = float(proposed);
          candidate[u] = float(q);
          h[u] = float((1 - z) * proposed + z * double(h[u]));
        }
        std::copy_n(h, units, sequence + place * units);
      }
    }
    return {};
  };
  return make_loop(loop, size_t(3 * units) * sizeof(double));
}

std::unique_ptr<Kernel> make_gru_grad(const KernelRequest& request) {
  const int64_t units = request.outputs[2].shape[1];
  const OptionalInput initial_hidden(request, "initial_hidden"), lengths_input(request, "lengths"),
      dsequence(request, "dsequence"), dlast_hidden(request, "dlast_hidden");
  auto loop = [=](const KernelCall& call) -> Result<void> {
    const int64_t n = call.outputs[0].shape[0], t = call.outputs[0].shape[1];
    const float* gates = call.inputs[0].as<float>().data();
    const float* candidates = call.inputs[1].as<float>().data();
    const float* sequence = call.inputs[2].as<float>().data();
    const float* kernel = call.inputs[3].as<float>().data();
    const int64_t* lengths = lengths_input.integers(call);
    SHOAL_TRY_VOID(check_lengths(lengths, n, t));
    auto* dh = reinterpret_cast<double*>(call.scratch);
    for (int64_t row = 0; row < n; ++row) {
      for (int64_t u = 0; u < units; ++u) dh[u] = at(row_or_null(dlast_hidden.floats(call), row, units), u);
      const float* initial = row_or_null(initial_hidden.floats(call), row, units);
      for (int64_t step = t - 1; step >= 0; --step) {
        const int64_t place = row * t + step;
        const float* gate = gates + place * 3 * units;
        const float* hidden_before = step > 0 ? sequence + (place - 1) * units : initial;
        float* dprojection = call.outputs[0].as<float>().data() + place * 3 * units;
        float* drecurrent = call.outputs[1].as<float>().data() + place * 3 * units;
        if (lengths && step >= lengths[row]) {
          std::fill_n(dprojection, 3 * units, 0.0f);
          std::fill_n(drecurrent, 3 * units, 0.0f);
          continue;
        }
        for (int64_t u = 0; u < units; ++u) {
          const double r = double(gate[u]), z = double(gate[units + u]), proposed = double(gate[2 * units + u]);
          const double dhidden = dh[u] + at(row_or_null(dsequence.floats(call), place, units), u);
          const double dproposed = dhidden * (1 - z) * (1 - proposed * proposed);
          drecurrent[u] = dprojection[u] = float(dproposed * double(candidates[place * units + u]) * r * (1 - r));
          drecurrent[units + u] = dprojection[units + u] = float(dhidden * (at(hidden_before, u) - proposed) * z * (1 - z));
          dprojection[2 * units + u] = float(dproposed);
          drecurrent[2 * units + u] = float(dproposed * r);
          dh[u] = dhidden * z;
        }
        for (int64_t g = 0; g < 3 * units; ++g) add_scaled(dh, drecurrent[g], kernel + g * units, units);
      }
      round_to(call.outputs[2].as<float>().data() + row * units, dh, units);
    }
    return {};
  };
  return make_loop(loop, size_t(units) * sizeof(double));
}

/// dkernel[g, u] = sum of dgates[g] * h[u] over all sequences and positions, where h is the state before the position.
std::unique_ptr<Kernel> make_recurrent_grad_kernel(const KernelRequest& request) {
  const OptionalInput initial_hidden(request, "initial_hidden");
  const int64_t gates = request.outputs[0].shape[0], units = request.outputs[0].shape[1];
  auto loop = [=](const KernelCall& call) -> Result<void> {
    const int64_t n = call.inputs[1].shape[0], t = call.inputs[1].shape[1];
    const float* dgates = call.inputs[0].as<float>().data();
    const float* sequence = call.inputs[1].as<float>().data();
    float* dkernel = call.outputs[0].as<float>().data();
    auto* sums = reinterpret_cast<double*>(call.scratch);
    for (int64_t g = 0; g < gates; ++g) {
      std::fill_n(sums, units, 0.0);
      for (int64_t place = 0; place < n * t; ++place) {
        const bool first = place % t == 0;
        const float* before =
            first ? row_or_null(initial_hidden.floats(call), place / t, units) : sequence + (place - 1) * units;
        if (before) add_scaled(sums, dgates[place * gates + g], before, units);
      }
      round_to(dkernel + g * units, sums, units);
    }
    return {};
  };
  return make_loop(loop, size_t(units) * sizeof(double));
}

}  // namespace

void add_recurrent(const AddMaker& add) {
  add("lstm", make_lstm);
  add("lstm_grad", make_lstm_grad);
  add("gru", make_gru);
  add("gru_grad", make_gru_grad);
  add("recurrent_grad_kernel", make_recurrent_grad_kernel);
}

}  // namespace shoal::backends::reference
