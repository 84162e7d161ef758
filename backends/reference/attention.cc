// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "loops.h"
#include "shoal/backends/lengths.h"
#include "shoal/backends/optional_input.h"

namespace shoal::backends::reference {
namespace {

/// The sizes and options of one node.
struct Attention {
  int64_t heads;
  bool causal;
  double scale;
  bool together;  ///< Query, key and value are parts of one operand.
  OptionalInput lengths, dresult, dprobabilities;

  explicit Attention(const KernelRequest& request)
      : heads(request.node.attributes.get_int("heads")),
        causal(request.node.attributes.get_bool("causal")),
        scale(request.node.attributes.get_real("scale")),
        together(find_input(request.node.attributes, "projections") >= 0),
        lengths(request, "lengths"),
        dresult(request, "dresult"),
        dprobabilities(request, "dprobabilities") {}

  /// Returns how many keys, from the first one on, `query` attends to.
  int64_t key_count(const int64_t* key_lengths, int64_t row, int64_t query, int64_t keys) const {
    const int64_t there = key_lengths ? key_lengths[row] : keys;
    return causal ? std::min(there, query + 1) : there;
  }
};

/// An operand of attention, [n, positions, ...], or its gradient. at() returns the features of one head at one position of
/// a sequence.
template <class Float>
struct Heads {
  Float* data;
  int64_t positions, stride, size;
  Float* at(int64_t row, int64_t position, int64_t head) const {
    return data + (row * positions + position) * stride + head * size;
  }
};
using ConstHeads = Heads<const float>;
using MutableHeads = Heads<float>;

/// Describes the query, key or value (`part` 0, 1 or 2). If `together`, the three are parts of one operand; else each is an
/// operand of its own.
template <class Float>
Heads<Float> heads_of(Float* data, const Shape& shape, int64_t heads, bool together, int64_t part) {
  const int64_t size = shape[2] / (heads * (together ? 3 : 1));
  return {data + (together ? part * heads * size : 0), shape[1], shape[2], size};
}

struct Operands {
  ConstHeads query, key, value;
  Operands(const KernelCall& call, const Attention& attention) {
    auto part = [&](size_t i) {
      const TensorView& view = call.inputs[attention.together ? 0 : i];
      return heads_of(view.as<float>().data(), view.shape, attention.heads, attention.together, int64_t(i));
    };
    query = part(0);
    key = part(1);
    value = part(2);
  }
};

Result<const int64_t*> lengths_of(const KernelCall& call, const Attention& attention, int64_t rows, int64_t keys) {
  const int64_t* lengths = attention.lengths.integers(call);
  SHOAL_TRY_VOID(check_lengths(lengths, rows, keys));
  return lengths;
}

std::unique_ptr<Kernel> make_attention(const KernelRequest& request) {
  const int64_t keys = request.outputs[1].shape[3];
  auto loop = [attention = Attention(request), keys](const KernelCall& call) -> Result<void> {
    const Operands x(call, attention);
    const int64_t n = call.outputs[0].shape[0], queries = call.outputs[0].shape[1];
    SHOAL_TRY(const int64_t* lengths, lengths_of(call, attention, n, keys));
    const MutableHeads result =
        heads_of(call.outputs[0].as<float>().data(), call.outputs[0].shape, attention.heads, false, 0);
    float* probabilities = call.outputs[1].as<float>().data();
    auto* scores = reinterpret_cast<double*>(call.scratch);
    for (int64_t row = 0; row < n; ++row) {
      for (int64_t head = 0; head < attention.heads; ++head) {
        for (int64_t i = 0; i < queries; ++i, probabilities += keys) {
          const int64_t count = attention.key_count(lengths, row, i, keys);
          double largest = 0, sum = 0;
          for (int64_t j = 0; j < count; ++j) {
            scores[j] = attention.scale * dot(x.query.at(row, i, head), x.key.at(row, j, head), x.query.size);
            largest = j == 0 ? scores[j] : std::max(largest, scores[j]);
          }
          for (int64_t j = 0; j < count; ++j) sum += scores[j] = std::exp(scores[j] - largest);
          for (int64_t j = 0; j < keys; ++j) probabilities[j] = j < count ? float(scores[j] / sum) : 0.0f;
          float* y = result.at(row, i, head);
          for (int64_t d = 0; d < result.size; ++d) {
            double value = 0;
            for (int64_t j = 0; j < count; ++j) value += double(probabilities[j]) * double(x.value.at(row, j, head)[d]);
            y[d] = float(value);
          }
        }
      }
    }
    return {};
  };
  return make_loop(loop, size_t(keys) * sizeof(double));
}

/// The gradients of one head of one sequence, in double until the sums are complete.
struct HeadGradient {
  double *query, *key, *value;  ///< [positions, size]
  double* score;                ///< The gradients of one query's probabilities, [keys].
};

std::unique_ptr<Kernel> make_attention_grad(const KernelRequest& request) {
  const Attention attention(request);
  const Shape& probabilities_shape = request.inputs[attention.together ? 1 : 3].shape;
  const int64_t queries = probabilities_shape[2], keys = probabilities_shape[3];
  const int64_t parts = attention.heads * (attention.together ? 3 : 1);
  const int64_t size = request.inputs[0].shape[2] / parts;
  const int64_t value_size = request.inputs[attention.together ? 0 : 2].shape[2] / parts;
  const int64_t total = queries * size + keys * size + keys * value_size + keys;
  auto loop = [=](const KernelCall& call) -> Result<void> {
    const Operands x(call, attention);
    const int64_t n = call.inputs[0].shape[0];
    SHOAL_TRY(const int64_t* lengths, lengths_of(call, attention, n, keys));
    auto* const scratch = reinterpret_cast<double*>(call.scratch);
    HeadGradient d{scratch, scratch + queries * size, scratch + (queries + keys) * size, nullptr};
    d.score = d.value + keys * value_size;
    auto gradient = [&](size_t i) {
      const MutableTensorView& view = call.outputs[attention.together ? 0 : i];
      return heads_of(view.as<float>().data(), view.shape, attention.heads, attention.together, int64_t(i));
    };
    const MutableHeads dquery = gradient(0), dkey = gradient(1), dvalue = gradient(2);
    const float* p = call.inputs[attention.together ? 1 : 3].as<float>().data();
    const float *dp = attention.dprobabilities.floats(call), *dresult = attention.dresult.floats(call);
    for (int64_t row = 0; row < n; ++row) {
      for (int64_t head = 0; head < attention.heads; ++head) {
        std::fill_n(scratch, total, 0.0);
        for (int64_t i = 0; i < queries; ++i, p += keys, dp = dp ? dp + keys : dp) {
          const int64_t count = attention.key_count(lengths, row, i, keys);
          const float* dy = dresult ? dresult + ((row * queries + i) * attention.heads + head) * value_size : nullptr;
          double sum = 0;
          for (int64_t j = 0; j < count; ++j) {
            d.score[j] = dp ? double(dp[j]) : 0.0;
            if (dy) d.score[j] += dot(dy, x.value.at(row, j, head), value_size);
            if (dy) add_scaled(d.value + j * value_size, p[j], dy, value_size);
            sum += d.score[j] * double(p[j]);
          }
          for (int64_t j = 0; j < count; ++j) {
            const double dscore = double(p[j]) * (d.score[j] - sum) * attention.scale;
            for (int64_t f = 0; f < size; ++f) {
              d.query[i * size + f] += dscore * double(x.key.at(row, j, head)[f]);
              d.key[j * size + f] += dscore * double(x.query.at(row, i, head)[f]);
            }
          }
        }
        auto store = [&](const double* from, const MutableHeads& to) {
          for (int64_t position = 0; position < to.positions; ++position, from += to.size) {
            round_to(to.at(row, position, head), from, to.size);
          }
        };
        store(d.query, dquery);
        store(d.key, dkey);
        store(d.value, dvalue);
      }
    }
    return {};
  };
  return make_loop(loop, size_t(total) * sizeof(double));
}

}  // namespace

void add_attention(const AddMaker& add) {
  add("attention", make_attention);
  add("attention_grad", make_attention_grad);
  add("self_attention", make_attention);
  add("self_attention_grad", make_attention_grad);
}

}  // namespace shoal::backends::reference
