// SPDX-License-Identifier: Apache-2.0
/// The text program: what it reads, what it writes itself, and one short training of each model.
#include "text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "run_program.h"
#include "shoal/base/error.h"

namespace text {
namespace {

using mnist::TemporaryFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;

template <class Call>
std::string refusal(const Call& call) {
  try {
    call();
  } catch (const shoal::Exception& exception) {
    return std::string(to_string(exception.kind())) + ": " + exception.what();
  }
  return "";
}

TEST(TextData, PlaysAreTheSameForTheSameSeedAndDifferForAnother) {
  const std::string play = generate_play(20000, 1);
  EXPECT_GE(play.size(), 20000u);
  EXPECT_EQ(play, generate_play(20000, 1));
  EXPECT_NE(play, generate_play(20000, 2));
  EXPECT_THAT(play, AllOf(HasSubstr(":\n"), HasSubstr(".\n\n")));
}

TEST(TextData, ReadsTheFolderOrItsParentAndKeepsTheLastTenthForTheTest) {
  TemporaryFolder parent;
  std::filesystem::create_directory(parent / "shakespeare");
  mnist::write(parent / "shakespeare/input.txt", std::string(9000, 'b') + std::string(1000, 'a'));
  const Text text = load_text(parent.path(), 0);
  EXPECT_FALSE(text.generated);
  EXPECT_EQ(text.training, std::string(9000, 'b'));
  EXPECT_EQ(text.test, std::string(1000, 'a'));
  EXPECT_EQ(text.characters, "ab");
}

TEST(TextData, RefusesAFolderWithoutTextAndATextThatIsTooShort) {
  TemporaryFolder folder;
  EXPECT_THAT(refusal([&] { load_text(folder.path(), 0); }),
              AllOf(HasSubstr("NotFound"), HasSubstr(folder.path()), HasSubstr("--data-dir")));
  mnist::write(folder / "input.txt", std::string(9999, 'a'));
  EXPECT_THAT(refusal([&] { load_text(folder.path(), 0); }),
              AllOf(HasSubstr("DataLoss"), HasSubstr("has 9999 characters")));
}

TEST(TextData, EveryCharacterIsFollowedByTheNextOne) {
  const Windows windows = cut("abcabca", "abc", 3, 3);
  EXPECT_EQ(windows.ids.shape(), (shoal::Shape{2, 3}));
  EXPECT_THAT(windows.ids.as<int64_t>(), ::testing::ElementsAre(0, 1, 2, 0, 1, 2));
  EXPECT_THAT(windows.next.as<int64_t>(), ::testing::ElementsAre(1, 2, 0, 1, 2, 0));
  EXPECT_THAT(cut("abcabc", "abc", 3, 2).ids.as<int64_t>(), ::testing::ElementsAre(0, 1, 2, 2, 0, 1));
  EXPECT_EQ(cut("abcabc", "abc", 3, 3).ids.shape(), (shoal::Shape{1, 3}));
  EXPECT_THAT(refusal([] { cut("abc", "abc", 3, 3); }), HasSubstr("a text of 3 characters has no piece of 3"));
  EXPECT_THAT(refusal([] { cut("abxc", "abc", 3, 3); }), HasSubstr("character 2 of the text is not among the 3"));
}

class TextProgram : public ::testing::TestWithParam<std::string> {};

TEST_P(TextProgram, TrainsAndTellsHowWellItPredicts) {
  TemporaryFolder data, model;
  mnist::write(data / "input.txt", generate_play(12000, 3));
  const mnist::Ended ended =
      mnist::run_text("--json --model " + GetParam() + " --batch 4 --steps 4 --save-checkpoints-steps 4 " +
                      "--throttle-secs 0 --data-dir " + data.path() + " --model-dir " + model.path());
  ASSERT_EQ(ended.status, 0) << ended.output;
  EXPECT_THAT(ended.output,
              AllOf(HasSubstr("\"accuracy\":"), HasSubstr("\"bits_per_character\":"), HasSubstr("\"global_step\":4")));
  EXPECT_TRUE(std::filesystem::exists(model / "model.ckpt-4.index"));

  // The characters are the run's: those of another text are none of its ids.
  std::string other = generate_play(12000, 3);
  std::ranges::replace(other, 'a', '#');
  mnist::write(data / "input.txt", other);
  const mnist::Ended refused = mnist::run_text("--model " + GetParam() + " --batch 4 --steps 8 --data-dir " + data.path() +
                                               " --model-dir " + model.path());
  EXPECT_EQ(refused.status, 2) << refused.output;
  EXPECT_THAT(refused.output, HasSubstr("of the text is not among the 50 that the model knows"));
}

INSTANTIATE_TEST_SUITE_P(Models, TextProgram, ::testing::Values("lstm", "gpt"),
                         [](const auto& model) { return model.param; });

}  // namespace
}  // namespace text
