// SPDX-License-Identifier: Apache-2.0
// RuntimeOptions::plugins and ProgramInfo::plugins: backends and transports that a program supplies.
#include "shoal/estimator/plugins.h"

#include <atomic>
#include <stdexcept>

#include "run_program.h"
#include "shoal/estimator/exported_model.h"
#include "shoal/transport/inproc.h"
#include "shoal/transport/transport.h"

namespace shoal::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// The reference backend under another name, which counts its compilations.
class Counting final : public backends::Backend {
 public:
  explicit Counting(std::string name, std::atomic<int>& compiled) : name_(std::move(name)), compiled_(compiled) {}
  std::string_view name() const override { return name_; }
  Result<std::unique_ptr<backends::Program>> compile(const Graph& graph, backends::CompileOptions options) override {
    ++compiled_;
    return reference_->compile(graph, std::move(options));
  }
  backends::Numerics numerics(int threads) const override {
    backends::Numerics numerics = reference_->numerics(threads);
    numerics.backend = name_;
    return numerics;
  }

 private:
  const std::string name_;
  std::atomic<int>& compiled_;
  const std::unique_ptr<backends::Backend> reference_ = value_or_raise(backends::make_backend("reference"));
};

/// The transport inproc under another scheme, which counts connections.
class Renamed final : public transport::Transport {
 public:
  Renamed(std::shared_ptr<transport::Transport> inner, std::atomic<int>& connected)
      : inner_(std::move(inner)), connected_(connected) {}
  transport::Reach reach() const override { return inner_->reach(); }
  bool shares_memory() const override { return inner_->shares_memory(); }
  Result<std::unique_ptr<transport::Listener>> listen(transport::Endpoint at, transport::LinkOptions options) override {
    at.scheme = "inproc";
    return inner_->listen(std::move(at), std::move(options));
  }
  Task<Result<std::unique_ptr<transport::Connection>>> connect(transport::Endpoint to, transport::LinkOptions options,
                                                               Deadline deadline) override {
    ++connected_;
    to.scheme = "inproc";
    return inner_->connect(std::move(to), std::move(options), deadline);
  }
  transport::TransportStats stats() const override { return inner_->stats(); }

 private:
  const std::shared_ptr<transport::Transport> inner_;
  std::atomic<int>& connected_;
};

class OwnPlugins : public ::testing::Test {
 protected:
  OwnBackend backend(const std::string& name) {
    return {name, [this, name] { return std::make_unique<Counting>(name, compiled_); }};
  }
  OwnTransport transport(const std::string& scheme) {
    return {scheme, [this, inner = transport::inproc_factory(hub_)](Environment& env) {
              return std::make_shared<Renamed>(inner(env), connected_);
            }};
  }
  static RuntimeOptions runtime(std::string backend, Plugins plugins) {
    return {.threads = 1, .backend = std::move(backend), .plugins = std::make_shared<const Plugins>(std::move(plugins))};
  }
  static ProgramInfo program(Plugins plugins) {
    ProgramInfo program = kProgram;
    program.plugins = std::move(plugins);
    return program;
  }
  static Dataset points() { return line({1, 2, 3, 4}).batch(2); }
  static void train(RunConfig config, const CommandLine& line) {
    Estimator estimator(linear_model, std::move(config), {{"learning_rate", 0.01}});
    train_and_evaluate(estimator, {.input_fn = points().repeat(), .max_steps = line.steps}, {.input_fn = points()});
  }
  /// The error of RunConfig for these plug-ins.
  static std::string refusal_of(Plugins plugins) {
    return refusal([&] { RunConfig({.runtime = runtime("reference", std::move(plugins))}); });
  }

  Place place_;
  std::atomic<int> compiled_ = 0, connected_ = 0;
  const std::shared_ptr<transport::InprocHub> hub_ = std::make_shared<transport::InprocHub>();
};

TEST_F(OwnPlugins, ABackendComputesTrainingEvaluationPredictionAndExports) {
  const RuntimeOptions own = runtime("counted", {.backends = {backend("counted")}});
  Estimator estimator = place_.estimator(linear_model, {.runtime = own});
  estimator.train(points, {.steps = 3});
  EXPECT_GT(compiled_.exchange(0), 0);
  estimator.evaluate(points);
  EXPECT_GT(compiled_.exchange(0), 0);
  const std::string folder = estimator.export_model(place_.folder / "exports", points);
  const auto model = load_exported_model(folder, own);
  model->predict(Tensor::of<float>({1, 1}, {2}));
  EXPECT_GT(compiled_.exchange(0), 0);
}

TEST_F(OwnPlugins, TheirNamesComeBeforeThoseOfTheBuild) {
  place_.estimator(linear_model, {.runtime = runtime("reference", {.backends = {backend("reference")}})})
      .train(points, {.steps = 1});
  EXPECT_GT(compiled_, 0);
  Estimator local = place_.estimator(linear_model, {.runtime = runtime("reference", {.backends = {backend("counted")}})});
  compiled_ = 0;
  local.train(points, {.steps = 1});
  EXPECT_EQ(compiled_, 0);
}

TEST_F(OwnPlugins, FlagsTakeTheirNames) {
  const ProgramInfo own = program({.backends = {backend("counted")}, .transports = {transport("carried")}});
  const Outcome outcome =
      run_program({"--steps", "4", "--model-dir", place_.model_dir(), "--backend", "counted", "--transport", "carried",
                   "--cluster", "ps:1,worker:1,evaluator", "--strategy", "sync"},
                  train, own);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_GT(compiled_, 0);
  EXPECT_GE(connected_, 2);  // The chief and the worker have connected.
  const Outcome help = run_program({"--help"}, {}, own);
  EXPECT_THAT(help.out, AllOf(HasSubstr("counted"), HasSubstr("carried"), HasSubstr("reference"), HasSubstr("inproc")));
  EXPECT_THAT(run_program({"--backend", "count"}, {}, own).err, HasSubstr("count is none of "));
  EXPECT_EQ(run_program({"--backend", "counted"}).status, 2);
}

/// Two processes would wait for each other for hours, since each has a hub of its own.
TEST_F(OwnPlugins, ATransportBetweenThreadsConnectsNoProcesses) {
  const std::string tf_config = R"({"cluster": {"chief": ["a:1"], "ps": ["b:1"]}, "task": {"type": "chief", "index": 0}})";
  const auto train = [&] {
    RunConfigOptions options{.model_dir = place_.model_dir(),
                             .runtime = runtime("reference", {.transports = {transport("carried")}})};
    options.runtime->transport = "carried";
    auto host = std::make_shared<TaskHost>();
    host->sink = place_.log.sink();
    host->insecure = true;
    Estimator estimator(linear_model, RunConfig::from_environment(options, environment(tf_config)).with_host(host));
    estimator.train(points, {.steps = 1});
  };
  EXPECT_THAT(refusal(train, ErrorKind::kFailedPrecondition),
              HasSubstr("runtime.transport (--transport) is carried, which connects threads of one process"));
}

TEST_F(OwnPlugins, AnUnknownNameIsToldWithTheProgramsOwn) {
  const auto train = [&] {
    place_.estimator(linear_model, {.runtime = runtime("abacus", {.backends = {backend("counted")}})})
        .train(points, {.steps = 1});
  };
  EXPECT_THAT(refusal(train, ErrorKind::kNotFound), AllOf(HasSubstr("abacus"), HasSubstr("the program brings counted")));
}

TEST_F(OwnPlugins, WhatCannotBeMeantIsRefused) {
  EXPECT_THAT(refusal_of({.backends = {backend("counted"), backend("counted")}}),
              HasSubstr("RunConfig: runtime: plugins: two backends are called \"counted\"; give each a name of its own"));
  EXPECT_THAT(refusal_of({.backends = {backend("")}}), HasSubstr("a backend has no name"));
  EXPECT_THAT(refusal_of({.backends = {{"counted", nullptr}}}),
              HasSubstr("backend \"counted\" has no function that makes it"));
  EXPECT_THAT(refusal_of({.transports = {transport("carried"), transport("carried")}}),
              HasSubstr("two transports are called \"carried\""));
  EXPECT_THAT(refusal_of({.transports = {transport("Courier")}}), HasSubstr("small letters and digits"));
  EXPECT_THAT(refusal_of({.transports = {{"carried", nullptr}}}), HasSubstr("no function that makes it"));
  const Outcome outcome = run_program({}, {}, program({.backends = {backend("counted"), backend("counted")}}));
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("two backends are called \"counted\""));
}

TEST_F(OwnPlugins, AFunctionThatFailsEndsTheCallWithASentence) {
  using Make = std::function<std::unique_ptr<backends::Backend>()>;
  const auto error_with = [this](Make make) {
    Estimator estimator =
        place_.estimator(linear_model, {.runtime = runtime("counted", {.backends = {{"counted", std::move(make)}}})});
    const auto trained = estimator.try_train(points, {.steps = 1});
    return trained ? invalid_argument("it trained") : trained.error();
  };
  const Error none = error_with([] { return nullptr; });
  EXPECT_EQ(none.kind(), ErrorKind::kFailedPrecondition);
  EXPECT_THAT(none.message(), HasSubstr("backend \"counted\": the program's function that makes it gave none"));
  const Error thrown = error_with([]() -> std::unique_ptr<backends::Backend> { throw std::runtime_error("no card"); });
  EXPECT_EQ(thrown.kind(), ErrorKind::kInternal);
  EXPECT_THAT(thrown.message(), AllOf(HasSubstr("\"counted\""), HasSubstr("no card")));
  const std::pair<TransportFactory, std::string> factories[] = {
      {[](Environment&) { return nullptr; }, "transport \"carried\": the function that makes it returned null"},
      {[](Environment&) -> std::shared_ptr<transport::Transport> { throw std::runtime_error("no wire"); }, "no wire"}};
  for (const auto& [make, sentence] : factories) {
    const Outcome outcome =
        run_program({"--model-dir", place_.model_dir(), "--transport", "carried", "--cluster", "ps:1,worker:1"}, train,
                    program({.transports = {{"carried", make}}}));
    EXPECT_NE(outcome.status, 0);
    EXPECT_THAT(outcome.err, HasSubstr(sentence));
  }
}

}  // namespace
}  // namespace shoal::testing
