// SPDX-License-Identifier: Apache-2.0
// A process whose standard descriptors are closed, all of them or some: what it prints goes into no file of ours.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "../base/temporary_folder.h"
#include "calls.h"
#include "child.h"

namespace shoal::testing {
namespace {

const std::string kPrinted = "printed by the program";

void print() {
  for (int number = 0; number <= 2; ++number) {
    [[maybe_unused]] const auto written = ::write(number, kPrinted.data(), kPrinted.size());
  }
}

/// Prints where a run has all of its files open.
class PrintingHook : public Hook {
 public:
  void after_step(RunContext&, const StepValues&) override { print(); }
  void end(RunContext&) override { print(); }
};

/// Which of 0, 1 and 2 are open, as bits.
int open_numbers() {
  int open = 0;
  for (int number = 0; number <= 2; ++number) open |= int(::fcntl(number, F_GETFD) != -1) << number;
  return open;
}

bool is_anywhere(const std::string& folder, const std::string& text) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    std::ostringstream all;
    if (entry.is_regular_file()) all << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    if (all.str().find(text) != std::string::npos) return true;
  }
  return false;
}

class Descriptors : public ::testing::TestWithParam<int> {
 protected:
  /// Runs `work` in a child that has only the descriptors of the parameter's bits open (to nowhere).
  int with_few(const std::function<void()>& work) const {
    return status_of_child([&] {
      const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
      for (int number = 0; number <= 2; ++number) {
        if (GetParam() >> number & 1) {
          ::dup2(nowhere, number);
        } else {
          ::close(number);
        }
      }
      work();
      if (open_numbers() != GetParam()) return 1;
      return is_anywhere(folder_.path(), kPrinted) ? 2 : kOwn;
    });
  }
  void SetUp() override { prepare(folder_.path()); }
  TemporaryFolder folder_;
};

TEST_P(Descriptors, StayClosedWhileAllIsWrittenWhereItBelongs) {
  EXPECT_EQ(with_few([this] {
              Estimator estimator(guest_model, guest_config(folder_ / "model", 2));
              estimator.train(guest_data().repeat().batch(kBatch),
                              {.steps = 5, .hooks = {std::make_shared<PrintingHook>()}});
              if (estimator.evaluate(guest_data().batch(kBatch)).at("global_step") != 10) std::exit(3);
              estimator.export_model(folder_ / "exports", guest_data().batch(kBatch));
              if (!estimator.predict(guest_data().batch(kBatch))->next()) std::exit(4);
            }),
            kOwn);
}

TEST_P(Descriptors, AProgramTrains) {
  EXPECT_EQ(with_few([this] {
              const std::string model_dir = folder_ / "program";
              const std::vector<const char*> words{"program", "--model-dir", model_dir.c_str(), "--quiet"};
              const int status = run(int(words.size()), words.data(), [](RunConfig config) {
                Estimator estimator(guest_model, std::move(config));
                train_and_evaluate(estimator,
                                   {.input_fn = guest_data().repeat().batch(kBatch),
                                    .max_steps = 5,
                                    .hooks = {std::make_shared<PrintingHook>()}},
                                   {.input_fn = guest_data().batch(kBatch), .throttle_secs = 0});
              });
              if (status != 0) std::exit(3);
              if (!is_anywhere(model_dir, "model.ckpt-5")) std::exit(4);
            }),
            kOwn);
}

INSTANTIATE_TEST_SUITE_P(OpenNumbers, Descriptors, ::testing::Range(0, 8));

}  // namespace
}  // namespace shoal::testing
