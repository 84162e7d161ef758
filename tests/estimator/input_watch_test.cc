// SPDX-License-Identifier: Apache-2.0
// When training is reported to wait for its input.
#include "train/input_watch.h"

#include <gmock/gmock.h>

#include "shoal/base/virtual.h"
#include "shoal/data/dataset.h"

namespace shoal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class InputWatchOf : public ::testing::Test {
 protected:
  /// Trains in steps of 100 ms for `time`; each waited `waited` for its batch.
  void train(Duration time, Duration waited) {
    for (Duration gone{}; gone < time; gone += milliseconds(100)) {
      watch_.waited(waited);
      value_or_raise(env_.run(env_.sleep_until(env_.now() + milliseconds(100))));
      value_or_raise(watch_.stepped(++step_, *input_));
    }
  }
  VirtualWorld world_{7};
  std::vector<std::string> lines_;
  Environment& env_ = world_.add_task({.sink = [this](const LogRecord& line) { lines_.emplace_back(line.message); }});
  std::unique_ptr<data::Iterator> input_ = value_or_raise(data::Dataset::range(3).iterate(env_, {.measure = true}));
  InputWatch watch_{env_, {.cores = 2}};
  uint64_t step_ = 0;
};

TEST_F(InputWatchOf, WarnsOnceWhereAFifthOfTheTimeIsWaiting) {
  train(seconds(12), milliseconds(19));
  EXPECT_THAT(lines_, ElementsAre());
  train(seconds(30), milliseconds(40));
  EXPECT_THAT(lines_, ElementsAre(AllOf(HasSubstr("the input holds up the training: "), HasSubstr("of the last 10 s"))));
}

TEST_F(InputWatchOf, KnowsTheShareOfTheLastFullWindow) {
  train(seconds(9), milliseconds(50));
  EXPECT_EQ(watch_.share(), std::nullopt);
  train(seconds(2), milliseconds(50));
  ASSERT_TRUE(watch_.share());
  EXPECT_NEAR(*watch_.share(), 0.5, 0.02);
  // Threads that wait at the same time may together wait longer than the time that passes.
  train(seconds(22), milliseconds(250));
  EXPECT_EQ(watch_.share(), 1.0);
}

TEST_F(InputWatchOf, LooksAtTheEndOfAShortTraining) {
  train(seconds(3), milliseconds(50));
  EXPECT_THAT(lines_, ElementsAre());
  value_or_raise(watch_.stepped(step_, *input_, true));
  EXPECT_THAT(lines_, ElementsAre(AllOf(HasSubstr("50 %"), HasSubstr("of the last 3 s"))));
}

TEST_F(InputWatchOf, DoesNotCountWhatGoesByBeforeARestart) {
  train(seconds(9), milliseconds(90));
  watch_.restart();
  train(seconds(12), milliseconds(1));
  EXPECT_THAT(lines_, ElementsAre());
}

}  // namespace
}  // namespace shoal
