// SPDX-License-Identifier: Apache-2.0
// Ops of two or three operands that broadcast, and ops that only repeat one operand (broadcasts, gradients of sums).
#include <map>
#include <string>

#include "broadcast.h"
#include "shoal/base/forever.h"
#include "shoal/graph/axes.h"
#include "sources.h"
#include "vector.h"

namespace shoal::backends::portable {
namespace {

enum class Binary : uint8_t {
  kFirst,
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMaximum,
  kMinimum,
  kMaximumGrad,
  kPow,
  kPowBaseGrad,
  kPowExponentGrad,
  kReluGrad,
  kSigmoidCrossEntropy,
  kSigmoidCrossEntropyGrad,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
};

SHOAL_ALWAYS_INLINE float first(float a, float) { return a; }
SHOAL_ALWAYS_INLINE float plus(float a, float b) { return a + b; }
SHOAL_ALWAYS_INLINE float minus(float a, float b) { return a - b; }
SHOAL_ALWAYS_INLINE float times(float a, float b) { return a * b; }
SHOAL_ALWAYS_INLINE float divided(float a, float b) { return a / b; }
SHOAL_ALWAYS_INLINE float maximum_grad(float a, float b) { return (a > b ? 0.5f : 0.0f) + (a >= b ? 0.5f : 0.0f); }
SHOAL_ALWAYS_INLINE float pow_base_grad(float a, float b) {
  const double slope = double(b) * vector_pow_wide(a, double(b) - 1.0);
  return b == 0.0f ? 0.0f : float(slope);
}
SHOAL_ALWAYS_INLINE float pow_exponent_grad(float a, float b) {
  const double log = a < 0.0f ? std::numeric_limits<double>::quiet_NaN() : vector_log_wide(a);
  const double slope = vector_pow_wide(a, double(b)) * log;
  return (a == 0.0f) & (b >= 0.0f) ? 0.0f : float(slope);
}
SHOAL_ALWAYS_INLINE float through_relu(float dy, float y) { return y > 0.0f ? dy : 0.0f; }
SHOAL_ALWAYS_INLINE float equal(float a, float b) { return a == b ? 1.0f : 0.0f; }
SHOAL_ALWAYS_INLINE float not_equal(float a, float b) { return a != b ? 1.0f : 0.0f; }
SHOAL_ALWAYS_INLINE float less(float a, float b) { return a < b ? 1.0f : 0.0f; }
SHOAL_ALWAYS_INLINE float less_equal(float a, float b) { return a <= b ? 1.0f : 0.0f; }
SHOAL_ALWAYS_INLINE float greater(float a, float b) { return a > b ? 1.0f : 0.0f; }
SHOAL_ALWAYS_INLINE float greater_equal(float a, float b) { return a >= b ? 1.0f : 0.0f; }

SHOAL_ALWAYS_INLINE float sigmoid_cross_entropy(float logit, float label) {
  const float magnitude = logit < 0.0f ? -logit : logit;
  // Computes logit * (1 - label) if the logit is above 0, else logit * -label. A single product is used, since the
  // difference logit - logit * label would lose precision by cancellation.
  const float linear = logit * ((logit > 0.0f ? 1.0f : 0.0f) - label);
  return linear + vector_log1p_unit(vector_exp(-magnitude));
}
SHOAL_ALWAYS_INLINE float sigmoid_less(float logit, float label) { return vector_sigmoid(logit) - label; }

/// y = kFunction(a, b) for every element of the tile. If an operand has only one element for each row (`moves` is false),
/// this element is read once, before the row of y is written.
template <float (*kFunction)(float, float)>
SHOAL_ALWAYS_INLINE void each(const Tile& tile, const float* a, const float* b, float* y) {
  for (int64_t row = 0; row < tile.rows; ++row) {
    if (tile.operands[0].moves && tile.operands[1].moves) {
      SHOAL_INDEPENDENT
      for (int64_t i = 0; i < tile.columns; ++i) y[i] = kFunction(a[i], b[i]);
    } else if (tile.operands[0].moves) {
      const float same = *b;
      SHOAL_INDEPENDENT
      for (int64_t i = 0; i < tile.columns; ++i) y[i] = kFunction(a[i], same);
    } else if (tile.operands[1].moves) {
      const float same = *a;
      SHOAL_INDEPENDENT
      for (int64_t i = 0; i < tile.columns; ++i) y[i] = kFunction(same, b[i]);
    } else {
      const float same = kFunction(*a, *b);
      for (int64_t i = 0; i < tile.columns; ++i) y[i] = same;
    }
    a += tile.operands[0].row_stride;
    b += tile.operands[1].row_stride;
    y += tile.columns;
  }
}

SHOAL_VECTOR_LOOP void run_tile(Binary op, const Tile& tile, const float* a, const float* b, float* y) {
  switch (op) {
    case Binary::kFirst: return each<first>(tile, a, b, y);
    case Binary::kAdd: return each<plus>(tile, a, b, y);
    case Binary::kSub: return each<minus>(tile, a, b, y);
    case Binary::kMul: return each<times>(tile, a, b, y);
    case Binary::kDiv: return each<divided>(tile, a, b, y);
    case Binary::kMaximum: return each<larger>(tile, a, b, y);
    case Binary::kMinimum: return each<smaller>(tile, a, b, y);
    case Binary::kMaximumGrad: return each<maximum_grad>(tile, a, b, y);
    case Binary::kPow: return each<vector_pow>(tile, a, b, y);
    case Binary::kPowBaseGrad: return each<pow_base_grad>(tile, a, b, y);
    case Binary::kPowExponentGrad: return each<pow_exponent_grad>(tile, a, b, y);
    case Binary::kReluGrad: return each<through_relu>(tile, a, b, y);
    case Binary::kSigmoidCrossEntropy: return each<sigmoid_cross_entropy>(tile, a, b, y);
    case Binary::kSigmoidCrossEntropyGrad: return each<sigmoid_less>(tile, a, b, y);
    case Binary::kEqual: return each<equal>(tile, a, b, y);
    case Binary::kNotEqual: return each<not_equal>(tile, a, b, y);
    case Binary::kLess: return each<less>(tile, a, b, y);
    case Binary::kLessEqual: return each<less_equal>(tile, a, b, y);
    case Binary::kGreater: return each<greater>(tile, a, b, y);
    case Binary::kGreaterEqual: return each<greater_equal>(tile, a, b, y);
  }
}

const std::map<std::string, Binary, std::less<>>& binary_ops() {
  static const auto& table = forever(std::map<std::string, Binary, std::less<>>{
      {"add", Binary::kAdd},
      {"sub", Binary::kSub},
      {"mul", Binary::kMul},
      {"div", Binary::kDiv},
      {"maximum", Binary::kMaximum},
      {"minimum", Binary::kMinimum},
      {"maximum_grad", Binary::kMaximumGrad},
      {"pow", Binary::kPow},
      {"pow_base_grad", Binary::kPowBaseGrad},
      {"pow_exponent_grad", Binary::kPowExponentGrad},
      {"relu_grad", Binary::kReluGrad},
      {"sigmoid_cross_entropy", Binary::kSigmoidCrossEntropy},
      {"sigmoid_cross_entropy_grad", Binary::kSigmoidCrossEntropyGrad},
      {"equal", Binary::kEqual},
      {"not_equal", Binary::kNotEqual},
      {"less", Binary::kLess},
      {"less_equal", Binary::kLessEqual},
      {"greater", Binary::kGreater},
      {"greater_equal", Binary::kGreaterEqual},
  });
  return table;
}

template <bool kConditionMoves, bool kAMoves, bool kBMoves, class Condition>
SHOAL_ALWAYS_INLINE void select_row(const Condition* condition, const float* a, const float* b, float* y, int64_t count) {
  const Condition same_condition = *condition;
  const float same_a = *a, same_b = *b;
  SHOAL_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) {
    // Both operands are read before one is chosen, so that the loop vectorises.
    const float p = kAMoves ? a[i] : same_a, q = kBMoves ? b[i] : same_b;
    y[i] = (kConditionMoves ? condition[i] : same_condition) != Condition(0) ? p : q;
  }
}

template <class Condition>
SHOAL_ALWAYS_INLINE void select_rows(const Tile& tile, const Condition* condition, const float* a, const float* b,
                                     float* y) {
  const auto& [c, p, q] = tile.operands;
  const int moves = c.moves * 4 + p.moves * 2 + q.moves;
  for (int64_t row = 0; row < tile.rows; ++row) {
    switch (moves) {
      case 0: select_row<false, false, false>(condition, a, b, y, tile.columns); break;
      case 1: select_row<false, false, true>(condition, a, b, y, tile.columns); break;
      case 2: select_row<false, true, false>(condition, a, b, y, tile.columns); break;
      case 3: select_row<false, true, true>(condition, a, b, y, tile.columns); break;
      case 4: select_row<true, false, false>(condition, a, b, y, tile.columns); break;
      case 5: select_row<true, false, true>(condition, a, b, y, tile.columns); break;
      case 6: select_row<true, true, false>(condition, a, b, y, tile.columns); break;
      default: select_row<true, true, true>(condition, a, b, y, tile.columns); break;
    }
    condition += c.row_stride;
    a += p.row_stride;
    b += q.row_stride;
    y += tile.columns;
  }
}

SHOAL_VECTOR_LOOP void select_by_floats(const Tile& tile, const float* condition, const float* a, const float* b,
                                        float* y) {
  select_rows(tile, condition, a, b, y);
}

SHOAL_VECTOR_LOOP void select_by_bytes(const Tile& tile, const uint8_t* condition, const float* a, const float* b,
                                       float* y) {
  select_rows(tile, condition, a, b, y);
}

}  // namespace

std::unique_ptr<Kernel> make_binary(const KernelRequest& request) {
  const auto found = binary_ops().find(request.node.op);
  if (!all_float32(request) || found == binary_ops().end()) return nullptr;
  const Shape& shape = request.outputs[0].shape;
  const LoopNest nest(
      shape, {broadcast_strides(shape, request.inputs[0].shape), broadcast_strides(shape, request.inputs[1].shape)});
  return make_loop([=, op = found->second, threads = request.threads](const KernelCall& call) -> Result<void> {
    const float *a = floats(call.inputs[0]), *b = floats(call.inputs[1]);
    float* y = floats(call.outputs[0]);
    nest.run(threads, 12, [=](const Tile& tile) {
      run_tile(op, tile, a + tile.operands[0].first, b + tile.operands[1].first, y + tile.first);
    });
    return {};
  });
}

std::unique_ptr<Kernel> make_select(const KernelRequest& request) {
  const Shape& shape = request.outputs[0].shape;
  const bool by_bytes = request.inputs[0].dtype == DType::kBool;
  const LoopNest nest(shape,
                      {broadcast_strides(shape, request.inputs[0].shape), broadcast_strides(shape, request.inputs[1].shape),
                       broadcast_strides(shape, request.inputs[2].shape)});
  return make_loop([=, threads = request.threads](const KernelCall& call) -> Result<void> {
    const float *a = floats(call.inputs[1]), *b = floats(call.inputs[2]);
    float* y = floats(call.outputs[0]);
    nest.run(threads, 16, [&](const Tile& tile) {
      const auto& [c, p, q] = tile.operands;
      if (by_bytes) {
        const auto* condition = reinterpret_cast<const uint8_t*>(call.inputs[0].data);
        select_by_bytes(tile, condition + c.first, a + p.first, b + q.first, y + tile.first);
      } else {
        select_by_floats(tile, floats(call.inputs[0]) + c.first, a + p.first, b + q.first, y + tile.first);
      }
    });
    return {};
  });
}

std::unique_ptr<Kernel> make_repeat(const KernelRequest& request) {
  if (!all_float32(request) || !none_empty(request)) return nullptr;
  const Shape &shape = request.outputs[0].shape, &part = request.inputs[0].shape;
  const Attributes& attributes = request.node.attributes;
  const LoopNest nest(shape, {attributes.has("axes") ? strides_without(shape, attributes.get_ints("axes"))
                                                     : broadcast_strides(shape, part)});
  const bool divides = request.node.op == "mean_grad";
  const float divisor = float(shape.elements() / part.elements());
  return make_loop([=, threads = request.threads](const KernelCall& call) -> Result<void> {
    const float* x = floats(call.inputs[0]);
    float* y = floats(call.outputs[0]);
    // The second operand, the divisor, is a single number for all elements.
    nest.run(threads, 8, [&](const Tile& tile) {
      run_tile(divides ? Binary::kDiv : Binary::kFirst, tile, x + tile.operands[0].first, &divisor, y + tile.first);
    });
    return {};
  });
}

}  // namespace shoal::backends::portable
