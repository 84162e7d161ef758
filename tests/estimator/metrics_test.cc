// SPDX-License-Identifier: Apache-2.0
// Metrics: counts are whole numbers, also beyond the whole numbers of float32.
#include "shoal/estimator/metrics.h"

#include "fixture.h"
#include "shoal/estimator/run.h"
#include "shoal/nn/metrics.h"

namespace shoal::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// One above the range in which float32 has all whole numbers.
constexpr int64_t kBeyondFloat = (int64_t(1) << 24) + 1;

/// Predicts the label as the class; the feature is the weight of the example. Examples without a class go to other cells.
EstimatorSpec telling_model(const Features& features, const Labels& labels, Mode mode) {
  EstimatorSpec spec;
  spec.mode = mode;
  spec.loss = ops::reduce_mean(features.single() * 0.0);
  if (mode == Mode::kTrain) spec.train_op = nn::train_op({});
  if (mode == Mode::kEval) {
    spec.eval_metrics = nn::confusion_matrix({.labels = labels.single(), .predictions = labels.single()},
                                             {.classes = 2, .weights = features.single()});
    spec.eval_metrics.emplace_back("weight", nn::mean(features.single()));
  }
  return spec;
}
/// Class 0 once with the weight 0.5, class 1 with the weight kBeyondFloat.
Dataset counted() {
  return Dataset::from_tensor_slices(Tensor::of<float>({3}, {0.5f, float(kBeyondFloat - 1), 1}),
                                     Tensor::of<int64_t>({3}, {0, 1, 1}))
      .batch(2);
}

TEST(Metrics, OfAnEvaluationHaveExactCounts) {
  Place place;
  const Estimator estimator = place.estimator(telling_model);
  const Metrics metrics = estimator.evaluate(counted);
  EXPECT_EQ(metrics.integer("confusion/1/1"), kBeyondFloat);
  EXPECT_EQ(metrics.count_of("confusion/1/1"), kBeyondFloat);
  EXPECT_EQ(metrics.count_of("confusion/1/0"), 0);
  EXPECT_EQ(metrics.count_of("confusion/0/0"), std::nullopt) << "half an example is no count";
  EXPECT_EQ(metrics.at("confusion/0/0"), 0.5);
  EXPECT_EQ(metrics.count_of("global_step"), 0);
  EXPECT_EQ(metrics.integer("loss"), 0);
  EXPECT_EQ(metrics.count_of("loss"), std::nullopt) << "a whole number by chance";
  EXPECT_EQ(place.log.count('I', "confusion/1/1 = 16777217, "), 1);
  // Events still hold float32.
  EXPECT_EQ(scalars(estimator.eval_dir(), "confusion/1/1"), (Scalars{{0, double(kBeyondFloat - 1)}}));
}

TEST(Metrics, RefuseWhatIsNoWholeNumber) {
  const double limit = double(int64_t(1) << 53);
  const Metrics metrics{{"half", 0.5}, {"most", -limit}, {"too much", 2 * limit}, {"nan", std::nan("")}};
  EXPECT_EQ(metrics.integer("most"), -(int64_t(1) << 53));
  EXPECT_THAT(refusal([&] { (void)metrics.integer("half"); }, ErrorKind::kFailedPrecondition), HasSubstr("half is 0.5"));
  EXPECT_THAT(refusal([&] { (void)metrics.integer("too much"); }, ErrorKind::kFailedPrecondition), HasSubstr("2^53"));
  EXPECT_THAT(refusal([&] { (void)metrics.integer("nan"); }, ErrorKind::kFailedPrecondition), HasSubstr("nan"));
  EXPECT_THAT(refusal([&] { (void)metrics.integer("most of it"); }, ErrorKind::kNotFound),
              HasSubstr("there is no most of it among half, most, nan, too much"));
}

TEST(Metrics, NameThoseThatThereAreForOneThatThereIsNot) {
  const Metrics metrics{{"accuracy", 0.5}, {"loss", 1.0}};
  EXPECT_EQ(metrics.at("accuracy"), 0.5);
  EXPECT_THAT(refusal([&] { (void)metrics.at("acuracy"); }, ErrorKind::kNotFound),
              HasSubstr("metrics: there is no acuracy among accuracy, loss; did you mean accuracy?"));
  EXPECT_THAT(refusal([&] { (void)Metrics().at("loss"); }, ErrorKind::kNotFound), HasSubstr("among none"));
}

/// The output of a program that trains and evaluates the model.
std::string printed(std::vector<const char*> flags) {
  Place place;
  const std::string model_dir = place.model_dir();
  std::vector<const char*> argv{"program", "--backend", "reference", "--model-dir", model_dir.c_str()};
  argv.insert(argv.end(), flags.begin(), flags.end());
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  const int status = run(int(argv.size()), argv.data(), [](RunConfig config) {
    Estimator estimator(telling_model, std::move(config));
    train_and_evaluate(estimator, {.input_fn = counted().repeat(), .max_steps = 3}, {.input_fn = counted()});
  });
  const std::string out = ::testing::internal::GetCapturedStdout();
  const std::string err = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(status, 0) << err;
  return out;
}

TEST(Metrics, AreWholeNumbersWhereAProgramPrintsThem) {
  EXPECT_THAT(printed({"--json", "--quiet"}),
              AllOf(HasSubstr("\"confusion/0/0\":0.5,"), HasSubstr("\"confusion/0/1\":0,"),
                    HasSubstr("\"confusion/1/1\":16777217,"), HasSubstr("\"global_step\":3,"), HasSubstr("\"loss\":0.0,")));
  EXPECT_THAT(printed({}), AllOf(HasSubstr("Evaluated at global step 3: "), HasSubstr("confusion/1/1 16777217, ")));
}

}  // namespace
}  // namespace shoal::testing
