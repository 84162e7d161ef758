// SPDX-License-Identifier: Apache-2.0
#include "without_exceptions.h"

#include "fixture.h"

namespace shoal::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

TEST(WithoutExceptions, AProgramTrainsAndPredicts) {
  Place place;
  TaskReport report;
  EXPECT_THAT(train_without_exceptions(place.config(), place.folder / "exports", report), IsEmpty());
  EXPECT_EQ(report.global_step, 200u);
}

TEST(WithoutExceptions, EachCallGivesItsErrorAsAValue) {
  Place place;
  const auto about = [](const char* kind, const char* what) {
    return AllOf(StartsWith(std::string(kind) + ": "), HasSubstr(what));
  };
  EXPECT_THAT(
      fail_without_exceptions(place.config(), place.folder / "nowhere"),
      ElementsAre(about("TypeMismatch", "TF_CONFIG"), about("InvalidArgument", "save_checkpoints"),
                  about("InvalidArgument", "a model_fn is required"), about("InvalidArgument", "give it once, or the same"),
                  about("InvalidArgument", "steps or max_steps"),
                  about("TypeMismatch", "Estimator::train: an input function"),
                  about("InvalidArgument", "steps must be greater"), about("TypeMismatch", "Estimator::predict: an input"),
                  about("NotFound", "train first"), about("NotFound", "no checkpoint"), about("NotFound", "no checkpoint"),
                  about("NotFound", "nowhere"), about("TypeMismatch", "input"), about("NanLoss", "the loss is NaN")));
}

}  // namespace
}  // namespace shoal::testing
