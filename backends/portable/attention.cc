// SPDX-License-Identifier: Apache-2.0
// Attention, computed for one head of one sequence at a time. Its queries, keys and values are small, so products stay in
// the cache until they are used. The features of a head are read in place: heads are not moved to an axis of their own.
#include <algorithm>

#include "panels.h"
#include "shoal/backends/lengths.h"
#include "shoal/backends/optional_input.h"
#include "sources.h"
#include "threads.h"

namespace shoal::backends::portable {
namespace {

/// The sizes and options of one node, and the positions of its inputs.
struct Attention {
  int64_t n, heads, queries, keys, size, value_size;
  bool causal, together;
  float scale;
  int probabilities;  ///< The index of the input with the probabilities; backward only.
  OptionalInput lengths, dresult, dprobabilities;

  Attention(const KernelRequest& request, const Shape& probabilities_shape)
      : n(probabilities_shape[0]),
        heads(probabilities_shape[1]),
        queries(probabilities_shape[2]),
        keys(probabilities_shape[3]),
        lengths(request, "lengths"),
        dresult(request, "dresult"),
        dprobabilities(request, "dprobabilities") {
    const Attributes& attributes = request.node.attributes;
    causal = attributes.get_bool("causal");
    together = find_input(attributes, "projections") >= 0;
    scale = float(attributes.get_real("scale"));
    probabilities = find_input(attributes, "probabilities");
    const int64_t parts = heads * (together ? 3 : 1);
    size = request.inputs[0].shape[2] / parts;
    value_size = request.inputs[together ? 0 : 2].shape[2] / parts;
  }

  /// Returns how many queries are computed at a time. Their scores stay in the cache, and causal attention skips the keys
  /// that none of these queries may attend to.
  int64_t query_block() const { return std::min<int64_t>(causal ? 16 : 48, queries); }

  /// Returns how many keys, counted from the first one, the queries before `last` attend to.
  int64_t key_count(int64_t length, int64_t last) const { return causal ? std::min(length, last) : length; }

  /// The multiplications of the forward pass, expressed as bytes of traffic that take as long.
  int64_t work() const { return n * heads * queries * keys * (size + value_size) / 4; }
};

/// The features of one head of one sequence: [positions, size], with rows `stride` apart.
template <class Float>
struct Head {
  Float* data;
  int64_t stride;
  Float* row(int64_t position) const { return data + position * stride; }
};

/// Returns the features of one head of one sequence (`row`) in the operand `part` (query, key or value). `views` are the
/// inputs or the outputs of the node.
template <class Float, class View>
Head<Float> head_of(const Attention& attention, std::span<const View> views, size_t part, int64_t row, int64_t head) {
  const View& view = views[attention.together ? 0 : part];
  const int64_t size = part == 2 ? attention.value_size : attention.size;
  const int64_t before = attention.together ? int64_t(part) * attention.heads * size : 0;
  return {floats(view) + row * view.shape[1] * view.shape[2] + before + head * size, view.shape[2]};
}

/// The layout of one thread's scratch memory, in floats. Each part begins on a cache line of its own.
struct ForwardParts {
  int64_t keys, values, total;
  explicit ForwardParts(const Attention& a) {
    keys = 0;
    values = keys + packed_floats(a.size, a.keys);
    total = values + packed_floats(a.keys, a.value_size);
  }
};
struct BackwardParts {
  int64_t values, keys, queries, dresult, scores, total;
  explicit BackwardParts(const Attention& a) {
    const int64_t block = a.query_block();
    values = 0;  // Scratch offset of the packed transpose of the values.
    keys = values + packed_floats(a.value_size, a.keys);
    queries = keys + packed_floats(a.keys, a.size);    // Scratch offset of the packed queries of one block.
    dresult = queries + packed_floats(block, a.size);  // Scratch offset of the packed gradient of the block's result.
    scores = dresult + packed_floats(block, a.value_size);
    total = scores + packed_floats(block, a.keys);
  }
};

/// Calls body(row, head, scratch) for every head of every sequence, each thread with scratch memory of its own.
template <class Body>
void for_heads(int threads, const Attention& attention, int64_t work, float* scratch, int64_t floats_per_thread,
               const Body& body) {
  const int64_t all = attention.n * attention.heads;
  parallel_for(threads, threads, work, [&](int64_t begin, int64_t end) {
    for (int64_t i = all * begin / threads; i < all * end / threads; ++i) {
      body(i / attention.heads, i % attention.heads, scratch + begin * floats_per_thread);
    }
  });
}

void zero_rows(const Head<float>& head, int64_t begin, int64_t end, int64_t size) {
  for (int64_t i = begin; i < end; ++i) std::fill_n(head.row(i), size, 0.0f);
}

void forward(const Attention& a, const Head<const float>& query, const Head<const float>& key,
             const Head<const float>& value, int64_t length, float* probabilities, const Head<float>& result,
             float* scratch) {
  const ForwardParts parts(a);
  float *const keys = scratch + parts.keys, *const values = scratch + parts.values;
  pack({key.data, 1, key.stride}, a.size, length, a.scale, keys);
  pack({value.data, value.stride}, length, a.value_size, 1.0f, values);
  for (int64_t first = 0; first < a.queries; first += a.query_block()) {
    const int64_t last = std::min(first + a.query_block(), a.queries), count = a.key_count(length, last);
    float* p = probabilities + first * a.keys;
    multiply({.a = {query.row(first), query.stride},
              .packed = keys,
              .c = p,
              .c_stride = a.keys,
              .rows = last - first,
              .depth = a.size,
              .columns = count});
    for (int64_t i = first; i < last; ++i, p += a.keys) {
      const int64_t attended = a.key_count(length, i + 1);
      if (attended > 0) softmax_row(p, p, attended);
      std::fill(p + attended, p + a.keys, 0.0f);
    }
    multiply({.a = {probabilities + first * a.keys, a.keys},
              .packed = values,
              .packed_depth = length,
              .c = result.row(first),
              .c_stride = result.stride,
              .rows = last - first,
              .depth = count,
              .columns = a.value_size});
  }
}

struct BackwardCall {
  Head<const float> query, key, value, dresult;  ///< The data of dresult are null if it is not given.
  const float *probabilities, *dprobabilities;   ///< Null if not given.
  Head<float> dquery, dkey, dvalue;
};

/// Sets `scores` to the gradients of the scores of queries [first, last).
void score_gradients(const Attention& a, const BackwardCall& call, int64_t first, int64_t last, int64_t length,
                     const float* values, float* scores) {
  const int64_t count = a.key_count(length, last);
  if (call.dresult.data) {
    multiply({.a = {call.dresult.row(first), call.dresult.stride},
              .packed = values,
              .c = scores,
              .c_stride = a.keys,
              .rows = last - first,
              .depth = a.value_size,
              .columns = count});
  }
  for (int64_t i = first; i < last; ++i, scores += a.keys) {
    const float* dp = call.dprobabilities ? call.dprobabilities + i * a.keys : nullptr;
    if (!call.dresult.data) {
      std::copy_n(dp, count, scores);
    } else if (dp) {
      add(1, scores, dp, scores, count);
    }
    const int64_t attended = a.key_count(length, i + 1);
    if (attended > 0) softmax_grad_row(scores, call.probabilities + i * a.keys, scores, attended);
    std::fill(scores + attended, scores + a.keys, 0.0f);
  }
}

void backward(const Attention& a, const BackwardCall& call, int64_t length, float* scratch) {
  const BackwardParts parts(a);
  float *const values = scratch + parts.values, *const keys = scratch + parts.keys,
               *const queries = scratch + parts.queries, *const dresult = scratch + parts.dresult,
               *const scores = scratch + parts.scores;
  if (call.dresult.data) pack({call.value.data, 1, call.value.stride}, a.value_size, length, 1.0f, values);
  pack({call.key.data, call.key.stride}, length, a.size, a.scale, keys);
  zero_rows(call.dkey, 0, a.keys, a.size);
  zero_rows(call.dvalue, 0, a.keys, a.value_size);
  for (int64_t first = 0; first < a.queries; first += a.query_block()) {
    const int64_t last = std::min(first + a.query_block(), a.queries), rows = last - first,
                  count = a.key_count(length, last);
    score_gradients(a, call, first, last, length, values, scores);
    multiply({.a = {scores, a.keys},
              .packed = keys,
              .packed_depth = length,
              .c = call.dquery.row(first),
              .c_stride = call.dquery.stride,
              .rows = rows,
              .depth = count,
              .columns = a.size});
    // The gradients of keys and values are sums over queries: dkey = (gradient of the scores)^T * query. So the queries are
    // packed as the right factor, and the left factor is read transposed.
    pack({call.query.row(first), call.query.stride}, rows, a.size, a.scale, queries);
    multiply({.a = {scores, 1, a.keys},
              .packed = queries,
              .c = call.dkey.data,
              .c_stride = call.dkey.stride,
              .rows = count,
              .depth = rows,
              .columns = a.size,
              .accumulate = true});
    if (!call.dresult.data) continue;
    pack({call.dresult.row(first), call.dresult.stride}, rows, a.value_size, 1.0f, dresult);
    multiply({.a = {call.probabilities + first * a.keys, 1, a.keys},
              .packed = dresult,
              .c = call.dvalue.data,
              .c_stride = call.dvalue.stride,
              .rows = count,
              .depth = rows,
              .columns = a.value_size,
              .accumulate = true});
  }
}

}  // namespace

std::unique_ptr<Kernel> make_attention(const KernelRequest& request) {
  if (!none_empty(request)) return nullptr;
  const Attention a(request, request.outputs[1].shape);
  const int64_t per_thread = ForwardParts(a).total;
  auto run = [=, threads = request.threads](const KernelCall& call) -> Result<void> {
    const int64_t* lengths = a.lengths.integers(call);
    SHOAL_TRY_VOID(check_lengths(lengths, a.n, a.keys));
    auto* scratch = reinterpret_cast<float*>(call.scratch);
    for_heads(threads, a, a.work(), scratch, per_thread, [&](int64_t row, int64_t head, float* of_thread) {
      auto operand = [&](size_t part) { return head_of<const float>(a, call.inputs, part, row, head); };
      const int64_t stride = a.heads * a.value_size;
      const Head<float> result{floats(call.outputs[0]) + row * a.queries * stride + head * a.value_size, stride};
      float* probabilities = floats(call.outputs[1]) + (row * a.heads + head) * a.queries * a.keys;
      forward(a, operand(0), operand(1), operand(2), lengths ? lengths[row] : a.keys, probabilities, result, of_thread);
    });
    return {};
  };
  return make_loop(run, size_t(per_thread * request.threads) * sizeof(float));
}

std::unique_ptr<Kernel> make_attention_grad(const KernelRequest& request) {
  if (!none_empty(request)) return nullptr;
  const Attention a(request, request.inputs[size_t(find_input(request.node.attributes, "probabilities"))].shape);
  const int64_t per_thread = BackwardParts(a).total;
  auto run = [=, threads = request.threads](const KernelCall& call) -> Result<void> {
    const int64_t* lengths = a.lengths.integers(call);
    SHOAL_TRY_VOID(check_lengths(lengths, a.n, a.keys));
    const float *dresult = a.dresult.floats(call), *dprobabilities = a.dprobabilities.floats(call);
    auto* scratch = reinterpret_cast<float*>(call.scratch);
    for_heads(threads, a, 2 * a.work(), scratch, per_thread, [&](int64_t row, int64_t head, float* of_thread) {
      auto operand = [&](size_t part) { return head_of<const float>(a, call.inputs, part, row, head); };
      auto gradient = [&](size_t part) { return head_of<float>(a, call.outputs, part, row, head); };
      const int64_t stride = a.heads * a.value_size, place = (row * a.heads + head) * a.queries * a.keys;
      const float* dy = dresult ? dresult + row * a.queries * stride + head * a.value_size : nullptr;
      const BackwardCall one{.query = operand(0),
                             .key = operand(1),
                             .value = operand(2),
                             .dresult = {dy, stride},
                             .probabilities = floats(call.inputs[size_t(a.probabilities)]) + place,
                             .dprobabilities = dprobabilities ? dprobabilities + place : nullptr,
                             .dquery = gradient(0),
                             .dkey = gradient(1),
                             .dvalue = gradient(2)};
      backward(a, one, lengths ? lengths[row] : a.keys, of_thread);
    });
    return {};
  };
  return make_loop(run, size_t(per_thread * request.threads) * sizeof(float));
}

}  // namespace shoal::backends::portable
