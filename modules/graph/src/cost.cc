#include "shoal/graph/cost.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace shoal {
namespace {

using Operands = std::span<const TensorView>;
using MultiplyAdds = double (*)(const Attributes& attributes, Operands inputs, Operands outputs);

double elements(const TensorView& operand) { return double(operand.elements()); }
/// Counted from the end: 1 is the last.
double size_from_end(const TensorView& operand, int axis) { return double(operand.shape[operand.shape.rank() - axis]); }

/// Every element of x or of dy meets each kernel [O, ...] element of its filter or channel.
double per_filter(const TensorView& x, const TensorView& kernel) {
  return kernel.shape[0] == 0 ? 0 : elements(x) * elements(kernel) / double(kernel.shape[0]);
}

double product(const Attributes& attributes, Operands inputs, Operands outputs) {
  const double inner = size_from_end(inputs[0], attributes.get_bool("transpose_a") ? 2 : 1);
  return elements(outputs[0]) * inner;
}

/// Its result is [rows, columns], the sum over all leading sizes of a.
double summed_product(const Attributes& attributes, Operands inputs, Operands outputs) {
  const double rows = size_from_end(inputs[0], attributes.get_bool("transpose_a") ? 1 : 2);
  return rows == 0 ? 0 : elements(outputs[0]) * elements(inputs[0]) / rows;
}

/// Queries times keys, and probabilities times values; a causal one looks back only.
double attended(const Attributes& attributes, const TensorView& query, const TensorView& key, const TensorView& value,
                double parts) {
  const double positions = double(key.shape[1]);
  const double all = (elements(query) * positions +
                      double(query.shape[0] * query.shape[1]) * elements(value) / std::max(1.0, double(value.shape[0]))) /
                     parts;
  return attributes.get_bool("causal") && positions > 0 ? all * (positions + 1) / (2 * positions) : all;
}

/// By op. A backward op of two products has two times the forward's.
const std::map<std::string_view, MultiplyAdds>& products() {
  static const std::map<std::string_view, MultiplyAdds> rules{
      {"dense", [](const Attributes&, Operands in, Operands out) { return per_filter(out[0], in[1]); }},
      {"dense_grad_input", [](const Attributes&, Operands in, Operands) { return per_filter(in[0], in[1]); }},
      {"dense_grad_kernel", [](const Attributes&, Operands in, Operands out) { return per_filter(in[0], out[0]); }},
      {"conv2d", [](const Attributes&, Operands in, Operands out) { return per_filter(out[0], in[1]); }},
      {"conv2d_transpose", [](const Attributes&, Operands in, Operands) { return per_filter(in[0], in[1]); }},
      {"conv2d_grad_input", [](const Attributes&, Operands in, Operands) { return per_filter(in[0], in[1]); }},
      {"conv2d_grad_kernel", [](const Attributes&, Operands in, Operands out) { return per_filter(in[0], out[0]); }},
      {"matmul", product},
      {"matmul_sum", summed_product},
      {"lstm", [](const Attributes&, Operands in, Operands) { return elements(in[0]) * size_from_end(in[1], 1); }},
      {"gru", [](const Attributes&, Operands in, Operands) { return elements(in[0]) * size_from_end(in[1], 1); }},
      {"lstm_grad", [](const Attributes&, Operands in, Operands) { return elements(in[0]) * size_from_end(in[2], 1); }},
      {"gru_grad", [](const Attributes&, Operands in, Operands) { return elements(in[0]) * size_from_end(in[3], 1); }},
      {"recurrent_grad_kernel",
       [](const Attributes&, Operands in, Operands out) { return elements(in[0]) * size_from_end(out[0], 1); }},
      {"attention", [](const Attributes& a, Operands in, Operands) { return attended(a, in[0], in[1], in[2], 1); }},
      {"attention_grad",
       [](const Attributes& a, Operands in, Operands) { return 2 * attended(a, in[0], in[1], in[2], 1); }},
      {"self_attention", [](const Attributes& a, Operands in, Operands) { return attended(a, in[0], in[0], in[0], 3); }},
      {"self_attention_grad",
       [](const Attributes& a, Operands in, Operands) { return 2 * attended(a, in[0], in[0], in[0], 3); }}};
  return rules;
}

/// Ops that read of their first operand no more than comes out.
bool reads_a_part(std::string_view op) { return op == "gather" || op == "slice"; }

}  // namespace

NodeCost cost_of(const OpDef& op, const Attributes& attributes, Operands inputs, Operands outputs) {
  NodeCost cost;
  if (op.view) return cost;
  for (const TensorView& output : outputs) {
    cost.flops = std::max(cost.flops, elements(output));
    cost.bytes += double(output.bytes());
  }
  const double written = cost.bytes;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (op.is_shape_only(int(i))) continue;
    const bool part = i == 0 && reads_a_part(op.name);
    cost.bytes += part ? std::min(written, double(inputs[i].bytes())) : double(inputs[i].bytes());
    if (!part) cost.flops = std::max(cost.flops, elements(inputs[i]));
  }
  const auto rule = products().find(op.name);
  if (rule != products().end()) cost.flops = 2 * rule->second(attributes, inputs, outputs);
  return cost;
}

}  // namespace shoal
