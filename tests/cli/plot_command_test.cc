// SPDX-License-Identifier: Apache-2.0
// The commands `shoal plot` and `shoal compare`, in process.
#include <cmath>
#include <filesystem>

#include "fixture.h"
#include "shoal/base/virtual.h"
#include "shoal/checkpoint/writer.h"
#include "shoal/monitor/event_writer.h"

namespace shoal::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Json;
using ::testing::Not;
using testing::Output;
using testing::shoal_program;

class PlotCommand : public testing::InFolder {
 protected:
  std::unique_ptr<monitor::EventWriter> writer_of(const std::string& run) {
    world.run_for(std::chrono::seconds(2));
    return value_or_raise(monitor::EventWriter::open(env, folder + "/" + run, {.host = "h"}));
  }
  /// Losses 1/step of training, and an evaluation at the last step.
  void write_run(const std::string& run, int64_t steps, double factor = 1) {
    const auto training = writer_of(run);
    value_or_raise(training->add_start(1));
    for (int64_t step = 1; step <= steps; ++step) {
      world.run_for(std::chrono::seconds(1));
      value_or_raise(training->add_scalar(step, "loss", factor / double(step)));
    }
    value_or_raise(training->close());
    const auto evaluation = writer_of(run + "/eval");
    const std::vector<monitor::Scalar> metrics{{"loss", factor / 4}, {"accuracy", 1 - factor / 4}};
    value_or_raise(evaluation->add_scalars(steps, metrics));
    value_or_raise(evaluation->close());
  }
  std::string path(const std::string& name) const { return folder + "/" + name; }

  VirtualWorld world{3};
  Environment& env = world.add_task();
};

TEST_F(PlotCommand, DrawsInATerminal) {
  write_run("a", 20);
  write_run("b", 20, 0.5);
  const std::string before = everything();
  const Output run = shoal_program({"plot", path("a"), path("b")});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.err, "");
  EXPECT_THAT(run.out, AllOf(HasSubstr("loss of training, by step"), HasSubstr("accuracy of evaluation (eval)"),
                             HasSubstr("a  a  0.05  best 0.05 at step 20"), HasSubstr("<- best"), Not(HasSubstr("\x1b"))));
  EXPECT_EQ(everything(), before);
}

TEST_F(PlotCommand, OfTwoEqualRunsNoneIsTheBest) {
  write_run("a", 20);
  write_run("b", 20);
  EXPECT_THAT(shoal_program({"plot", path("a"), path("b")}).out, Not(HasSubstr("<- best")));
}

TEST_F(PlotCommand, SaysThatALogarithmHidesValues) {
  const auto writer = writer_of("m");
  for (int64_t step = 0; step < 3; ++step) value_or_raise(writer->add_scalar(step, "loss", double(step)));
  value_or_raise(writer->close());
  EXPECT_THAT(shoal_program({"plot", path("m"), "--log-y"}).out, HasSubstr("Values that are not positive"));
  EXPECT_THAT(shoal_program({"plot", path("m")}).out, Not(HasSubstr("not positive")));
}

TEST_F(PlotCommand, LeavesOutWhatALaterStartMadeVoid) {
  {
    const auto first = writer_of("m");
    value_or_raise(first->add_start(1));
    for (int64_t step = 1; step <= 5; ++step) value_or_raise(first->add_scalar(step, "loss", step == 5 ? 777 : 1));
  }
  const auto second = writer_of("m");
  value_or_raise(second->add_start(4));
  value_or_raise(second->add_scalar(4, "loss", 2));
  value_or_raise(second->close());
  const Output run = shoal_program({"plot", path("m")});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("m  2  best 1 at step 1"), Not(HasSubstr("777")), Not(HasSubstr("700"))));
}

TEST_F(PlotCommand, SecondsHaveNoPauses) {
  write_run("m", 10);  // A value each second.
  world.run_for(std::chrono::hours(10));
  const auto second = writer_of("m");
  value_or_raise(second->add_start(11));
  world.run_for(std::chrono::seconds(5));
  value_or_raise(second->add_scalar(11, "loss", 0.01));
  value_or_raise(second->close());
  const Output run = shoal_program({"plot", path("m"), "--tag", "train/loss", "--x", "time", "-o", path("time.svg")});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(read("time.svg"), HasSubstr("data-x-high=\"15\""));
}

TEST_F(PlotCommand, ExamplesAreStepsTimesTheBatch) {
  write_run("m", 10);
  const Output unknown = shoal_program({"plot", path("m"), "--x", "examples"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.err, HasSubstr("give it by --examples-per-step"));
  write("m/report.json", R"({"loss": 1, "flags": {"batch": 32}})");
  EXPECT_EQ(shoal_program({"plot", path("m"), "--tag", "train/loss", "--x", "examples", "-o", path("x.svg")}).status, 0);
  EXPECT_THAT(read("x.svg"), AllOf(HasSubstr("data-x-low=\"32\""), HasSubstr("data-x-high=\"320\"")));
}

TEST_F(PlotCommand, DrawsWhatCameBeforeDamage) {
  write_run("m", 10);
  const auto second = writer_of("m");
  value_or_raise(second->close());
  write("m" + second->path().substr(path("m").size()), std::string(40, 'x'));
  const Output run = shoal_program({"plot", path("m")});
  EXPECT_EQ(run.status, 4);
  EXPECT_THAT(run.err, HasSubstr("is damaged"));
  EXPECT_THAT(run.out, HasSubstr("0.1  best 0.1 at step 10"));
}

TEST_F(PlotCommand, AFolderMayFollowATag) {
  write_run("a", 3);
  write_run("b", 3);
  const Output run = shoal_program({"plot", path("a"), "--tag", "loss", "--tag", "eval/acc*", path("b")});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("b  b  "), HasSubstr("accuracy")));
}

TEST_F(PlotCommand, SaysWhatIsThereWhereNothingFits) {
  write_run("m", 3);
  const Output run = shoal_program({"plot", path("m"), "--tag", "nothing*"});
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.err, AllOf(HasSubstr("--tag nothing*"), HasSubstr("there are: loss, eval/accuracy, eval/loss")));
  write("empty/note", "");
  EXPECT_THAT(shoal_program({"plot", path("empty")}).err, HasSubstr("no event files"));
  for (const char* kind : {"histograms", "confusion", "roc", "pr"}) {
    EXPECT_EQ(shoal_program({"plot", path("m"), "--kind", kind}).status, 2) << kind;
  }
  EXPECT_EQ(shoal_program({"plot", path("missing")}).status, 2);
}

TEST_F(PlotCommand, ReplacesPicturesOfItsOwnAlone) {
  write_run("m", 3);
  write("other.svg", "<svg/>");
  const Output refused = shoal_program({"plot", path("m"), "-o", path("other.svg")});
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("no picture of shoal plot"));
  EXPECT_EQ(read("other.svg"), "<svg/>");
  EXPECT_EQ(shoal_program({"plot", path("m"), "-o", path("own.svg")}).status, 0);
  EXPECT_EQ(shoal_program({"plot", path("m"), "-o", path("own.svg"), "--title", "A <b> title"}).status, 0);
  EXPECT_THAT(read("own.svg"), HasSubstr("A &lt;b&gt; title"));
  EXPECT_EQ(shoal_program({"plot", path("m"), "-o", path("own.png")}).status, 2);
  EXPECT_EQ(shoal_program({"plot", path("m"), "-o", path("nowhere/own.svg")}).status, 2);
  EXPECT_THAT(shoal_program({"plot", path("m"), "-o", "-"}).out, HasSubstr("</svg>"));
}

TEST_F(PlotCommand, RefusesOptionsThatDoNotFit) {
  write_run("m", 3);
  EXPECT_EQ(shoal_program({"plot", path("m"), "--follow"}).status, 2);
  EXPECT_EQ(shoal_program({"plot", path("m"), "--follow", "-o", path("x.svg")}).status, 2);
  EXPECT_EQ(shoal_program({"plot", path("m"), "--smooth", "1"}).status, 2);
  EXPECT_EQ(shoal_program({"plot", path("m"), "--width", "3"}).status, 2);
  EXPECT_EQ(shoal_program({"plot", path("m"), "--height", "1"}).status, 2);
  EXPECT_EQ(shoal_program({"plot", path("m"), "-o", path("x.svg"), "--width", "100"}).status, 2);
  EXPECT_EQ(shoal_program({"plot", path("m"), "--x", "moon"}).status, 2);
  EXPECT_EQ(shoal_program({"plot"}).status, 2);
}

TEST_F(PlotCommand, DrawsConfusionOfScalars) {
  const auto writer = writer_of("m/eval");
  value_or_raise(
      writer->add_scalars(7, std::vector<monitor::Scalar>{
                                 {"confusion/0/0", 8}, {"confusion/0/1", 2}, {"confusion/1/0", 0}, {"confusion/1/1", 5}}));
  value_or_raise(writer->close());
  const Output run = shoal_program({"plot", path("m"), "--kind", "confusion"});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("eval/confusion, step 7"), HasSubstr("13 of 15 are right (86.67%)")));
}

TEST_F(PlotCommand, DrawsHistograms) {
  const auto writer = writer_of("m");
  for (int64_t step = 0; step < 5; ++step) {
    value_or_raise(
        writer->add_histogram(step, "kernel", monitor::make_histogram(std::vector<float>{-1, 0.5f, float(step)})));
  }
  value_or_raise(writer->close());
  const Output run = shoal_program({"plot", path("m"), "--kind", "histograms"});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("kernel"), HasSubstr("█")));
}

TEST_F(PlotCommand, NoValueIsFinite) {
  const auto writer = writer_of("m");
  value_or_raise(writer->add_scalar(1, "loss", NAN));
  value_or_raise(writer->close());
  for (const char* scale : {"--log-y", "--smooth=0.5"}) {
    const Output run = shoal_program({"plot", path("m"), scale});
    EXPECT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.out, HasSubstr("1 of 1 values are no finite numbers, the first at step 1"));
  }
}

class CompareCommand : public PlotCommand {};

TEST_F(CompareCommand, TellsParametersMetricsAndWhereCurvesPart) {
  write_run("a", 20);
  write_run("b", 10, 0.5);
  write("a/report.json", R"({"flags": {"batch": 64, "rate": 0.1}, "seed": 1, "version": "1"})");
  write("b/report.json", R"({"flags": {"batch": 16, "rate": 0.1}, "seed": 2, "version": "1"})");
  const Output run = shoal_program({"compare", path("a"), path("b"), "--json"});
  ASSERT_EQ(run.status, 0) << run.err;
  const Json json = run.json();
  EXPECT_EQ(json["differences"], (Json{{"flags.batch", {{"a", 64}, {"b", 16}}}, {"seed", {{"a", 1}, {"b", 2}}}}));
  EXPECT_EQ(json["evaluations"]["eval/accuracy"]["last"]["better"], "b");
  EXPECT_DOUBLE_EQ(json["evaluations"]["eval/loss"]["best"]["difference"].get<double>(), -0.125);
  EXPECT_EQ(json["curves"]["loss"]["first_difference"], (Json{{"step", 1}, {"a", 1.0}, {"b", 0.5}}));
  EXPECT_EQ(json["curves"]["loss"]["compared"], 10);
  EXPECT_EQ(json["curves"]["loss"]["a"]["last_step"], 20);
  const Output text = shoal_program({"compare", path("a"), path("b")});
  EXPECT_EQ(text.status, 0);
  EXPECT_THAT(text.out, AllOf(HasSubstr("\nb is better: its best eval/loss is 0."), HasSubstr("flags.batch  64  16"),
                              HasSubstr("differs from step 1 (1, 0.5) on"), Not(HasSubstr("flags.rate"))));
}

TEST_F(CompareCommand, OfARunWithItselfFindsNothing) {
  write_run("a", 5);
  const Output run = shoal_program({"compare", path("a"), path("a")});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("the same at all 5 steps"), HasSubstr("The best eval/loss of both is 0.25.")));
}

TEST_F(CompareCommand, TellsAMillionthFromMore) {
  for (const char* run : {"a", "b"}) {
    const auto writer = writer_of(run);
    const bool b = *run == 'b';
    value_or_raise(writer->add_scalar(1, "loss", 1));
    value_or_raise(writer->add_scalar(2, "loss", b ? 1.0000002 : 1));
    value_or_raise(writer->add_scalar(3, "loss", b ? 1.1 : 1));
    value_or_raise(writer->close());
  }
  const Json curve = shoal_program({"compare", path("a"), path("b"), "--json"}).json()["curves"]["loss"];
  EXPECT_EQ(curve["first_difference"]["step"], 2);
  EXPECT_EQ(curve["first_difference_over_1e-6"]["step"], 3);
  EXPECT_THAT(
      shoal_program({"compare", path("a"), path("b")}).out,
      HasSubstr("loss: differs from step 2 (1, 1.00000024) on, the same to step 1, by more than a millionth from step 3"));
}

TEST_F(CompareCommand, OfADamagedNewestCheckpointTakesTheOneBefore) {
  const auto storage = make_file_storage();
  const auto save = [&](const std::string& run, int64_t step, const std::string& fingerprint) {
    auto writer = value_or_raise(checkpoint::Writer::begin(*storage, path(run), step));
    const Tensor weights = Tensor::of<float>({2}, {1, 2});
    value_or_raise(writer->add_tensors(std::vector<checkpoint::Writer::NamedTensor>{{"w", weights.view()}}));
    value_or_raise(writer->commit({.numerics = "reference", .fingerprint = fingerprint}, {}));
  };
  for (const char* run : {"a", "b"}) {
    write_run(run, 5);
    save(run, 3, std::string("old of ") + run);
    save(run, 5, std::string("new of ") + run);
  }
  const auto fingerprint_of_b = [&](int status) {
    const Output run = shoal_program({"compare", path("a"), path("b"), "--json"});
    EXPECT_EQ(run.status, status) << run.err;
    return run.json()["differences"]["fingerprint"]["b"];
  };
  EXPECT_EQ(fingerprint_of_b(0), "new of b");
  const std::string index = read("b/model.ckpt-5.index"), list = read("b/checkpoint");
  std::string flipped = index;
  flipped[flipped.size() / 2] ^= 1;
  const std::string says = "checkpoint model.ckpt-3 is compared, since it is the newest one that is intact";
  for (const std::string& damaged : {flipped, index.substr(0, index.size() / 2), std::string()}) {
    write("b/model.ckpt-5.index", damaged);
    EXPECT_EQ(fingerprint_of_b(0), "old of b");
    const Output run = shoal_program({"compare", path("a"), path("b")});
    EXPECT_THAT(run.err, AllOf(HasSubstr("checkpoint model.ckpt-5 is passed over"), HasSubstr(says)));
    EXPECT_THAT(run.out, AllOf(HasSubstr("newest_checkpoint  5         3"), HasSubstr("the same at all 5 steps")));
  }
  std::filesystem::remove(path("b/model.ckpt-5.index"));
  EXPECT_EQ(fingerprint_of_b(0), "old of b");
  write("b/model.ckpt-5.index", index);
  write("b/checkpoint", "rubbish");
  EXPECT_EQ(fingerprint_of_b(0), "new of b");
  EXPECT_THAT(shoal_program({"compare", path("a"), path("b")}).err,
              AllOf(HasSubstr("b/checkpoint"), HasSubstr("checkpoint model.ckpt-5 is compared")));
  write("b/checkpoint", list);
  for (const char* step : {"3", "5"}) write(std::string("b/model.ckpt-") + step + ".index", flipped);
  EXPECT_EQ(fingerprint_of_b(4), nullptr);
  EXPECT_THAT(shoal_program({"compare", path("a"), path("b")}).err, HasSubstr("none of them is intact"));
  // Whoever copied the events without the checkpoints compares the events.
  for (const char* step : {"3", "5"}) std::filesystem::remove(path("b/model.ckpt-") + step + ".index");
  EXPECT_EQ(fingerprint_of_b(0), nullptr);
  EXPECT_THAT(shoal_program({"compare", path("a"), path("b")}).err, HasSubstr("model.ckpt-5"));
}

TEST_F(CompareCommand, RefusesFoldersThatAreNoRuns) {
  write_run("a", 5);
  write("empty/note", "");
  EXPECT_EQ(shoal_program({"compare", path("a"), path("empty")}).status, 2);
  EXPECT_EQ(shoal_program({"compare", path("a"), path("missing")}).status, 2);
  EXPECT_EQ(shoal_program({"compare", path("a")}).status, 2);
  write("a/report.json", "{");
  const Output run = shoal_program({"compare", path("a"), path("a")});
  EXPECT_EQ(run.status, 4);
  EXPECT_THAT(run.err, HasSubstr("report.json"));
}

}  // namespace
}  // namespace shoal::cli
