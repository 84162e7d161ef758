// SPDX-License-Identifier: Apache-2.0
// Recurrent layers and attention, sequence by sequence.
#include <algorithm>
#include <string>

#include "cpp/op_table.h"
#include "cpp/text.h"

namespace shoal::convert::cpp {
namespace {

/// Writes the state before the first step: a copy of the optional input, or zeros.
void write_state(OpWriter& w, const std::string& state, std::optional<size_t> initial, int64_t elements) {
  const Shape shape{elements};
  if (initial) {
    write_loops(w, shape, {{state, {1}}, {w.in(*initial), {1}}},
                [](const std::vector<std::string>& e) { return e[0] + " = " + e[1]; });
  } else {
    write_loops(w, shape, {{state, {1}}}, [](const std::vector<std::string>& e) { return e[0] + " = 0.0f"; });
  }
}

/// Writes a check of all lengths, and returns the expression for the length of sequence n.
std::string write_lengths(OpWriter& w, int64_t sequences, int64_t positions) {
  const std::optional<size_t> lengths = w.find("lengths");
  if (!lengths) return int_text(positions);
  w.need("lengths_inside");
  w.line("if (!lengths_inside(" + joined({w.in(*lengths), int_text(sequences), int_text(positions)}) + ")) return false;");
  return "Size(" + w.in(*lengths) + "[n])";
}

std::string each(const std::string& pointer, int64_t elements) { return pointer + " + n * " + int_text(elements); }

void write_recurrent(OpWriter& w) {
  const bool is_lstm = w.node().op == "lstm";
  const Shape& sequence = w.output().shape;
  const int64_t n = sequence[0], steps = sequence[1], units = sequence[2], gates = is_lstm ? 4 : 3;
  const std::string length = write_lengths(w, n, steps), hidden = w.out(1);
  write_state(w, hidden, w.find("initial_hidden"), n * units);
  if (is_lstm) write_state(w, w.out(2), w.find("initial_cell"), n * units);
  const std::string recurrent = w.scratch(DType::kFloat32, gates * units);
  std::vector<std::string> arguments{each(w.in(0), steps * gates * units), w.in(1)};
  if (!is_lstm) arguments.push_back(w.in_or_null(w.find("recurrent_bias")));
  arguments.insert(arguments.end(), {length, each(w.out(), steps * units), each(hidden, units)});
  if (is_lstm) arguments.push_back(each(w.out(2), units));
  arguments.insert(arguments.end(), {recurrent, int_text(steps), int_text(units)});
  w.line_before("for (Size n = 0; n < " + int_text(n) + "; ++n)");
  w.call(w.node().op, arguments);
}

std::string recurrent_obstacle(const OpWriter& w) {
  for (size_t i = w.node().op == "lstm" ? 3 : 2; i < w.output_count(); ++i) {
    if (w.is_used(i)) return "its gates are used";
  }
  return "";
}

/// Returns an expression for the query, key or value (`part` 0, 1 or 2) of head h of sequence n. `together`: the three are
/// parts of one operand.
std::string head_text(OpWriter& w, bool together, size_t part, int64_t heads, int64_t size) {
  const Shape& shape = w.input(together ? 0 : part).shape;
  const int64_t before = together ? int64_t(part) * heads * size : 0;
  return "{" + each(w.in(together ? 0 : part), shape[1] * shape[2]) + " + h * " + int_text(size) + " + " +
         int_text(before) + ", " + int_text(shape[2]) + "}";
}

void write_attention(OpWriter& w) {
  const Shape& probabilities = w.output(1).shape;
  const int64_t n = probabilities[0], heads = probabilities[1], queries = probabilities[2], keys = probabilities[3];
  const bool together = w.find("projections").has_value();
  const int64_t parts = heads * (together ? 3 : 1);
  const int64_t size = w.input(0).shape[2] / parts, value_size = w.input(together ? 0 : 2).shape[2] / parts;
  const std::string length = write_lengths(w, n, keys);
  const std::string scores = w.scratch(DType::kFloat32, keys);
  const std::string kept =
      w.is_used(1) ? w.out(1) + " + (n * " + int_text(heads) + " + h) * " + int_text(queries * keys) : "nullptr";
  const int64_t stride = heads * value_size;
  w.line_before("for (Size n = 0; n < " + int_text(n) + "; ++n)");
  w.line_before("for (Size h = 0; h < " + int_text(heads) + "; ++h)");
  const std::string sizes =
      joined({int_text(queries), int_text(keys), int_text(size), int_text(value_size), length,
              w.attributes().get_bool("causal") ? "true" : "false", float_text(float(w.attributes().get_real("scale")))});
  w.call("attention",
         {head_text(w, together, 0, heads, size), head_text(w, together, 1, heads, size),
          head_text(w, together, 2, heads, value_size), each(w.out(), queries * stride) + " + h * " + int_text(value_size),
          int_text(stride), kept, scores, "{" + sizes + "}"});
}

}  // namespace

void add_sequence_rows(OpRows& rows) {
  rows.add("lstm", {write_recurrent, recurrent_obstacle});
  rows.add("gru", {write_recurrent, recurrent_obstacle});
  rows.add("attention", {write_attention});
  rows.add("self_attention", {write_attention});
}

}  // namespace shoal::convert::cpp
