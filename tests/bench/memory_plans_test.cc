// SPDX-License-Identifier: Apache-2.0
/// The memory plans of training steps of the models that Shoal is measured with: within 15% of what no plan can undercut,
/// the largest sum of activations and workspaces that are alive at the same time.
#include <gmock/gmock.h>

#include "models.h"
#include "shoal/backends/backend.h"

namespace shoal::bench {
namespace {

class MemoryPlans : public ::testing::TestWithParam<std::string> {};

TEST_P(MemoryPlans, AreNearTheirLowerBound) {
  const Model model = build(find_model(GetParam()));
  for (const std::string& name : {std::string("reference"), backends::default_backend()}) {
    const auto backend = value_or_raise(backends::make_backend(name));
    for (int64_t batch : {1, 32}) {
      const auto program = value_or_raise(backend->compile(*model.graph, step_of(model, batch, 1)));
      const double bound = double(program->info().lower_bound_bytes);
      ASSERT_GT(bound, 0);
      EXPECT_LE(double(program->info().arena_bytes), 1.15 * bound) << "backend " << name << ", batch " << batch;
    }
  }
}

std::vector<std::string> names() {
  std::vector<std::string> names;
  for (const ModelEntry& entry : models()) names.emplace_back(entry.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Models, MemoryPlans, ::testing::ValuesIn(names()), [](const auto& of) { return of.param; });

}  // namespace
}  // namespace shoal::bench
