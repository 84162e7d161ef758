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

/// Passes that are broken off while their input has been read further: what the next pass gives must not depend on how far
/// that was. Without threads (inline), jobs read as far as they may at once.
TEST_P(AgainstModel, ThreadsChangeNothing) {
  const auto broken_off = [](const Dataset& dataset, uint64_t seed) {
    const int64_t count = 1 + int64_t(seed % 7);
    if (seed % 2 == 0) return dataset.take(count).repeat(3);
    const Dataset numbers = Dataset::range(count).map([](Element one) {
      return Element{{{"number", one.features.single()}}, {}};
    });
    return Dataset::zip({numbers, dataset.map([](Element one) {
                           return Element{{{"", one.features.single()}}, {}};
                         })})
        .repeat(3)
        .map([](const Element& both) {
          return Element{both.features[""], {}};
        });
  };
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    const RandomPipeline serial(seed, true, 4, false), pipeline(seed, true, 4);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + pipeline.text());
    const Dataset expected = broken_off(serial.dataset(), seed);
    const Dataset dataset = broken_off(pipeline.dataset().prefetch(1 + int64_t(seed % 5)), seed);
    const Outcome should = drain(*open(expected, env(), {.seed = 3}));
    const Outcome outcome = drain(*open(dataset, env(), {.seed = 3}));
    ASSERT_EQ(outcome.values, should.values);
    ASSERT_EQ(outcome.error.has_value(), should.error.has_value());
  }
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
