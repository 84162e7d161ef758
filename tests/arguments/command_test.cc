// SPDX-License-Identifier: Apache-2.0
#include "shoal/arguments/command.h"

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

/// A command with one argument of each form, and another command with two below it.
struct Work {
  Work() {
    work.add("-s,--steps", steps, "How many").shows_default().group("Work");
    work.add_switch("--quiet", quiet, "Say less").group("Work");
    work.add("--folder", folder, "Where").type("FOLDER").variable("PLACE").group("Place");
    work.add_switch("--shuffle,--no-shuffle", shuffle, "In any order").group("Work");
    work.add_switch("--alone", alone, "One").variable("ALONE").excludes("--steps").excludes("--folder").group("Place");
    work.add("--old", old, "").hidden();
    work.add("--tag", tags, "Which; may be repeated").needs("--folder");
    const auto refuse_bad = [](const std::string& text) {
      return text == "bad" ? Result<void>(invalid_argument(text + " is refused")) : Result<void>();
    };
    work.add("--rate", rate, "How fast").check(check_positive);
    work.add_call("--call", refuse_bad, "What is called").variable("CALL");
    work.add("FILE", file, "The first file").required();
    work.add("MORE", more, "Other files");
    work.on_selected([this] { ++calls; });
    top.set_version("tool 1.0");
    Command& keys = top.add_command("keys", "Makes keys");
    keys.add_command("token", "Prints a token").on_selected([this] { ++tokens; });
    keys.add_command("ca", "Makes a CA");
  }
  Reading read(const Words& words) { return read(work, words); }
  Reading read(Command& command, const Words& words) {
    return command.read(words, [this](std::string_view name) -> std::optional<std::string> {
      const auto found = variables.find(std::string(name));
      return found == variables.end() ? std::nullopt : std::optional(found->second);
    });
  }
  /// What is wrong with the words behind the first file.
  std::string error(Words words) {
    words.insert(words.begin(), "f");
    const Reading reading = read(words);
    EXPECT_EQ(calls, 0);
    return reading.error ? reading.error->message() : "";
  }

  Command top{
      "tool",
      "A tool   for tests\nWhich has a description of more than one line, of which this one is wider than the 96 columns "
      "of a help"};
  Command& work = top.add_command("work", "Does work");
  int32_t steps = 7;
  bool quiet = false, shuffle = true, alone = false;
  std::optional<std::string> folder;
  std::string old = "none", file;
  std::optional<double> rate;
  Words tags, more;
  std::map<std::string, std::string> variables;
  int calls = 0, tokens = 0;
};

TEST(Command, StoresValuesAndWords) {
  Work none;
  EXPECT_FALSE(none.read({"f"}).error);
  EXPECT_EQ(none.calls, 1);
  EXPECT_EQ(none.steps, 7);
  EXPECT_EQ(none.folder, std::nullopt);
  EXPECT_TRUE(none.shuffle);
  Work dashes;
  EXPECT_FALSE(dashes.read({"f", "--folder", "--ps 1 --workers 2"}).error);
  EXPECT_EQ(dashes.folder, "--ps 1 --workers 2");
  Work all;
  const Reading reading =
      all.read({"a", "--folder", "a b", "--steps=-3", "--tag=--x=y", "b", "--tag", "", "--rate", "1e-3", "--", "--quiet"});
  EXPECT_FALSE(reading.error);
  EXPECT_THAT(reading.unexpected, ElementsAre());
  EXPECT_EQ(reading.named, &all.work);
  EXPECT_EQ(all.folder, "a b");
  EXPECT_EQ(all.steps, -3);
  EXPECT_EQ(all.rate, 1e-3);
  EXPECT_THAT(all.tags, ElementsAre("--x=y", ""));
  EXPECT_EQ(all.file, "a");
  EXPECT_THAT(all.more, ElementsAre("b", "--quiet")) << "behind -- words are no flags";
  EXPECT_FALSE(all.quiet);
  EXPECT_TRUE(all.work.is_given("--tag"));
  EXPECT_FALSE(all.work.is_given("--old"));
}

TEST(Command, TakesShortFlagsAndNumbersBelowZero) {
  Work apart;
  EXPECT_FALSE(apart.read({"-s", "-5", "-"}).error);
  EXPECT_EQ(apart.steps, -5);
  EXPECT_EQ(apart.file, "-");
  Work together;
  EXPECT_FALSE(together.read({"-s5", "-2"}).error);
  EXPECT_EQ(together.steps, 5);
  EXPECT_EQ(together.file, "-2");
}

TEST(Command, TurnsSwitchesOnAndOff) {
  const auto shuffles = [](Words words) {
    Work work;
    words.insert(words.begin(), "f");
    EXPECT_FALSE(work.read(words).error);
    return work.shuffle;
  };
  EXPECT_TRUE(shuffles({"--shuffle"}));
  EXPECT_FALSE(shuffles({"--no-shuffle"}));
  EXPECT_FALSE(shuffles({"--shuffle=False"}));
  EXPECT_TRUE(shuffles({"--no-shuffle=false"}));
  EXPECT_TRUE(shuffles({"--no-shuffle", "--shuffle"})) << "the last one counts";
  EXPECT_EQ(Work().error({"--quiet=maybe"}), "--quiet: \"maybe\" is neither true nor false");
}

TEST(Command, ASwitchThatIsOffCountsAsNotGiven) {
  Work off;
  EXPECT_FALSE(off.read({"f", "--alone=false", "--steps", "1", "--folder", "f"}).error);
  EXPECT_FALSE(off.work.is_given("--alone"));
  EXPECT_EQ(Work().error({"--alone=false", "--alone", "--steps", "1"}), "--alone excludes --steps")
      << "the last one counts";
  Work variable;
  variable.variables = {{"ALONE", "no"}};
  EXPECT_FALSE(variable.read({"f", "--steps", "1"}).error);
  const auto error = [](const std::string& relation, const std::string& other, Words words) {
    Work work;
    bool on = false;
    Argument& extra = work.work.add_switch("--extra", on, "");
    if (relation == "excludes") extra.excludes(other);
    if (relation == "needs") extra.needs(other);
    words.insert(words.begin(), "f");
    const Reading reading = work.read(words);
    return reading.error ? reading.error->message() : "";
  };
  EXPECT_EQ(error("excludes", "--quiet", {"--extra", "--quiet"}), "--extra excludes --quiet");
  EXPECT_EQ(error("excludes", "--quiet", {"--extra", "--quiet=false"}), "");
  EXPECT_EQ(error("needs", "--quiet", {"--extra", "--quiet=off"}), "--extra needs --quiet");
  EXPECT_EQ(error("needs", "--quiet", {"--extra=false"}), "");
  EXPECT_EQ(error("excludes", "--no-shuffle", {"--extra", "--shuffle=false"}), "--extra excludes --no-shuffle");
  EXPECT_EQ(error("excludes", "--no-shuffle", {"--extra", "--shuffle"}), "");
  EXPECT_EQ(error("needs", "--no-shuffle", {"--extra", "--shuffle"}), "--extra needs --no-shuffle");
  EXPECT_EQ(error("needs", "--no-shuffle", {"--extra", "--no-shuffle"}), "");
}

TEST(Command, RefusesEmptyPaths) {
  const auto error = [](const Words& words, const std::string& variable = "") {
    Work work;
    std::optional<std::string> output;
    Words inputs;
    work.work.add("-o,--output", output, "").path("FILE").variable("OUTPUT");
    work.work.add("--input", inputs, "").path("FOLDER");
    work.variables = {{"OUTPUT", variable}};
    const Reading reading = work.read(words);
    EXPECT_THAT(work.work.help(), HasSubstr("-o, --output FILE"));
    EXPECT_THAT(work.work.help(), HasSubstr("--input FOLDER"));
    return reading.error ? reading.error->message() : "";
  };
  EXPECT_EQ(error({"f", "--output", ""}), "--output: is the empty string; give a path");
  EXPECT_EQ(error({"f", "--output="}), "--output: is the empty string; give a path");
  EXPECT_EQ(error({"f", "-o", ""}), "-o: is the empty string; give a path");
  EXPECT_EQ(error({"f", "--input", "a", "--input", ""}), "--input: is the empty string; give a path");
  EXPECT_EQ(error({"f", "-o", "-", "--input", " "}), "");
  EXPECT_EQ(error({"f"}, ""), "") << "an empty variable counts as not set";
  Command copy("copy", "");
  std::string from;
  copy.add("FROM", from, "").path("FILE");
  EXPECT_EQ(Work().read(copy, {""}).error->message(), "FROM: is the empty string; give a path");
}

TEST(Command, ReadsVariablesOfFlagsThatAreNotGiven) {
  Work set;
  set.variables = {{"PLACE", "here"}, {"ALONE", ""}};
  EXPECT_FALSE(set.read({"f"}).error);
  EXPECT_EQ(set.folder, "here");
  EXPECT_TRUE(set.work.is_given("--folder"));
  EXPECT_FALSE(set.work.is_given("--alone"));
  Work given;
  given.variables = {{"PLACE", "here"}};
  EXPECT_FALSE(given.read({"f", "--folder", "there"}).error);
  EXPECT_EQ(given.folder, "there");
  Work wrong;
  wrong.variables = {{"CALL", "bad"}};
  EXPECT_EQ(wrong.error({}), "CALL: bad is refused");
  Work maybe;
  maybe.variables = {{"ALONE", "maybe"}};
  EXPECT_EQ(maybe.error({}), "ALONE: \"maybe\" is neither true nor false");
}

TEST(Command, SaysWhatIsWrong) {
  const std::pair<Words, std::string> cases[] = {
      {{"--steps"}, "--steps: the value is missing (INT)"},
      {{"--steps", "--quiet"}, "--steps: the value is missing (INT)"},
      {{"--steps", "--tag=x"}, "--steps: the value is missing (INT)"},
      {{"--steps", "--"}, "--steps: the value is missing (INT)"},
      {{"--steps", "-h"}, "--steps: the value is missing (INT)"},
      {{"--steps", "--other 1"}, "--steps: --other 1 is no INT"},
      {{"-s"}, "-s: the value is missing (INT)"},
      {{"--steps", "1", "--steps=2"}, "--steps is given twice"},
      {{"--steps", "1.5"}, "--steps: 1.5 is no INT"},
      {{"--rate", "-1"}, "--rate: -1 is no positive number"},
      {{"--call=bad"}, "--call: bad is refused"},
      {{"--alone", "--folder", "f"}, "--alone excludes --folder"},
      {{"--steps", "1", "--alone"}, "--alone excludes --steps"},
      {{"--tag", "x"}, "--tag needs --folder"},
  };
  for (const auto& [words, sentence] : cases) EXPECT_EQ(Work().error(words), sentence);
  Work nothing;
  EXPECT_EQ(nothing.read({"--quiet"}).error->message(), "FILE is required");
}

TEST(Command, ListsWordsThatAreNotExpected) {
  for (const Words& words : {Words{"--stepz", "3"}, {"-q"}, {"--=3"}, {"-z5", "--no-shufle=1"}}) {
    Work work;
    Words all = words;
    all.insert(all.begin(), {"f", "m"});
    Reading reading = work.read(all);
    EXPECT_EQ(reading.unexpected.front(), words.front());
    EXPECT_EQ(work.calls, 0);
  }
  Work work;
  EXPECT_THAT(work.read(work.top, {"kyes", "--out", "x"}).unexpected, ElementsAre("kyes", "--out", "x"));
}

TEST(Command, NamesTheCommandBelow) {
  Work work;
  EXPECT_EQ(work.read(work.top, {"keys", "token"}).named->full_name(), "tool keys token");
  EXPECT_EQ(work.tokens, 1);
  Work missing;
  const Reading reading = missing.read(missing.top, {"keys"});
  EXPECT_EQ(reading.named->full_name(), "tool keys");
  EXPECT_EQ(reading.error->message(), "a command is missing: one of token, ca");
  Work extra;
  EXPECT_THAT(extra.read(extra.top, {"keys", "token", "ca"}).unexpected, ElementsAre("ca"));
  EXPECT_EQ(extra.tokens, 0);
}

TEST(Command, HelpAndVersionTakeNothing) {
  for (const Words& words : {Words{"--help"}, {"-h"}, {"--quiet", "-h"}, {"f", "--steps", "x", "--help"}}) {
    Work work;
    EXPECT_TRUE(work.read(words).help);
    EXPECT_EQ(work.calls, 0);
  }
  Work work;
  EXPECT_TRUE(work.read(work.top, {"--version"}).version);
  EXPECT_THAT(work.read(work.top, {"work", "--version"}).unexpected, ElementsAre("--version"));
  EXPECT_EQ(work.top.version(), "tool 1.0");
}

TEST(Command, HelpHasGroupsDefaultsAndLinesOfOneWidth) {
  Work work;
  work.work
      .add("--long", work.old,
           "Twenty words of help that do not fit into one line of a terminal, and so they have to go on in the next one")
      .group("Place");
  work.work.set_footer("The end.");
  EXPECT_EQ(work.work.help(), R"(Does work
Usage: tool work FILE [MORE]... [FLAGS]

  FILE
      The first file
  MORE
      Other files
  -h, --help
      Print this, and end
  --tag TEXT (with --folder)
      Which; may be repeated
  --rate NUMBER
      How fast
  --call TEXT (or set CALL)
      What is called

Work:
  -s, --steps INT (default 7)
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
  EXPECT_EQ(work.top.help(), R"(A tool   for tests
Which has a description of more than one line, of which this one is wider than the 96 columns of
a help
Usage: tool COMMAND [FLAGS]

  -h, --help
      Print this, and end
  --version
      Print the version, and end

Commands:
  work        Does work
  keys        Makes keys
)");
}

TEST(Command, NamesAreOfOneFlagEach) {
  const auto checked = [](const std::string& names) {
    Work work;
    bool on = false;
    work.work.add_switch(names, on, "");
    const Result<void> result = work.work.check_names();
    return result ? "" : result.error().message();
  };
  EXPECT_EQ(checked("--rates"), "");
  EXPECT_THAT(checked("--steps"), HasSubstr("there are two flags --steps"));
  EXPECT_THAT(checked("--help"), HasSubstr("there are two flags --help"));
  EXPECT_THAT(checked("--no-shuffle"), HasSubstr("there are two flags --no-shuffle"));
  EXPECT_THAT(checked("--rates,--quiet"), HasSubstr("there are two flags --quiet"));
  for (const char* name : {"", "-rate", "--rate", "a=b", "a b"})
    EXPECT_THAT(checked("--" + std::string(name)), HasSubstr("a flag cannot have the name \"" + std::string(name) + "\""));
}

}  // namespace
}  // namespace shoal::arguments
