// fork() in a program that uses Shoal: the child ends with its own status, and may train.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "../base/temporary_folder.h"
#include "calls.h"

namespace shoal::testing {
namespace {

using namespace std::chrono_literals;

constexpr int kOwn = 17;

/// The status of a child that does `work` and exits, with everything that a process does as it exits; -1 where a signal ended
/// it, -2 where it did not end.
int status_of_child(const std::function<int()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    int status = 99;
    try {
      status = work();
    } catch (const std::exception& error) {
      fprintf(stderr, "in the child: %s\n", error.what());
    }
    std::exit(status);  // NOLINT: the destructors of statics are what is tested.
  }
  for (const auto end = std::chrono::steady_clock::now() + 60s; std::chrono::steady_clock::now() < end;) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    std::this_thread::sleep_for(2ms);  // There is no event of a child's end that has a deadline.
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return -2;
}

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
