// SPDX-License-Identifier: Apache-2.0
// LSTM and GRU, forwards, with the default activations only. States are kept in double.
#include <algorithm>
#include <cmath>

#include "onnx_model/product_loops.h"
#include "onnx_model/strided.h"

namespace shoal::convert::onnx_model {
namespace {

using Numbers = std::vector<double>;

/// The weights of one gate. The matrices are the transposes of those in ONNX, so that rows of x can be multiplied by them.
struct Gate {
  Numbers kernel;                ///< [inputs, units]
  Numbers recurrent;             ///< [units, units]
  Numbers bias, recurrent_bias;  ///< [units]
};

/// The inputs that LSTM and GRU have in common: X, W, R, B, sequence_lens and initial_h.
struct Recurrence {
  int64_t steps = 0, batch = 0, inputs = 0, units = 0;
  std::span<const float> x;      ///< [steps, batch, inputs]
  std::vector<Gate> gates;       ///< The gates, in ONNX's order.
  std::vector<int64_t> lengths;  ///< The length of each sequence in steps.
  Numbers hidden;                ///< [batch, units]

  size_t states() const { return hidden.size(); }
  /// Returns [batch, units]: x of a step times the gate's kernel, plus the bias.
  Numbers of_input(const Gate& gate, int64_t step) const {
    Numbers sums = repeated(gate.bias);
    const auto rows = x.subspan(size_t(step * batch * inputs), size_t(batch * inputs));
    add_product(Numbers(rows.begin(), rows.end()).data(), gate.kernel.data(), sums.data(), batch, inputs, units);
    return sums;
  }
  /// Returns [batch, units]: a state times the gate's recurrent kernel, plus the recurrent bias.
  Numbers of_state(const Gate& gate, const Numbers& state) const {
    Numbers sums = repeated(gate.recurrent_bias);
    add_product(state.data(), gate.recurrent.data(), sums.data(), batch, units, units);
    return sums;
  }
  /// Returns the gate's sums for one step: what of_input() and of_state() return, added up.
  Numbers of_both(const Gate& gate, int64_t step) const {
    Numbers sums = of_input(gate, step);
    const Numbers others = of_state(gate, hidden);
    std::ranges::transform(sums, others, sums.begin(), std::plus<>());
    return sums;
  }
  /// True if the sequence to which this element of a state belongs is longer than `step`.
  bool has_step(size_t state, int64_t step) const { return step < lengths[state / size_t(units)]; }

 private:
  Numbers repeated(const Numbers& bias) const {
    Numbers rows;
    rows.reserve(states());
    for (int64_t i = 0; i < batch; ++i) rows.insert(rows.end(), bias.begin(), bias.end());
    return rows;
  }
};

double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }

/// Returns the matrix of one gate as [columns, units]: the transpose of its rows in `all` [1, gates * units, columns].
Numbers gate_matrix(std::span<const float> all, size_t gate, int64_t units, int64_t columns) {
  Numbers matrix(size_t(columns * units), 0.0);
  const auto rows = all.subspan(gate * matrix.size(), matrix.size());
  for (int64_t unit = 0; unit < units; ++unit) {
    for (int64_t i = 0; i < columns; ++i) matrix[size_t(i * units + unit)] = rows[size_t(unit * columns + i)];
  }
  return matrix;
}

Result<std::vector<int64_t>> sequence_lengths(const Call& call, int64_t steps, int64_t batch) {
  if (!call.has(4)) return std::vector<int64_t>(size_t(batch), steps);
  SHOAL_TRY_VOID(call.want(4, DType::kInt32, {batch}));
  SHOAL_TRY(std::vector<int64_t> lengths, call.int64s(4));
  for (const int64_t length : lengths) {
    if (length < 0 || length > steps)
      return invalid_argument("a sequence has length " + std::to_string(length) + " of " + std::to_string(steps) +
                              " steps");
  }
  return lengths;
}

Result<Numbers> initial_state(Call& call, size_t input, const Recurrence& of) {
  if (!call.has(input)) return call.sums({of.batch, of.units});
  SHOAL_TRY_VOID(call.want(input, DType::kFloat32, {1, of.batch, of.units}));
  const auto given = call.in(input).as<float>();
  return Numbers(given.begin(), given.end());
}

Result<Recurrence> recurrence(Call& call, size_t gates) {
  for (size_t i = 0; i < 3; ++i) {
    SHOAL_TRY_VOID(call.want(i, DType::kFloat32));
    SHOAL_TRY_VOID(call.want_rank(i, 3));
  }
  const Shape& x = call.shape();
  Recurrence of;
  of.steps = x[0], of.batch = x[1], of.inputs = x[2], of.units = call.shape(2)[2];
  const auto rows = int64_t(gates) * of.units;
  SHOAL_TRY_VOID(call.want(1, DType::kFloat32, {1, rows, of.inputs}));
  SHOAL_TRY_VOID(call.want(2, DType::kFloat32, {1, rows, of.units}));
  if (call.number("hidden_size", of.units) != of.units)
    return invalid_argument("attribute \"hidden_size\" is not that of input 2, " + to_string(call.shape(2)));
  if (call.has(3)) SHOAL_TRY_VOID(call.want(3, DType::kFloat32, {1, 2 * rows}));
  SHOAL_TRY_VOID(call.budget().take({of.steps + 1, of.batch + 1, int64_t(gates), of.units, of.inputs + of.units}));
  of.x = call.in(0).as<float>();
  for (size_t gate = 0; gate < gates; ++gate) {
    Gate next;
    next.kernel = gate_matrix(call.in(1).as<float>(), gate, of.units, of.inputs);
    next.recurrent = gate_matrix(call.in(2).as<float>(), gate, of.units, of.units);
    next.bias = next.recurrent_bias = Numbers(size_t(of.units), 0.0);
    if (call.has(3)) {
      const auto biases = call.in(3).as<float>();
      const auto count = size_t(of.units);
      std::ranges::copy(biases.subspan(gate * count, count), next.bias.begin());
      std::ranges::copy(biases.subspan((gates + gate) * count, count), next.recurrent_bias.begin());
    }
    of.gates.push_back(std::move(next));
  }
  SHOAL_TRY(of.lengths, sequence_lengths(call, of.steps, of.batch));
  SHOAL_TRY(of.hidden, initial_state(call, 5, of));
  return of;
}

/// Makes the output Y, [steps, 1, batch, units]; write_step() fills it.
Result<Tensor> all_states(Call& call, const Recurrence& of) {
  return call.make(DType::kFloat32, Shape{of.steps, 1, of.batch, of.units});
}

/// Writes the states of one step to y; zeros for sequences that have ended.
void write_step(const Recurrence& of, int64_t step, Tensor& y) {
  const auto to = y.mutable_as<float>().subspan(size_t(step) * of.states(), of.states());
  for (size_t i = 0; i < to.size(); ++i) to[i] = of.has_step(i, step) ? float(of.hidden[i]) : 0.0f;
}

Result<void> give_state(Call& call, const Recurrence& of, const Numbers& state, size_t output) {
  SHOAL_TRY(Tensor result, call.make(DType::kFloat32, Shape{1, of.batch, of.units}));
  std::ranges::transform(state, result.mutable_as<float>().begin(), [](double value) { return float(value); });
  call.give(std::move(result), output);
  return {};
}

Result<void> run_lstm(Call& call) {
  SHOAL_TRY(Recurrence of, recurrence(call, 4));
  SHOAL_TRY(Numbers cell, initial_state(call, 6, of));
  SHOAL_TRY(Tensor y, all_states(call, of));
  for (int64_t step = 0; step < of.steps; ++step) {
    const Numbers input = of.of_both(of.gates[0], step), output = of.of_both(of.gates[1], step),
                  forget = of.of_both(of.gates[2], step), candidate = of.of_both(of.gates[3], step);
    for (size_t i = 0; i < of.states(); ++i) {
      if (!of.has_step(i, step)) continue;
      cell[i] = sigmoid_of(forget[i]) * cell[i] + sigmoid_of(input[i]) * std::tanh(candidate[i]);
      of.hidden[i] = sigmoid_of(output[i]) * std::tanh(cell[i]);
    }
    write_step(of, step, y);
  }
  call.give(std::move(y), 0);
  SHOAL_TRY_VOID(give_state(call, of, of.hidden, 1));
  return give_state(call, of, cell, 2);
}

/// Returns the sums to which the candidate's tanh is applied. The reset gate multiplies the state before its product with
/// the kernel or, with `reset_after`, that product.
Numbers gru_candidate(const Recurrence& of, int64_t step, const Numbers& reset, bool reset_after) {
  Numbers sums = of.of_input(of.gates[2], step);
  Numbers state = of.hidden;
  if (!reset_after) std::ranges::transform(state, reset, state.begin(), std::multiplies<>());
  Numbers product = of.of_state(of.gates[2], state);
  if (reset_after) std::ranges::transform(product, reset, product.begin(), std::multiplies<>());
  std::ranges::transform(sums, product, sums.begin(), std::plus<>());
  return sums;
}

Result<void> run_gru(Call& call) {
  SHOAL_TRY(Recurrence of, recurrence(call, 3));
  SHOAL_TRY(Tensor y, all_states(call, of));
  const bool reset_after = call.number("linear_before_reset", 0) != 0;
  for (int64_t step = 0; step < of.steps; ++step) {
    Numbers update = of.of_both(of.gates[0], step), reset = of.of_both(of.gates[1], step);
    for (Numbers* gate : {&update, &reset}) std::ranges::transform(*gate, gate->begin(), sigmoid_of);
    const Numbers candidate = gru_candidate(of, step, reset, reset_after);
    for (size_t i = 0; i < of.states(); ++i) {
      if (of.has_step(i, step)) of.hidden[i] = (1 - update[i]) * std::tanh(candidate[i]) + update[i] * of.hidden[i];
    }
    write_step(of, step, y);
  }
  call.give(std::move(y), 0);
  return give_state(call, of, of.hidden, 1);
}

}  // namespace

void add_sequences(Kernels& kernels) {
  const std::vector<KnownAttribute> known{{"hidden_size", AttributeType::kInt},
                                          {"direction", AttributeType::kText, "forward"},
                                          {"layout", AttributeType::kInt, "0"}};
  std::vector<KnownAttribute> of_lstm = known, of_gru = known;
  of_lstm.push_back({"input_forget", AttributeType::kInt, "0"});
  of_gru.push_back({"linear_before_reset", AttributeType::kInt});
  kernels["LSTM"] = {run_lstm, 3, 7, of_lstm, 3};
  kernels["GRU"] = {run_gru, 3, 6, of_gru, 2};
}

}  // namespace shoal::convert::onnx_model
