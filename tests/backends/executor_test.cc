// SPDX-License-Identifier: Apache-2.0
/// What compile_with() does for every backend: bindings, pieces, fetches, order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cfenv>
#include <thread>

#include "executor_fixture.h"
#include "shoal/backends/kernel.h"
#include "shoal/backends/reference.h"
#include "shoal/base/cpu.h"
#include "shoal/graph/ops.h"

namespace shoal::backends::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

TEST_F(Executor, BindsOnlyWhatIsNeeded) {
  graph_.input("labels", DType::kInt64, {2});
  const Runner runner = make({.fetches = {ops::dense(x_, w_)}});
  ASSERT_EQ(runner.info().inputs.size(), 1u);
  EXPECT_EQ(runner.info().inputs[0].name, "x");
  ASSERT_EQ(runner.info().variables.size(), 1u);
  EXPECT_EQ(runner.info().variables[0].name, "w");
  EXPECT_EQ(runner.info().variables[0].shape, (Shape{4, 3}));
  EXPECT_EQ(runner.info().fetched[0].name, "dense");
}

TEST_F(Executor, TakesVariablesThatNothingReadsIfItIsTold) {
  const Value product = ops::dense(x_, w_);
  const auto variables_of = [](const Runner& runner) {
    std::vector<std::string> names;
    for (const CompiledProgramInfo::Binding& variable : runner.info().variables) names.push_back(variable.name);
    return names;
  };
  Runner plain = make({.fetches = {product}, .variables = {"v", "w"}});
  const Runner fetching = make({.fetches = {product, v_}, .variables = {"v"}});
  EXPECT_EQ(variables_of(plain), variables_of(fetching));
  value_or_raise(plain.run(feeds_));
  Runner alone = make({.fetches = {product}});
  value_or_raise(alone.run(feeds_));
  EXPECT_EQ(list<float>(plain.fetched(0)), list<float>(alone.fetched(0)));
  const auto refused = backend_->compile(graph_, {.fetches = {product}, .variables = {"nowhere"}});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("no variable \"nowhere\""));
}

TEST_F(Executor, SurvivesTheGraph) {
  auto graph = std::make_unique<Graph>();
  const Value x = graph->input("x", DType::kFloat32, {2});
  Runner runner = value_or_raise(
      Runner::make(*backend_, *graph, {.fetches = {ops::scale(x + graph->constant(Tensor::of<float>({2}, {1, 2})), 3)}}));
  graph.reset();
  value_or_raise(runner.run({{"x", Tensor::of<float>({2}, {10, 20})}}));
  EXPECT_THAT(list<float>(runner.fetched(0)), ElementsAre(33, 66));
}

TEST_F(Executor, WritesUpdatesWhereTheyAreBound) {
  const Value du = ops::scale(w_, 2);
  Runner runner = make({.updates = {du}});
  value_or_raise(runner.run(feeds_));
  EXPECT_EQ(runner.update(0).as<float>()[0], -6);
  EXPECT_EQ(runner.update(0).as<float>()[11], 16);
  EXPECT_EQ(runner.info().arena_bytes, 0u) << "an update has no place in the arena";
  EXPECT_EQ(runner.info().kernels.size(), 1u);
}

TEST_F(Executor, AnUpdateMayBeUsedElsewhereToo) {
  const Value du = ops::scale(w_, 2);
  const Value sum = ops::reduce_sum(du);
  const Value later = ops::square(du);
  Runner runner = make({.fetches = {sum}, .updates = {du, later}});
  value_or_raise(runner.run(feeds_));
  EXPECT_EQ(runner.fetched(0).as<float>()[0], 60);
  EXPECT_EQ(runner.update(0).as<float>()[0], -6);
  EXPECT_EQ(runner.update(1).as<float>()[0], 36);
}

TEST_F(Executor, AnUpdateMayBeFetchedToo) {
  const Value du = ops::scale(w_, 2);
  Runner runner = make({.fetches = {du}, .updates = {du}});
  value_or_raise(runner.run(feeds_));
  EXPECT_TRUE(same_bits(runner.fetched(0), runner.update(0)));
  EXPECT_NE(runner.program().fetched()[0].data, runner.update(0).view().data) << "bound memory may be gone after the run";
}

TEST_F(Executor, OneValueMayBeSeveralUpdates) {
  const Value du = ops::scale(w_, 2);
  const Value same = ops::scale(w_, 2);  // It is merged with the first.
  Runner runner = make({.updates = {du, du, same, ops::reshape(du, {12})}});
  value_or_raise(runner.run(feeds_));
  for (size_t i : {size_t(1), size_t(2)}) EXPECT_TRUE(same_bits(runner.update(i), runner.update(0)));
  EXPECT_EQ(list<float>(runner.update(3)), list<float>(runner.update(0)));
  EXPECT_EQ(runner.info().kernels.size(), 2u) << "one scale, one view";
}

TEST_F(Executor, SourcesMayBeFetchedAndBeUpdates) {
  const Value constant = graph_.constant(Tensor::of<float>({2}, {7, 8}));
  Runner runner = make(
      {.fetches = {w_, x_, constant, ops::reshape(w_, {12})}, .updates = {w_, x_, constant, ops::reshape(v_, {3, 4})}});
  value_or_raise(runner.run(feeds_));
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(same_bits(runner.fetched(i), feeds_.at(i == 0 ? "w" : "x")));
    EXPECT_TRUE(same_bits(runner.update(i), feeds_.at(i == 0 ? "w" : "x")));
  }
  EXPECT_THAT(list<float>(runner.fetched(2)), ElementsAre(7, 8));
  EXPECT_THAT(list<float>(runner.update(2)), ElementsAre(7, 8));
  EXPECT_EQ(runner.fetched(3).shape(), (Shape{12}));
  EXPECT_EQ(list<float>(runner.update(3)), list<float>(feeds_.at("v")));
  EXPECT_NE(runner.program().fetched()[0].data, feeds_.at("w").view().data);
}

TEST_F(Executor, FetchedValuesStayUntilTheNextRun) {
  // Fetched first of a long chain: nothing later may take its place.
  const Value first = ops::scale(x_, 2);
  Value last = first;
  for (int i = 0; i < 6; ++i) last = ops::square(ops::scale(last, 0.5));
  Runner runner = make({.fetches = {first, last}});
  value_or_raise(runner.run(feeds_));
  const auto views = runner.program().fetched();
  EXPECT_THAT(list<float>(Runner::copy(views[0])), ElementsAre(2, 4, 6, 8, 10, 12));
  EXPECT_EQ(runner.info().arena_bytes, 128u) << "the chain itself runs in place";
}

TEST_F(Executor, GathersPiecesAndScattersUpdates) {
  const Value y = ops::dense(x_, w_ + v_);
  const Value loss = ops::reduce_sum(ops::square(y));
  const auto updates = gradients(loss, {w_, v_});
  Runner whole = make({.fetches = {y}, .updates = {updates[0], loss}});
  value_or_raise(whole.run(feeds_));

  auto program = value_or_raise(backend_->compile(graph_, {.fetches = {y}, .updates = {updates[0], loss}}));
  const Tensor& w = feeds_.at("w");
  std::vector<std::byte> far(w.bytes());  // The second part of w lies elsewhere.
  std::memcpy(far.data(), w.view().data, w.bytes());
  const std::vector<Piece> w_pieces{
      {w.view().data, 0, 1}, {far.data() + 12, 1, 3}, {nullptr, 3, 3}, {w.view().data + 36, 3, 4}};
  const std::vector<Piece> v_pieces{{feeds_.at("v").view().data, 0, 4}};
  std::vector<float> top(6, -1), bottom(6, -1);
  float loss_out = 0;
  const std::vector<MutablePiece> update_pieces{{reinterpret_cast<std::byte*>(top.data()), 0, 2},
                                                {reinterpret_cast<std::byte*>(bottom.data()), 2, 4}};
  const std::vector<MutablePiece> loss_pieces{{reinterpret_cast<std::byte*>(&loss_out), 0, 1}};
  const std::vector<TensorView> inputs{feeds_.at("x").view()};
  const std::vector<Pieces> variables{w_pieces, v_pieces};
  const std::vector<MutablePieces> outs{update_pieces, loss_pieces};
  for (int repeat = 0; repeat < 2; ++repeat) {
    std::fill(bottom.begin(), bottom.end(), -1.0f);
    value_or_raise(program->run({.inputs = inputs, .variables = variables, .updates = outs, .weights = {1, 1}}));
    EXPECT_TRUE(same_bits(Runner::copy(program->fetched()[0]), whole.fetched(0)));
    const std::span<const float> expected = whole.update(0).as<float>();
    EXPECT_THAT(top, ElementsAreArray(expected.first(top.size())));
    EXPECT_THAT(bottom, ElementsAreArray(expected.subspan(top.size())));
    EXPECT_EQ(loss_out, whole.update(1).as<float>()[0]);
  }
  // Equal versions mean equal contents, so a gathered variable is kept; another version is gathered again.
  reinterpret_cast<float*>(far.data())[3] += 100;
  value_or_raise(program->run({.inputs = inputs, .variables = variables, .updates = outs, .weights = {1, 1}}));
  EXPECT_TRUE(same_bits(Runner::copy(program->fetched()[0]), whole.fetched(0)));
  value_or_raise(program->run({.inputs = inputs, .variables = variables, .updates = outs, .weights = {1, 2}}));
  EXPECT_FALSE(same_bits(Runner::copy(program->fetched()[0]), whole.fetched(0)));
  reinterpret_cast<float*>(far.data())[3] -= 100;
  value_or_raise(program->run({.inputs = inputs, .variables = variables, .updates = outs, .weights = {1, 1}}));
  EXPECT_TRUE(same_bits(Runner::copy(program->fetched()[0]), whole.fetched(0)));
}

/// A table that is only looked up in stays where it lies; one that is also read otherwise is put together for both.
TEST_F(Executor, LooksRowsUpInPieces) {
  const Tensor& w = feeds_.at("w");
  std::vector<std::byte> far(w.bytes());  // The second part of w lies elsewhere.
  std::memcpy(far.data(), w.view().data, w.bytes());
  const std::vector<Piece> pieces{
      {w.view().data, 0, 1}, {far.data() + 12, 1, 3}, {nullptr, 3, 3}, {w.view().data + 36, 3, 4}};
  const std::vector<Pieces> variables{pieces};
  const Value ids = graph_.constant(Tensor::of<int64_t>({6}, {3, 0, 2, 1, 1, 3}));
  const Value rows = ops::embedding_lookup(w_, ids);
  const Value columns = ops::gather(w_, graph_.constant(Tensor::of<int64_t>({2}, {2, 0})), 1);
  const Value other_rows = ops::embedding_lookup(ops::reshape(w_, {6, 2}), ids);
  const std::vector<std::vector<Value>> cases{
      {rows}, {rows, columns}, {rows, ops::square(w_)}, {rows, other_rows}, {rows, w_}};
  for (const BackendEntry& entry : built_in_backends()) {
    const std::string name(entry.name);
    const auto backend = backend_or_die(name);
    for (const std::vector<Value>& fetches : cases) {
      SCOPED_TRACE(name + ", " + std::to_string(fetches.size()) + " fetches");
      Runner whole = value_or_raise(Runner::make(*backend, graph_, {.fetches = fetches}));
      value_or_raise(whole.run(feeds_));
      auto program = value_or_raise(backend->compile(graph_, {.fetches = fetches}));
      const auto looked_up = [&] {
        value_or_raise(program->run({.inputs = {}, .variables = variables, .updates = {}, .weights = {1, 1}}));
        return Runner::copy(program->fetched()[0]);
      };
      EXPECT_TRUE(same_bits(looked_up(), whole.fetched(0)));
      for (size_t i = 1; i < fetches.size(); ++i) {
        EXPECT_TRUE(same_bits(Runner::copy(program->fetched()[i]), whole.fetched(i)));
      }
      // Under the same version: what was put together is kept, what is read where it lies is not.
      reinterpret_cast<float*>(far.data())[3] += 100;
      EXPECT_EQ(same_bits(looked_up(), whole.fetched(0)), fetches.size() > 1);
      reinterpret_cast<float*>(far.data())[3] -= 100;
    }
  }
}

TEST_F(Executor, RefusesBindingsThatDoNotFit) {
  const Value y = ops::dense(x_, w_);
  auto program = value_or_raise(backend_->compile(graph_, {.updates = {y}}));
  const Tensor& x = feeds_.at("x");
  const Tensor& w = feeds_.at("w");
  Tensor out(DType::kFloat32, {2, 4});
  std::byte* to = out.mutable_view().data;
  auto sentence = [&](std::vector<TensorView> inputs, std::vector<Piece> pieces, std::vector<MutablePiece> update) {
    const std::vector<Pieces> variables{pieces};
    const std::vector<MutablePieces> updates{update};
    const auto result = program->run({.inputs = inputs, .variables = variables, .updates = updates});
    if (!result) {
      EXPECT_EQ(result.error().kind(), ErrorKind::kInvalidArgument);
    }
    return result ? std::string("accepted") : result.error().message();
  };
  const std::byte* rows = w.view().data;
  EXPECT_EQ(sentence({x.view()}, {{rows, 0, 4}}, {{to, 0, 2}}), "accepted");
  EXPECT_EQ(sentence({}, {{rows, 0, 4}}, {{to, 0, 2}}), "the program takes 1 inputs, 0 were bound");
  EXPECT_EQ(sentence({w.view()}, {{rows, 0, 4}}, {{to, 0, 2}}),
            "input \"x\": float32 [4, 3] was bound, the program was compiled for float32 [2, 3]");
  EXPECT_EQ(sentence({{DType::kFloat32, {2, 3}, nullptr}}, {{rows, 0, 4}}, {{to, 0, 2}}),
            "input \"x\": float32 [2, 3] without data was bound, the program was compiled for float32 [2, 3]");
  const std::string pieces = "variable \"w\": the pieces bound must cover its 4 rows in order, each once";
  EXPECT_EQ(sentence({x.view()}, {{rows, 0, 3}}, {{to, 0, 2}}), pieces);
  EXPECT_EQ(sentence({x.view()}, {{rows, 0, 5}}, {{to, 0, 2}}), pieces);
  EXPECT_EQ(sentence({x.view()}, {{rows, 0, 2}, {rows, 1, 4}}, {{to, 0, 2}}), pieces);
  EXPECT_EQ(sentence({x.view()}, {{rows, 0, 4}, {rows, 2, 4}}, {{to, 0, 2}}), pieces);
  EXPECT_EQ(sentence({x.view()}, {}, {{to, 0, 2}}), pieces);
  EXPECT_EQ(sentence({x.view()}, {{nullptr, 0, 4}}, {{to, 0, 2}}), "variable \"w\": a piece has no data");
  EXPECT_EQ(sentence({x.view()}, {{rows, 0, 4}}, {{to, 0, 1}}),
            "update \"dense\": the pieces bound must cover its 2 rows in order, each once");
}

TEST_F(Executor, RefusesWhatCannotBeCompiled) {
  const Value open = graph_.input("open", DType::kFloat32, {Dim::symbol("batch"), 2});
  auto sentence = [&](CompileOptions options) {
    const auto program = backend_->compile(graph_, std::move(options));
    return program ? std::string("accepted") : program.error().message();
  };
  EXPECT_EQ(sentence({.fetches = {ops::relu(open)}}),
            "input \"open\": shape [batch, 2]: no size is given for the symbol \"batch\"");
  EXPECT_EQ(sentence({.fetches = {Value()}}), "fetch 0 is an invalid Value or belongs to another graph");
  EXPECT_EQ(sentence({.fetches = {x_}, .threads = 0}), "compile: threads must be at least 1, not 0");
  EXPECT_THAT(sentence({.fetches = {x_}, .fallback = {"abacus"}}), HasSubstr("backend \"abacus\": this build has "));
  EXPECT_EQ(sentence({.fetches = {x_}, .fallback = {"reference"}}), "accepted");
  EXPECT_EQ(sentence({}), "accepted");
}

/// A source that takes one op and counts, to see who is asked and in which order.
class OnlySquare final : public KernelSource {
 public:
  Result<std::unique_ptr<Kernel>> make_kernel(const KernelRequest& request) override {
    asked.push_back(request.node.op);
    variable_inputs.push_back(!request.input_is_variable.empty() && request.input_is_variable[0]);
    if (request.node.op != "square") return nullptr;
    struct Squares final : Kernel {
      Result<void> run(const KernelCall& call) override {
        const auto x = call.inputs[0].as<float>();
        const auto y = call.outputs[0].as<float>();
        for (size_t i = 0; i < y.size(); ++i) y[i] = x[i] * x[i];
        return {};
      }
      size_t kept_bytes() const override { return 100; }
      std::string implementation() const override { return "only-square"; }
    };
    return std::make_unique<Squares>();
  }
  std::vector<std::string> asked;
  std::vector<bool> variable_inputs;
};

/// A source that cannot: its library has no memory, say.
class Failing final : public KernelSource {
 public:
  Result<std::unique_ptr<Kernel>> make_kernel(const KernelRequest&) override { return internal_error("no memory"); }
};

TEST_F(Executor, AFailingSourceEndsTheCompilationNamingOpNodeAndShapes) {
  Failing source;
  const Value y = ops::mul(w_, ops::scale(w_, 2));
  const ExecutorOptions executor{.sources = {&source, &reference_source()}, .numerics = {.backend = "mine"}};
  const auto program = compile_with(graph_, {.fetches = {y}}, executor);
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().kind(), ErrorKind::kInternal);
  EXPECT_EQ(program.error().message(), "scale \"scale\" float32 [4, 3] -> float32 [4, 3]: no memory");
}

TEST_F(Executor, FallsBackOpByOp) {
  OnlySquare source;
  const Value y = ops::reshape(ops::relu(ops::square(ops::scale(w_, 2))), {12});
  const ExecutorOptions executor{.sources = {&source, &reference_source()}, .numerics = {.backend = "mine"}};
  const auto program = value_or_raise(compile_with(graph_, {.fetches = {y}}, executor));
  std::vector<std::string> ran;
  for (const auto& kernel : program->info().kernels) ran.push_back(kernel.op + ": " + kernel.implementation);
  EXPECT_THAT(ran, ElementsAre("scale: reference", "square: only-square", "relu: reference", "reshape: view"));
  EXPECT_THAT(source.asked, ElementsAre("scale", "square", "relu"));
  EXPECT_THAT(source.variable_inputs, ElementsAre(true, false, false));
  EXPECT_EQ(program->info().kept_bytes, 100u);
  EXPECT_EQ(program->info().numerics.backend, "mine");
}

/// How many threads a library may take for the calling thread, as OpenMP has it.
thread_local int library_threads = 7;
/// What it was set to, in order.
std::vector<int> set_to;

TEST_F(Executor, LeavesTheLibrarysThreadsAsTheyWere) {
  set_to.clear();
  const ExecutorOptions executor{.sources = {&reference_source()}, .numerics = {}, .set_library_threads = [](int count) {
                                   set_to.push_back(count);
                                   return std::exchange(library_threads, count);
                                 }};
  const auto program = value_or_raise(compile_with(graph_, {.fetches = {ops::square(w_)}, .threads = 3}, executor));
  EXPECT_THAT(set_to, ElementsAre(1, 7));
  const std::vector<Piece> pieces{{feeds_.at("w").view().data, 0, 4}};
  const std::vector<Pieces> variables{pieces};
  value_or_raise(program->run({.variables = variables}));
  EXPECT_THAT(set_to, ElementsAre(1, 7, 1, 7));
  EXPECT_FALSE(program->run({}));  // A variable is missing.
  EXPECT_THAT(set_to, ElementsAre(1, 7, 1, 7, 1, 7));
}

#if defined(__SSE2__) || defined(__aarch64__)
TEST_F(Executor, LeavesTheFloatingPointModeAsItWas) {
  std::thread([this] {
    std::fesetenv(FE_DFL_ENV);
    std::fesetround(FE_DOWNWARD);
    const auto backend = backend_or_die("reference");
    const auto program = value_or_raise(backend->compile(graph_, {.fetches = {ops::square(w_)}}));
    const std::vector<Piece> pieces{{feeds_.at("w").view().data, 0, 4}};
    const std::vector<Pieces> variables{pieces};
    std::feclearexcept(FE_ALL_EXCEPT);
    for (const bool complete : {true, false}) {
      const Result<void> ran = complete ? program->run({.variables = variables}) : program->run({});
      EXPECT_EQ(bool(ran), complete);
      volatile float tiny = 1e-39f;
      EXPECT_NE(tiny * 0.5f, 0.0f);
      volatile float one = 1, three = 3;
      EXPECT_LT(one / three, 0x1.555556p-2f);
    }
  }).join();
}
#endif

TEST_F(Executor, ErrorsSayWhichNode) {
  const Value labels = graph_.input("labels", DType::kInt64, {2});
  Runner runner = make({.fetches = {ops::softmax_cross_entropy({.labels = labels, .logits = x_}, "loss").loss}});
  Feeds feeds = feeds_;
  feeds.emplace("labels", Tensor::of<int64_t>({2}, {1, 3}));
  EXPECT_EQ(runner.run(feeds).error(),
            invalid_argument("softmax_cross_entropy \"loss\": label 3 in row 1 is outside [0, 3)"));
}

TEST(Compile, TextCannotBeFetched) {
  Graph graph;
  const Value text = graph.input("pet", DType::kString, {2});
  const auto backend = backend_or_die("reference");
  const auto runner = Runner::make(*backend, graph, {.fetches = {text}});
  ASSERT_FALSE(runner);
  EXPECT_EQ(runner.error().kind(), ErrorKind::kInvalidArgument);
  EXPECT_THAT(runner.error().message(), HasSubstr("\"pet\" is text, which programs do not compute with"));
}

TEST(Denormals, AreFlushedOnTheThreadThatAsks) {
#if defined(__SSE2__) || defined(__aarch64__)
  std::thread([] {
    volatile float tiny = 1e-39f;
    std::fesetenv(FE_DFL_ENV);  // A thread starts with the modes of its parent.
    EXPECT_NE(tiny * 0.5f, 0.0f);
    flush_denormals();
    EXPECT_EQ(tiny * 0.5f, 0.0f);
    EXPECT_EQ(1e30f * tiny, 0.0f);
  }).join();
#else
  GTEST_SKIP() << "this processor has no such mode that we set";
#endif
}

TEST(Registry, NamesTheBackendsThereAre) {
  const auto missing = make_backend("abacus");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind(), ErrorKind::kNotFound);
  for (const BackendEntry& entry : built_in_backends()) EXPECT_THAT(missing.error().message(), HasSubstr(entry.name));
  EXPECT_EQ(backend_or_die(default_backend())->name(), default_backend());
}

}  // namespace
}  // namespace shoal::backends::testing
