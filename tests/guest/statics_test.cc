// SPDX-License-Identifier: Apache-2.0
// Variables of a program that train before main() begins, or hold models until its very end, whichever is made or destroyed first.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "../base/temporary_folder.h"
#include "calls.h"
#include "child.h"

namespace shoal::testing {
namespace {

constexpr const char* kFolder = "SHOAL_TEST_STATICS_FOLDER";

/// What a program keeps. Its own destructor still predicts, evaluates and trains.
struct KeptToTheEnd {
  std::unique_ptr<Estimator> estimator;
  std::unique_ptr<Predictions> predictions;
  std::unique_ptr<ExportedModel> model;
  ~KeptToTheEnd() {
    if (!model) return;
    if (model->predict({{"x", Tensor::zeros(DType::kFloat32, {512, 2})}}).empty()) std::_Exit(3);
    if (!predictions->next()) std::_Exit(4);
    const double before = estimator->evaluate(guest_data().batch(kBatch)).at("global_step");
    estimator->train(guest_data().repeat().batch(kBatch), {.steps = 2});
    if (estimator->evaluate(guest_data().batch(kBatch)).at("global_step") != before + 2) std::_Exit(5);
  }
};

/// Trains and exports a model as it is made.
struct TrainsBeforeMain {
  TrainsBeforeMain() {
    if (const char* const folder = std::getenv(kFolder)) prepare(folder);
  }
};

KeptToTheEnd made_before_main;  // It is destroyed after everything that Shoal makes while the program runs.
TrainsBeforeMain trains_before_main;

void fill(KeptToTheEnd& kept, const std::string& folder) {
  kept.estimator = std::make_unique<Estimator>(guest_model, guest_config(folder + "/model", 4));
  kept.predictions = kept.estimator->predict(guest_data().repeat().batch(kBatch).prefetch(4));
  kept.predictions->next();
  kept.model = load_exported_model(folder + "/export", {.threads = 4});
}

TEST(Statics, HoldModelsUntilTheVeryEnd) {
  if (const char* const folder = std::getenv(kFolder)) {
    static KeptToTheEnd made_early;
    fill(made_before_main, folder);
    static KeptToTheEnd made_late;
    fill(made_early, folder);
    fill(made_late, folder);
    std::exit(kOwn);
  }
  const TemporaryFolder folder;
  const std::string variable = std::string(kFolder) + "=" + folder.path();
  EXPECT_EQ(status_of_child([&] {  // A program of its own, in which no test has made anything before.
              const char* const words[] = {"guest_tests", "--gtest_filter=Statics.HoldModelsUntilTheVeryEnd", nullptr};
              const char* const variables[] = {variable.c_str(), nullptr};
              execve("/proc/self/exe", const_cast<char* const*>(words), const_cast<char* const*>(variables));
              return 98;
            }),
            kOwn);
}

}  // namespace
}  // namespace shoal::testing
