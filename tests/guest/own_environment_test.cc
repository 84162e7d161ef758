// SPDX-License-Identifier: Apache-2.0
// An environment of the host's own: made of the production one, with another clock, other randomness and other files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calls.h"

namespace shoal::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

/// Days and random numbers are the host's.
class HostEnvironment final : public ForwardingEnvironment {
 public:
  using ForwardingEnvironment::ForwardingEnvironment;
  WallTime wall_now() const override { return WallTime(std::chrono::seconds(2'000'000'000)); }
  uint64_t entropy() override { return ++numbers_; }
  uint64_t numbers() const { return numbers_; }

 private:
  std::atomic<uint64_t> numbers_ = 0;
};

struct Host {
  std::vector<std::string> lines;
  std::shared_ptr<Storage> storage = make_memory_storage();
  StopSource stop;
  std::shared_ptr<HostEnvironment> environment = std::make_shared<HostEnvironment>(
      make_production_environment({.sink = [this](const LogRecord& record) { lines.emplace_back(record.message); },
                                   .storage = storage,
                                   .stop = stop.token()}));

  RunConfig config() const {
    return RunConfig({.model_dir = "m", .save_checkpoints_steps = 2, .environment = environment});
  }
};

TEST(OwnEnvironment, IsWhereEverythingRuns) {
  Host host;
  Estimator estimator(guest_model, host.config());
  train_and_evaluate(estimator, {.input_fn = guest_data().repeat().batch(kBatch), .max_steps = 4},
                     {.input_fn = guest_data().batch(kBatch), .throttle_secs = 0});
  estimator.evaluate(guest_data().batch(kBatch));
  EXPECT_TRUE(estimator.predict(guest_data().batch(kBatch))->next().has_value());
  EXPECT_EQ(estimator.export_model("exports", guest_data().batch(4)), "exports/2000000000");  // By the host's clock.
  EXPECT_GT(host.environment->numbers(), 0u);
  EXPECT_THAT(host.lines, Contains(HasSubstr("training finished at global step 4")));
  EXPECT_TRUE(host.storage->exists("m/checkpoint"));
  EXPECT_EQ(host.config().environment(), host.environment);
}

TEST(OwnEnvironment, GivesTheSameRunTwice) {
  const auto weights = [] {
    Host host;
    Estimator estimator(guest_model, host.config());
    estimator.train(guest_data().shuffle(64).repeat().batch(16), {.max_steps = 4});  // No seed is given.
    const Tensor value = estimator.variable_value("dense/kernel");
    return std::vector<float>(value.as<float>().begin(), value.as<float>().end());
  };
  EXPECT_EQ(weights(), weights());
}

TEST(OwnEnvironment, StopsByItsOwnStop) {
  Host host;
  Estimator estimator(guest_model, host.config());
  int64_t made = 0;
  estimator.train(guest_data()
                      .repeat()
                      .map([&](data::Element element) {
                        if (++made == 100) host.stop.request_stop();
                        return element;
                      })
                      .batch(16));
  EXPECT_LE(made, 128);
  EXPECT_EQ(estimator.try_evaluate(guest_data().batch(16)).error().kind(), ErrorKind::kCancelled);
}

TEST(OwnEnvironment, LeavesNoRoomForWhatItHasItself) {
  Host host;
  const auto refusal = [](RunConfigOptions options) {
    const auto config = call_user("config", [&] { RunConfig made(std::move(options)); });
    return config ? "" : config.error().message();
  };
  EXPECT_THAT(refusal({.log_sink = [](const LogRecord&) {}, .environment = host.environment}), HasSubstr("of its own"));
  EXPECT_THAT(refusal({.storage = host.storage, .environment = host.environment}), HasSubstr("of its own"));
  EXPECT_THAT(refusal({.stop = host.stop.token(), .environment = host.environment}), HasSubstr("of its own"));
  const auto clustered = call_user("cluster", [&] {
    run_cluster({.ps = 1, .workers = 1}, [](RunConfig) {}, {.config = {.environment = host.environment}});
  });
  ASSERT_FALSE(clustered);
  EXPECT_THAT(clustered.error().message(), HasSubstr("which need an environment each"));
}

TEST(OwnEnvironment, IsReplacedAsOtherFieldsAre) {
  Host host;
  const RunConfig config = host.config();
  const RunConfig plain = config.replace({.environment = std::nullopt});
  EXPECT_EQ(plain.own_environment(), nullptr);
  EXPECT_EQ(plain.replace({.storage = host.storage}).storage(), host.storage);
  EXPECT_TRUE(plain.replace({.stop = host.stop.token()}).stop().stop_possible());
  EXPECT_EQ(plain.replace({.storage = host.storage}).environment()->storage().unique_name().substr(0, 7), "memory-");
}

}  // namespace
}  // namespace shoal::testing
