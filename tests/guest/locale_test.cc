// SPDX-License-Identifier: Apache-2.0
// A program that has called setlocale(), in a country that writes 0.5 as "0,5".
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <clocale>
#include <cstdlib>
#include <fstream>
#include <locale>
#include <sstream>

#include "../base/temporary_folder.h"
#include "calls.h"
#include "child.h"
#include "shoal/base/format.h"

namespace shoal::testing {
namespace {

using ::testing::HasSubstr;

class Locale : public ::testing::Test {
 protected:
  /// Makes a locale with a decimal comma, and skips where this machine has nothing to make it of.
  void SetUp() override {
    const std::string command = "localedef -i de_DE -f UTF-8 " + folder_.path() + "/de_DE.UTF-8 > /dev/null 2>&1";
    if (std::system(command.c_str()) != 0) GTEST_SKIP() << "needs localedef and the Debian package locales";
    prepare(folder_.path());
  }

  /// Runs `work` in a child that has that locale, for C and C++.
  int in_german(const std::function<int()>& work) const {
    return status_of_child([&] {
      setenv("LOCPATH", folder_.path().c_str(), 1);
      if (!std::setlocale(LC_ALL, "de_DE.UTF-8")) return 1;
      std::locale::global(std::locale("de_DE.UTF-8"));
      char half[8];
      std::snprintf(half, sizeof half, "%.1f", 0.5);
      return std::string(half) == "0,5" ? work() : 2;
    });
  }

  TemporaryFolder folder_;
};

TEST_F(Locale, NumbersAreWrittenAndReadAsEverywhere) {
  EXPECT_EQ(in_german([] {
              if (formatted("%.1f", 0.5) != "0.5") return 3;
              char half[8];
              std::snprintf(half, sizeof half, "%.1f", 0.5);
              return std::string(half) == "0,5" ? kOwn : 4;  // The program's own numbers are as they were.
            }),
            kOwn);
}

std::string all_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// The program of the descriptors' tests, with its output in a file.
int run_program(const std::string& folder, const std::vector<const char*>& flags) {
  const std::string model_dir = folder + "/program";
  std::vector<const char*> words{"program", "--model-dir", model_dir.c_str(), "--seed", "7"};
  words.insert(words.end(), flags.begin(), flags.end());
  if (!std::freopen((folder + "/output").c_str(), "w", stdout)) return 1;
  return run(int(words.size()), words.data(), [](RunConfig config) {
    Estimator estimator(guest_model, std::move(config));
    train_and_evaluate(estimator, {.input_fn = guest_data().repeat().batch(kBatch), .max_steps = 5},
                       {.input_fn = guest_data().batch(kBatch), .throttle_secs = 0});
  });
}

TEST_F(Locale, AProgramTakesItsFlagsAndPrintsItsResults) {
  const std::vector<const char*> flags{"--save-checkpoints-secs", "0.5", "--ready-timeout-secs", "7.5"};
  ASSERT_EQ(status_of_child([&] { return run_program(folder_.path(), flags); }), 0);
  const std::string plain = all_of(folder_ / "output");
  ASSERT_THAT(plain, HasSubstr("loss 0."));
  std::filesystem::remove_all(folder_ / "program");
  EXPECT_EQ(in_german([&] { return run_program(folder_.path(), flags); }), 0);
  EXPECT_EQ(all_of(folder_ / "output"), plain);
}

TEST_F(Locale, AModelPredictsTheSame) {
  const auto predict = [this](const std::string& name) {
    const auto model = load_exported_model(folder_ / "export");
    const auto results = model->predict({{"x", Tensor::of<float>({3, 2}, {1, 2, 3, -1, 0, 1})}});
    std::ofstream file(folder_ / name, std::ios::binary);
    for (const float value : results["logits"].as<float>()) file.write(reinterpret_cast<const char*>(&value), sizeof value);
    return 0;
  };
  ASSERT_EQ(status_of_child([&] { return predict("plain"); }), 0);
  EXPECT_EQ(in_german([&] { return predict("german"); }), 0);
  EXPECT_FALSE(all_of(folder_ / "plain").empty());
  EXPECT_EQ(all_of(folder_ / "german"), all_of(folder_ / "plain"));
}

TEST_F(Locale, ARunGoesOnInAnother) {
  EXPECT_EQ(in_german([this] {
              Estimator estimator(guest_model, guest_config(folder_ / "model", 1));
              estimator.train(guest_data().repeat().batch(kBatch), {.steps = 2});
              return estimator.evaluate(guest_data().batch(kBatch)).at("global_step") == 7 ? kOwn : 3;
            }),
            kOwn);
}

}  // namespace
}  // namespace shoal::testing
