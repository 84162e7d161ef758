// SPDX-License-Identifier: Apache-2.0
// Each transform and their combinations against a naive model, on random inputs.
//
// SHOAL_TEST_PIPELINES is the number of pipelines that are compared with the model (3000), and SHOAL_TEST_PIPELINES_FROM the
// seed of the first (0).
#include "random_pipeline.h"

namespace shoal::data {
namespace {

class AgainstModel : public BothEnvironments {};
SHOAL_IN_BOTH_ENVIRONMENTS(AgainstModel);

TEST_P(AgainstModel, YieldsWhatTheModelYields) {
  const uint64_t first = number_of("SHOAL_TEST_PIPELINES_FROM", 0), count = number_of("SHOAL_TEST_PIPELINES", 3000);
  uint64_t failing = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const RandomPipeline pipeline(seed, false);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + pipeline.text());
    if (pipeline.model().may_hide_failure) continue;
    const Outcome outcome = drain(*open(pipeline.dataset(), env()));
    EXPECT_EQ(outcome.values, pipeline.model().values);
    EXPECT_EQ(outcome.error.has_value(), pipeline.model().fails) << (outcome.error ? outcome.error->message() : "");
    if (outcome.error) {
      EXPECT_EQ(outcome.error->kind(), ErrorKind::kInvalidArgument);
    }
    failing += outcome.error.has_value();
    if (HasFailure()) return;
  }
  EXPECT_GT(failing, count / 150);  // The failing pipelines are looked at, too.
}

TEST_P(AgainstModel, CardinalityIsWhatIsYieldedWhereItIsKnown) {
  int known = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    const RandomPipeline pipeline(seed, true);
    const std::optional<int64_t> cardinality = pipeline.dataset().cardinality();
    const Outcome outcome = drain(*open(pipeline.dataset(), env()));
    EXPECT_NE(pipeline.dataset().is_finite(), false);
    if (!cardinality || outcome.error) continue;
    ++known;
    EXPECT_EQ(int64_t(outcome.values.size()), *cardinality) << "seed " << seed << ": " << pipeline.text();
  }
  EXPECT_GT(known, 200);
}

TEST_P(AgainstModel, SkippingIsTheSameAsTaking) {
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    const RandomPipeline pipeline(seed, true);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + pipeline.text());
    const Outcome whole = drain(*open(pipeline.dataset(), env(), {.seed = 3}));
    if (whole.error) continue;  // What is passed over is not looked at, so errors may go unseen.
    const std::unique_ptr<Iterator> iterator = open(pipeline.dataset(), env(), {.seed = 3});
    Element element;
    size_t at = 0;
    for (size_t step = seed % 5; at < whole.values.size(); step = (step + 2) % 5) {
      const Result<int64_t> skipped = iterator->skip(int64_t(step));
      ASSERT_TRUE(skipped) << skipped.error().message();
      ASSERT_EQ(size_t(*skipped), std::min(step, whole.values.size() - at));
      at += size_t(*skipped);
      ASSERT_EQ(iterator->ordinal(), at);
      const Result<bool> more = iterator->next(element);
      ASSERT_TRUE(more) << more.error().message();
      ASSERT_EQ(*more, at < whole.values.size());
      if (*more) {
        ASSERT_EQ(value_of(element), whole.values[at++]);
      }
    }
  }
}

}  // namespace
}  // namespace shoal::data
