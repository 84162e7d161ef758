// SPDX-License-Identifier: Apache-2.0
#include "op_cases.h"
#include "shoal/graph/ops.h"

namespace shoal::backends::testing {
namespace {

using Cases = std::vector<OpCase>;
using Values = std::vector<Value>;

void add_dense_cases(Cases& cases) {
  struct Sizes {
    const char* detail;
    Shape x;
    int64_t outputs;
  };
  const std::vector<Sizes> all{{"sequence", {3, 5, 7}, 4},        {"sequence_of_one", {1, 1, 1}, 1},
                               {"rank4", {2, 3, 2, 5}, 17},       {"long_sequence", {2, 67, 33}, 40},
                               {"many_outputs", {5, 7, 18}, 515}, {"long_sums", {3, 101, 5}, 521}};
  for (const Sizes& sizes : all) {
    auto build = [sizes](CaseBuilder& b) -> Values {
      const int64_t features = sizes.x[sizes.x.rank() - 1];
      const Value x = b.floats("x", sizes.x);
      return {ops::dense(x, b.weights("kernel", {sizes.outputs, features}), b.weights("bias", {sizes.outputs}))};
    };
    cases.push_back({"dense", sizes.detail, build, {"x", "kernel", "bias"}});
  }
}

struct RecurrentSizes {
  int64_t n, t, units;
  bool initial = false;
  std::vector<int64_t> lengths;
  bool only_last = false;  ///< True if nothing but the last hidden state is used.
};

Value lengths_of(CaseBuilder& b, const std::vector<int64_t>& lengths) {
  if (lengths.empty()) return {};
  return b.input("lengths", Tensor::of<int64_t>({int64_t(lengths.size())}, std::span<const int64_t>(lengths)));
}

OpCase lstm_case(std::string detail, RecurrentSizes s) {
  OpCase result{.op = "lstm", .detail = std::move(detail), .build = {}, .differentiable = {"projection", "kernel"}};
  if (s.initial) result.differentiable.insert(result.differentiable.end(), {"hidden", "cell"});
  result.build = [s](CaseBuilder& b) -> Values {
    ops::LstmOptions options{.initial_hidden = {}, .initial_cell = {}, .lengths = lengths_of(b, s.lengths)};
    const Value projection = b.floats("projection", {s.n, s.t, 4 * s.units});
    const Value kernel = b.weights("kernel", {4 * s.units, s.units});
    if (s.initial) {
      options.initial_hidden = b.floats("hidden", {s.n, s.units});
      options.initial_cell = b.floats("cell", {s.n, s.units});
    }
    const ops::Lstm lstm = ops::lstm(projection, kernel, options);
    if (s.only_last) return {lstm.last_hidden};
    return {lstm.sequence, lstm.last_hidden, lstm.last_cell};
  };
  return result;
}

OpCase gru_case(std::string detail, RecurrentSizes s) {
  OpCase result{.op = "gru", .detail = std::move(detail), .build = {}, .differentiable = {"projection", "kernel"}};
  if (s.initial) result.differentiable.insert(result.differentiable.end(), {"bias", "hidden"});
  result.build = [s](CaseBuilder& b) -> Values {
    ops::GruOptions options{.recurrent_bias = {}, .initial_hidden = {}, .lengths = lengths_of(b, s.lengths)};
    const Value projection = b.floats("projection", {s.n, s.t, 3 * s.units});
    const Value kernel = b.weights("kernel", {3 * s.units, s.units});
    if (s.initial) {
      options.recurrent_bias = b.weights("bias", {3 * s.units});
      options.initial_hidden = b.floats("hidden", {s.n, s.units});
    }
    const ops::Gru gru = ops::gru(projection, kernel, options);
    if (s.only_last) return {gru.last_hidden};
    return {gru.sequence, gru.last_hidden};
  };
  return result;
}

void add_recurrent_cases(Cases& cases) {
  const std::vector<std::pair<std::string, RecurrentSizes>> all{
      {"one_by_one", {1, 1, 1}},
      {"odd", {3, 5, 7}},
      {"one_step", {4, 1, 3}},
      {"one_unit", {2, 6, 1}},
      {"initial", {3, 4, 5, true}},
      {"lengths", {5, 4, 3, true, {4, 1, 0, 3, 2}}},
      {"lengths_from_zero", {4, 3, 17, false, {3, 0, 2, 3}}},
      {"only_last", {3, 4, 2, false, {}, true}},
      {"only_last_with_lengths", {3, 4, 2, true, {2, 4, 0}, true}},
      {"rows_for_every_thread", {13, 3, 18, true}},
      {"large", {9, 3, 70, true}},
  };
  for (const auto& [detail, sizes] : all) {
    cases.push_back(lstm_case(detail, sizes));
    cases.push_back(gru_case(detail, sizes));
  }
}

struct AttentionSizes {
  int64_t n, queries, keys, heads, size, value_size;
  bool causal = false;
  std::vector<int64_t> lengths;
  bool probabilities = false;  ///< True if the probabilities are part of the loss.
};

OpCase attention_case(std::string detail, AttentionSizes s) {
  OpCase result{.op = "attention", .detail = std::move(detail), .build = {}, .differentiable = {"query", "key", "value"}};
  result.build = [s](CaseBuilder& b) -> Values {
    const Value query = b.floats("query", {s.n, s.queries, s.heads * s.size});
    const Value key = b.floats("key", {s.n, s.keys, s.heads * s.size});
    const Value value = b.floats("value", {s.n, s.keys, s.heads * s.value_size});
    const ops::AttentionOptions options{.heads = s.heads, .causal = s.causal, .lengths = lengths_of(b, s.lengths)};
    const ops::Attention attention = ops::attention(query, key, value, options);
    if (s.probabilities) return {attention.result, attention.probabilities};
    return {attention.result};
  };
  return result;
}

OpCase self_attention_case(std::string detail, AttentionSizes s) {
  OpCase result{.op = "self_attention", .detail = std::move(detail), .build = {}, .differentiable = {"x"}};
  result.build = [s](CaseBuilder& b) -> Values {
    const Value x = b.floats("x", {s.n, s.queries, 3 * s.heads * s.size});
    const ops::AttentionOptions options{
        .heads = s.heads, .causal = s.causal, .lengths = lengths_of(b, s.lengths), .scale = 0.7};
    const ops::Attention attention = ops::self_attention(x, options);
    if (s.probabilities) return {attention.result, attention.probabilities};
    return {attention.result};
  };
  return result;
}

void add_attention_cases(Cases& cases) {
  cases.push_back(attention_case("one_by_one", {1, 1, 1, 1, 1, 1}));
  cases.push_back(attention_case("plain", {2, 3, 5, 2, 4, 3}));
  cases.push_back(attention_case("causal", {2, 5, 5, 3, 2, 4, true}));
  cases.push_back(attention_case("lengths", {4, 3, 5, 2, 3, 2, false, {5, 1, 0, 3}}));
  cases.push_back(attention_case("causal_lengths", {3, 4, 4, 1, 5, 1, true, {4, 2, 0}}));
  cases.push_back(attention_case("probabilities", {2, 3, 4, 2, 2, 3, false, {4, 2}, true}));
  cases.push_back(attention_case("one_key", {3, 4, 1, 2, 3, 3}));
  cases.push_back(self_attention_case("one_by_one", {1, 1, 1, 1, 1, 1}));
  cases.push_back(self_attention_case("plain", {2, 4, 4, 3, 2, 2}));
  cases.push_back(self_attention_case("causal", {2, 5, 5, 2, 3, 3, true}));
  cases.push_back(self_attention_case("lengths", {3, 4, 4, 2, 2, 2, false, {2, 0, 4}, true}));
  // Several blocks of queries, more than one panel, sums in more than one part.
  cases.push_back(attention_case("large", {1, 53, 270, 2, 20, 33}));
  cases.push_back(self_attention_case("large_causal", {2, 61, 61, 2, 16, 16, true}));
}

}  // namespace

void add_sequence_cases(Cases& cases) {
  add_dense_cases(cases);
  add_recurrent_cases(cases);
  add_attention_cases(cases);
}

}  // namespace shoal::backends::testing
