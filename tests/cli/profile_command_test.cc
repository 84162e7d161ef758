#include "fixture.h"
#include "shoal/estimator/estimator.h"
#include "shoal/graph/ops.h"
#include "shoal/nn/dense.h"

namespace shoal::cli {
namespace {

using ::testing::HasSubstr;
using testing::Output;
using testing::shoal_program;

/// Doubles; nothing to learn.
EstimatorSpec model(const Features& features, const Labels&, Mode mode, const Params&, const RunConfig&) {
  EstimatorSpec spec;
  spec.mode = mode;
  const Value y = nn::dense(features.single(), {.units = 2, .name = "twice"});
  spec.predictions = {{"y", y}};
  spec.loss = ops::reduce_mean(y);
  if (mode == Mode::kTrain) spec.train_op = nn::train_op({});
  return spec;
}

struct ProfileCommand : testing::InFolder {
  std::string exported() {
    const auto input = [] { return data::Dataset::from_tensor_slices(Tensor::zeros(DType::kFloat32, {4, 3})).batch(2); };
    RunConfigOptions options;
    options.model_dir = folder + "/m";
    Estimator estimator(model, RunConfig(options));
    estimator.train(input, {.steps = 1});
    return estimator.export_model(folder + "/exports", input);
  }
};

TEST_F(ProfileCommand, PrintsJsonOrATable) {
  const std::string path = exported();
  const std::string before = everything();
  const Output json =
      shoal_program({"profile", path, "--batch", "5", "--runs", "3", "--backend", "reference", "--threads", "1"});
  ASSERT_EQ(json.status, 0) << json.err;
  EXPECT_EQ(json.json()["runs"], 3);
  EXPECT_EQ(json.json()["kernels"][0]["node"], "twice/dense");
  EXPECT_EQ(json.json()["kernels"][0]["flops"], 2.0 * 5 * 3 * 2);
  const Output table = shoal_program({"profile", path, "--runs", "3", "--backend", "reference", "--table"});
  EXPECT_EQ(table.status, 0);
  EXPECT_THAT(table.out, HasSubstr("per run (median of 3)"));
  EXPECT_THAT(table.out, HasSubstr("twice"));
  EXPECT_EQ(everything(), before);
}

TEST_F(ProfileCommand, SaysWhatIsWrong) {
  const Output missing = shoal_program({"profile", folder + "/none"});
  EXPECT_NE(missing.status, 0);
  EXPECT_THAT(missing.err, HasSubstr(folder + "/none"));
  EXPECT_EQ(shoal_program({"profile"}).status, 2);
  EXPECT_EQ(shoal_program({"profile", folder, "--runs", "0"}).status, 2);
}

}  // namespace
}  // namespace shoal::cli
