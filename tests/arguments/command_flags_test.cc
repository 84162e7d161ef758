// SPDX-License-Identifier: Apache-2.0
#include "shoal/arguments/command_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace shoal::arguments {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Words = std::vector<std::string>;

/// A command with one flag of each form.
struct Command {
  Command() {
    flags.add("Work", {.name = "steps", .type = "INT", .help = "How many", .otherwise = "7", .take = note("steps")});
    flags.add("Work", {.name = "quiet", .help = "Say less", .take = note("quiet")});
    flags.add("Place", {.name = "folder", .type = "FOLDER", .help = "Where", .variable = "PLACE", .take = note("folder")});
    flags.add("Work", {.name = "shuffle", .off_name = "no-shuffle", .help = "In any order", .take = note("shuffle")});
    flags.add("Place", {.name = "alone", .help = "One", .variable = "ALONE", .excludes = {"steps", "folder"}, .take = note("alone")});
    flags.add("Place", {.name = "old", .type = "TEXT", .hidden = true, .take = note("old")});
  }
  Take note(const std::string& name) {
    return [this, name](const std::string& text) -> Result<void> {
      if (text == "bad") return invalid_argument(text + " is refused");
      taken.push_back(name + "=" + text);
      return {};
    };
  }
  Result<bool> read(const Words& words) {
    return flags.read(words, [this](std::string_view name) -> std::optional<std::string> {
      const auto found = variables.find(std::string(name));
      return found == variables.end() ? std::nullopt : std::optional(found->second);
    });
  }
  std::string error(const Words& words) {
    const Result<bool> result = read(words);
    EXPECT_TRUE(taken.empty());
    return result ? "" : result.error().message();
  }

  CommandFlags flags{"A command"};
  std::map<std::string, std::string> variables;
  Words taken;
};

Words taken(const Words& words) {
  Command command;
  EXPECT_TRUE(value_or_raise(command.read(words)));
  return command.taken;
}

TEST(CommandFlags, TakesValuesBehindBlankAndEquals) {
  EXPECT_THAT(taken({}), ElementsAre());
  EXPECT_THAT(taken({"--folder", "a b", "--steps=3"}), ElementsAre("steps=3", "folder=a b")) << "in the order of add()";
  EXPECT_THAT(taken({"--steps", "-5", "--folder=--x=y"}), ElementsAre("steps=-5", "folder=--x=y"));
  EXPECT_THAT(taken({"--folder", ""}), ElementsAre("folder="));
  EXPECT_THAT(taken({"--folder="}), ElementsAre("folder="));
  EXPECT_THAT(taken({"--folder", "-"}), ElementsAre("folder=-"));
  EXPECT_THAT(taken({"--old", "x"}), ElementsAre("old=x"));
}

TEST(CommandFlags, TurnsSwitchesOnAndOff) {
  EXPECT_THAT(taken({"--quiet"}), ElementsAre("quiet=true"));
  EXPECT_THAT(taken({"--quiet=False"}), ElementsAre("quiet=false"));
  EXPECT_THAT(taken({"--shuffle"}), ElementsAre("shuffle=true"));
  EXPECT_THAT(taken({"--no-shuffle"}), ElementsAre("shuffle=false"));
  EXPECT_THAT(taken({"--no-shuffle=false"}), ElementsAre("shuffle=true"));
  EXPECT_THAT(taken({"--no-shuffle", "--shuffle"}), ElementsAre("shuffle=true")) << "the last one counts";
  EXPECT_EQ(Command().error({"--quiet=maybe"}), "--quiet: \"maybe\" is neither true nor false");
  EXPECT_EQ(Command().error({"--quiet", "true"}), "not expected: true") << "a switch takes no second word";
}

TEST(CommandFlags, ReadsVariablesOfFlagsThatAreNotGiven) {
  Command command;
  command.variables = {{"PLACE", "here"}, {"ALONE", ""}};
  EXPECT_TRUE(value_or_raise(command.read({})));
  EXPECT_THAT(command.taken, ElementsAre("folder=here"));
  EXPECT_TRUE(command.flags.is_given("folder"));
  EXPECT_FALSE(command.flags.is_given("alone"));
  Command given;
  given.variables = {{"PLACE", "here"}};
  EXPECT_TRUE(value_or_raise(given.read({"--folder", "there"})));
  EXPECT_THAT(given.taken, ElementsAre("folder=there"));
  Command wrong;
  wrong.variables = {{"PLACE", "bad"}};
  EXPECT_EQ(wrong.error({}), "PLACE: bad is refused");
}

TEST(CommandFlags, SaysWhatIsWrong) {
  const std::pair<Words, std::string> cases[] = {
      {{"--steps"}, "--steps: the value is missing (INT)"},
      {{"--steps", "--quiet"}, "--steps: the value is missing (INT)"},
      {{"--steps", "1", "--steps=2"}, "--steps is given twice"},
      {{"--steps", "bad"}, "--steps: bad is refused"},
      {{"--stepz", "3", "x"}, "not expected: --stepz 3 x; did you mean --steps?"},
      {{"--no-shufle=1"}, "not expected: --no-shufle=1; did you mean --no-shuffle?"},
      {{"--olt"}, "not expected: --olt"},
      {{"-q"}, "not expected: -q"},
      {{"--"}, "not expected: --"},
      {{"--=3"}, "not expected: --=3"},
      {{"", "x"}, "not expected:  x"},
      {{"--alone", "--folder", "f"}, "--alone excludes --folder"},
      {{"--steps", "1", "--alone"}, "--alone excludes --steps"},
  };
  for (const auto& [words, sentence] : cases) EXPECT_EQ(Command().error(words), sentence);
}

TEST(CommandFlags, HelpIsAskedForAnywhereAndTakesNothing) {
  for (const Words& words : {Words{"--help"}, Words{"-h"}, Words{"--quiet", "-h", "--unknown"}, Words{"--steps", "bad", "--help"}}) {
    Command command;
    EXPECT_FALSE(value_or_raise(command.read(words)));
    EXPECT_THAT(command.taken, ElementsAre());
  }
}

TEST(CommandFlags, HelpHasGroupsDefaultsAndLinesOfOneWidth) {
  Command command;
  command.flags.add("Place", {.name = "long",
                              .type = "TEXT",
                              .help = "Twenty words of help that do not fit into one line of a terminal, and so they have to go "
                                      "on in the next one",
                              .take = command.note("long")});
  command.flags.set_footer("The end.");
  EXPECT_EQ(command.flags.help("./command"), R"(A command
Usage: ./command [FLAGS]

  -h, --help
      Print this, and end

Work:
  --steps INT (default 7)
      How many
  --quiet
      Say less
  --shuffle, --no-shuffle
      In any order

Place:
  --folder FOLDER (or set PLACE)
      Where
  --alone (or set ALONE) (not with --steps, --folder)
      One
  --long TEXT
      Twenty words of help that do not fit into one line of a terminal, and so they have to go
      on in the next one

The end.
)");
}

TEST(CommandFlags, NamesAreOfOneFlagEach) {
  const auto checked = [](std::string name, std::string off_name = "") {
    Command command;
    command.flags.add("Work", {.name = std::move(name), .off_name = std::move(off_name), .take = command.note("x")});
    const Result<void> result = command.flags.check();
    return result ? "" : result.error().message();
  };
  EXPECT_EQ(checked("rate"), "");
  EXPECT_THAT(checked("steps"), HasSubstr("there are two flags --steps"));
  EXPECT_THAT(checked("help"), HasSubstr("there are two flags --help"));
  EXPECT_THAT(checked("no-shuffle"), HasSubstr("there are two flags --no-shuffle"));
  EXPECT_THAT(checked("rate", "quiet"), HasSubstr("there are two flags --quiet"));
  for (const char* name : {"", "-rate", "--rate", "a=b", "a b"})
    EXPECT_THAT(checked(name), HasSubstr("a flag cannot have the name \"" + std::string(name) + "\""));
}

}  // namespace
}  // namespace shoal::arguments
