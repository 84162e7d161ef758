// SPDX-License-Identifier: Apache-2.0
// InputFn, TrainSpec and EvalSpec.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/estimator/eval_spec.h"
#include "shoal/estimator/exporter.h"
#include "shoal/estimator/hook.h"
#include "shoal/estimator/params.h"
#include "shoal/estimator/run_config.h"
#include "shoal/estimator/train_spec.h"

namespace shoal {
namespace {

using data::Dataset;
using testing::AllOf;
using testing::HasSubstr;

Dataset three_numbers() { return Dataset::range(3); }
Dataset as_many_as_params_say(const InputContext& context) { return Dataset::range(context.params.get_int("count")); }
Dataset (*const kNoFunction)() = nullptr;
Dataset (*const kNoContextFunction)(const InputContext&) = nullptr;

int64_t size_of(const InputFn& fn, Mode mode = Mode::kTrain) {
  const Params params{{"count", 5}};
  const RunConfig config({.random_seed = 7});
  return fn({.mode = mode, .params = params, .config = config}).cardinality().value_or(-1);
}

class NamedExporter : public Exporter {
 public:
  explicit NamedExporter(std::string name) : name_(std::move(name)) {}
  const std::string& name() const override { return name_; }
  std::optional<std::string> export_model(const ExportRequest&) override { return {}; }

 private:
  std::string name_;
};
std::shared_ptr<Exporter> named(std::string name) { return std::make_shared<NamedExporter>(std::move(name)); }

template <class Spec>
std::string refusal(const Spec& spec, ErrorKind kind = ErrorKind::kInvalidArgument) {
  const Result<void> checked = spec.check();
  if (checked) {
    ADD_FAILURE() << "not refused";
    return "";
  }
  EXPECT_EQ(checked.error().kind(), kind);
  return checked.error().message();
}

// Takes the place of train_and_evaluate, with specs written in place.
Result<void> check_both(TrainSpec train, EvalSpec eval) {
  SHOAL_TRY_VOID(train.check());
  return eval.check();
}

TEST(InputFn, IsMadeFromAnyCallableWithOrWithoutContext) {
  EXPECT_EQ(size_of(three_numbers), 3);
  EXPECT_EQ(size_of(&three_numbers), 3);
  EXPECT_EQ(size_of(as_many_as_params_say), 5);
  EXPECT_EQ(size_of([] { return Dataset::range(4); }), 4);
  EXPECT_EQ(size_of([](InputContext context) { return Dataset::range(*context.config.random_seed()); }), 7);
  EXPECT_EQ(size_of([](const InputContext& context) { return Dataset::range(int(context.mode)); }, Mode::kEval),
            int(Mode::kEval));
  EXPECT_EQ(size_of(std::function<Dataset()>(three_numbers)), 3);
  int64_t calls = 0;
  const InputFn counting = [&calls]() mutable { return Dataset::range(++calls); };
  const InputFn copy = counting;
  EXPECT_EQ(size_of(counting), 1);
  EXPECT_EQ(size_of(copy), 2);
}

TEST(InputFn, IsEmptyWhereThereIsNothingToCall) {
  EXPECT_FALSE(InputFn());
  EXPECT_FALSE(InputFn(nullptr));
  EXPECT_FALSE(InputFn(kNoFunction));
  EXPECT_FALSE(InputFn(kNoContextFunction));
  EXPECT_FALSE(InputFn(std::function<Dataset()>()));
  EXPECT_FALSE(InputFn(std::function<Dataset(const InputContext&)>()));
  EXPECT_TRUE(InputFn(three_numbers));
}

TEST(InputFn, LetsTheFunctionsOwnExceptionThrough) {
  const InputFn failing = []() -> Dataset { throw std::runtime_error("no disk"); };
  EXPECT_THROW((void)size_of(failing), std::runtime_error);
}

TEST(TrainSpec, IsWrittenInPlaceWithEvalSpec) {
  EXPECT_TRUE(check_both({.input_fn = three_numbers, .max_steps = 2000},
                         {.input_fn = as_many_as_params_say, .exporters = {named("best")}}));
}

TEST(TrainSpec, ShowsItsDefaults) {
  const TrainSpec spec;
  EXPECT_FALSE(spec.input_fn);
  EXPECT_EQ(spec.max_steps, std::nullopt);
  EXPECT_TRUE(spec.hooks.empty());
  EXPECT_TRUE(spec.saving_listeners.empty());
}

TEST(TrainSpec, ChecksEachField) {
  EXPECT_TRUE((TrainSpec{.input_fn = three_numbers}.check()));
  EXPECT_TRUE((TrainSpec{.input_fn = three_numbers, .max_steps = 1}.check()));
  EXPECT_THAT(refusal(TrainSpec{.max_steps = 0}, ErrorKind::kTypeMismatch), HasSubstr("TrainSpec: input_fn"));
  EXPECT_THAT(refusal(TrainSpec{.input_fn = kNoFunction}, ErrorKind::kTypeMismatch), HasSubstr("TrainSpec: input_fn"));
  for (const int64_t steps : {int64_t(0), int64_t(-1)}) {
    EXPECT_THAT(refusal(TrainSpec{.input_fn = three_numbers, .max_steps = steps}),
                AllOf(HasSubstr("max_steps: " + std::to_string(steps)), HasSubstr("> 0")));
  }
  EXPECT_THAT(refusal(TrainSpec{.input_fn = three_numbers, .hooks = {std::make_shared<Hook>(), nullptr}}),
              HasSubstr("hooks"));
  EXPECT_THAT(refusal(TrainSpec{.input_fn = three_numbers, .saving_listeners = {nullptr}}), HasSubstr("saving_listeners"));
}

TEST(EvalSpec, ShowsItsDefaults) {
  const EvalSpec spec;
  EXPECT_FALSE(spec.input_fn);
  EXPECT_EQ(spec.steps, 100);
  EXPECT_EQ(spec.throttle_secs, 600);
  EXPECT_EQ(spec.start_delay_secs, 120);
  EXPECT_EQ(spec.name, std::nullopt);
  EXPECT_TRUE(spec.hooks.empty());
  EXPECT_TRUE(spec.exporters.empty());
}

TEST(EvalSpec, ChecksEachField) {
  const InputFn input = three_numbers;
  EXPECT_TRUE(
      (EvalSpec{.input_fn = input, .steps = std::nullopt, .throttle_secs = 0, .start_delay_secs = 0, .name = "train"}
           .check()));
  EXPECT_TRUE((EvalSpec{.input_fn = input, .steps = 1, .exporters = {named("a"), named("b")}}.check()));
  EXPECT_THAT(refusal(EvalSpec{.steps = 0}, ErrorKind::kTypeMismatch), HasSubstr("EvalSpec: input_fn"));
  EXPECT_THAT(refusal(EvalSpec{.input_fn = input, .steps = 0}), AllOf(HasSubstr("steps: 0"), HasSubstr("> 0")));
  EXPECT_THAT(refusal(EvalSpec{.input_fn = input, .steps = -5}), HasSubstr("steps: -5"));
  EXPECT_THAT(refusal(EvalSpec{.input_fn = input, .throttle_secs = -1}),
              AllOf(HasSubstr("throttle_secs: -1"), HasSubstr(">= 0")));
  EXPECT_THAT(refusal(EvalSpec{.input_fn = input, .start_delay_secs = -1}),
              AllOf(HasSubstr("start_delay_secs: -1"), HasSubstr(">= 0")));
  EXPECT_THAT(refusal(EvalSpec{.input_fn = input, .name = ""}), HasSubstr("name"));
  EXPECT_THAT(refusal(EvalSpec{.input_fn = input, .name = "../x"}), HasSubstr("../x"));
  EXPECT_THAT(refusal(EvalSpec{.input_fn = input, .name = std::string("a\0b", 3)}), HasSubstr("eval_<name>"));
  EXPECT_TRUE((EvalSpec{.input_fn = input, .name = ".."}.check()));  // eval_.. is an ordinary folder name.
  for (const char* name : {".", "..", "a/b"}) {
    EXPECT_THAT(refusal(EvalSpec{.input_fn = input, .exporters = {named(name)}}),
                HasSubstr("exporters: names must not be"));
  }
  EXPECT_THAT(refusal(EvalSpec{.input_fn = input, .hooks = {nullptr}}), HasSubstr("hooks"));
}

TEST(EvalSpec, TakesOneExporterOrAList) {
  const auto names_of = [](const EvalSpec& spec) {
    std::vector<std::string> names;
    for (const std::shared_ptr<Exporter>& exporter : spec.exporters) names.push_back(exporter->name());
    return names;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(names_of({.exporters = best_exporter("best")}), Names{"best"});
  EXPECT_EQ(names_of({.exporters = std::make_shared<NamedExporter>("own")}), Names{"own"});
  EXPECT_EQ(names_of({.exporters = {best_exporter("best")}}), Names{"best"});
  EXPECT_EQ(names_of({.exporters = {std::make_shared<NamedExporter>("own"), best_exporter("best")}}),
            (Names{"own", "best"}));
  const std::vector<std::shared_ptr<Exporter>> list{named("a"), named("b")};
  EXPECT_EQ(names_of({.exporters = list}), (Names{"a", "b"}));
  EvalSpec spec{.input_fn = three_numbers, .exporters = named("")};
  EXPECT_THAT(refusal(spec), HasSubstr(R"(they are "")"));
  spec.exporters = std::shared_ptr<Exporter>();
  EXPECT_THAT(refusal(spec), HasSubstr("null"));
  spec.exporters = named("c");
  spec.exporters.push_back(named("d"));
  EXPECT_EQ(names_of(spec), (Names{"c", "d"}));
}

TEST(EvalSpec, ListsTheNamesOfExportersThatClash) {
  const auto with = [](std::vector<std::shared_ptr<Exporter>> exporters) {
    return refusal(EvalSpec{.input_fn = three_numbers, .exporters = std::move(exporters)});
  };
  EXPECT_THAT(with({named("a"), named("b"), named("a")}), HasSubstr(R"("a", "b", "a")"));
  EXPECT_THAT(with({named("a"), named("")}), HasSubstr(R"("a", "")"));
  EXPECT_THAT(with({named("a/b")}), HasSubstr(R"("a/b")"));
  EXPECT_THAT(with({named("a"), nullptr}), HasSubstr("null"));
}

}  // namespace
}  // namespace shoal
