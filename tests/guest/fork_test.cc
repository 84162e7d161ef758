// SPDX-License-Identifier: Apache-2.0
// fork() in a program that uses Shoal: the child ends with its own status, and may train.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <semaphore>

#include "../base/temporary_folder.h"
#include "calls.h"
#include "child.h"

namespace shoal::testing {
namespace {

struct Fork : ::testing::Test {
  void SetUp() override { prepare(folder_ / "0"); }
  std::string folder() const { return folder_ / "0"; }
  TemporaryFolder folder_;
};

TEST_F(Fork, AChildEndsWithItsOwnStatusAfterEachCall) {
  for (const Call& call : all_calls()) {
    if (call.throws) continue;
    call.make(folder(), 4);
    EXPECT_EQ(status_of_child([] { return kOwn; }), kOwn) << call.name;
  }
}

TEST_F(Fork, AChildMayMakeEachCall) {
  for (const Call& call : all_calls()) {
    if (!call.throws) call.make(folder(), 4);
  }
  for (const Call& call : all_calls()) {
    if (call.throws) continue;
    EXPECT_EQ(status_of_child([&] {
                call.make(folder(), 4);
                return kOwn;
              }),
              kOwn)
        << call.name;
  }
}

TEST_F(Fork, AChildMayTakeAModelAlong) {
  const auto model = load_exported_model(folder() + "/export", {.threads = 4});
  const auto predict = [&model] {
    const auto results = model->predict({{"x", Tensor::zeros(DType::kFloat32, {512, 2})}});
    const auto logits = results["logits"].as<float>();
    return std::vector<float>(logits.begin(), logits.end());
  };
  const std::vector<float> expected = predict();
  EXPECT_EQ(status_of_child([&] { return predict() == expected ? kOwn : 1; }), kOwn);
  EXPECT_EQ(predict(), expected);
}

/// What a program keeps until its very end.
struct Kept {
  std::unique_ptr<Estimator> estimator;
  std::unique_ptr<Predictions> predictions;
  std::unique_ptr<ExportedModel> model;
};

TEST_F(Fork, AChildEndsWithStaticsThatHoldModels) {
  static Kept kept;
  kept.estimator = std::make_unique<Estimator>(guest_model, guest_config(folder() + "/model", 4));
  kept.predictions = kept.estimator->predict(guest_data().repeat().batch(kBatch).prefetch(4));
  kept.predictions->next();
  kept.model = load_exported_model(folder() + "/export", {.threads = 4});
  kept.model->predict({{"x", Tensor::zeros(DType::kFloat32, {512, 2})}});
  EXPECT_EQ(status_of_child([] { return kOwn; }), kOwn);
  EXPECT_TRUE(kept.predictions->next());
  kept = {};
}

TEST_F(Fork, AChildDropsInputThatAThreadWasMaking) {
  std::binary_semaphore begun{0}, may_go_on{0};
  std::atomic<int> made{0};
  const data::Dataset rows = guest_data().map([&](data::Element element) {
    if (++made == 2) {  // The first element is made by the consumer, the second one by a thread of the stage.
      begun.release();
      may_go_on.acquire();
    }
    return element;
  });
  std::unique_ptr<data::Iterator> iterator = value_or_raise(rows.prefetch(1).iterate());
  data::Batch batch;
  EXPECT_TRUE(value_or_raise(iterator->next(batch)));
  begun.acquire();
  EXPECT_EQ(status_of_child([&] {
              iterator.reset();
              return kOwn;
            }),
            kOwn);
  may_go_on.release();
  EXPECT_TRUE(value_or_raise(iterator->next(batch)));
}

TEST_F(Fork, AChildOfAChildTrains) {
  EXPECT_EQ(status_of_child([&] {
              all_calls().front().make(folder(), 4);
              return status_of_child([&] {
                all_calls().front().make(folder(), 4);
                return kOwn;
              });
            }),
            kOwn);
}

}  // namespace
}  // namespace shoal::testing
