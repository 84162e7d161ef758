// SPDX-License-Identifier: Apache-2.0
// The program's answers to wrong usage, and every command's help.
#include <map>
#include <regex>
#include <set>

#include "fixture.h"
#include "json_out.h"

namespace shoal::cli {
namespace {

using ::testing::HasSubstr;
using testing::Output;
using testing::shoal_program;

TEST(Usage, HelpNamesTheCommands) {
  const Output run = shoal_program({"--help"});
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.err, "");
  for (const char* command : {"checkpoint", "events", "export"}) EXPECT_THAT(run.out, HasSubstr(command));
  EXPECT_THAT(shoal_program({"checkpoint", "--help"}).out, HasSubstr("verify"));
  EXPECT_THAT(shoal_program({"checkpoint", "show", "--help"}).out, HasSubstr("--values"));
}

TEST(Usage, HelpNamesTheBackends) {
  for (const char* command : {"predict", "profile"}) {
    const std::string help = shoal_program({command, "--help"}).out;
    for (const char* backend : {"onednn", "portable", "reference"}) EXPECT_THAT(help, HasSubstr(backend)) << command;
  }
}

TEST(Usage, TellsItsVersion) {
  const Output run = shoal_program({"--version"});
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(run.out, ::testing::MatchesRegex("shoal [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST(Usage, WrongUsageIsASentenceAndStatusTwo) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{},
                                             {"swim"},
                                             {"checkpoint"},
                                             {"checkpoint", "list"},
                                             {"checkpoint", "show"},
                                             {"events"},
                                             {"export"},
                                             {"events", "a", "b"},
                                             {"events", "--no-such-option", "a"}}) {
    const Output run = shoal_program(arguments);
    EXPECT_EQ(run.status, 2);
    EXPECT_EQ(run.out, "");
    EXPECT_NE(run.err, "");
  }
}

/// Help for an unknown command gives the same sentence as the unknown name alone.
TEST(Usage, AnUnknownCommandIsUnknownWithHelpToo) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"paint", "--help"},
                                             {"--help", "paint"},
                                             {"paint", "-h"},
                                             {"paint", "--version"},
                                             {"checkpoint", "lsit", "--help"},
                                             {"events", "a", "--stepz", "--help"},
                                             {"events", "--help", "a", "b"},
                                             {"launch", "./train", "--help"}}) {
    const Output run = shoal_program(arguments);
    EXPECT_EQ(run.status, 2) << arguments.front();
    EXPECT_EQ(run.out, "");
    EXPECT_THAT(run.err, HasSubstr("not expected: ")) << arguments.front();
  }
  EXPECT_EQ(shoal_program({"paint", "--help"}).err, "shoal: not expected: paint; shoal --help says what is\n");
  EXPECT_EQ(shoal_program({"predcit", "--help"}).err,
            "shoal: not expected: predcit; did you mean predict?; shoal --help says what is\n");
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"events", "--help"}, {"events", "a", "--help"}, {"launch", "--help", "--", "paint", "--help"}}) {
    EXPECT_EQ(shoal_program(arguments).status, 0) << arguments.front();
  }
}

TEST(Usage, WithoutWordsItSaysWhatThereIs) { EXPECT_EQ(shoal_program({}).err, shoal_program({"--help"}).out); }

TEST(Usage, WhatIsNotExpectedIsToldInItsOrder) {
  EXPECT_THAT(shoal_program({"events", "a", "--stepz", "3"}).err, HasSubstr("not expected: --stepz 3; "));
}

TEST(Usage, AMistypedWordIsToldWithTheOneThatWasMeant) {
  EXPECT_EQ(shoal_program({"predcit"}).err,
            "shoal: not expected: predcit; did you mean predict?; shoal --help says what is\n");
  EXPECT_EQ(shoal_program({"swim"}).err, "shoal: not expected: swim; shoal --help says what is\n");
  EXPECT_EQ(shoal_program({"checkpoint", "lsit", "m"}).err,
            "shoal: not expected: lsit m; did you mean list?; shoal checkpoint --help says what is\n");
  EXPECT_EQ(shoal_program({"launch", "--worker", "2", "--", "x"}).err,
            "shoal: not expected: --worker 2; did you mean --workers?; shoal launch --help says what is\n");
  EXPECT_EQ(shoal_program({"launch", "--worker=2", "--", "x"}).err,
            "shoal: not expected: --worker=2; did you mean --workers?; shoal launch --help says what is\n");
  EXPECT_EQ(shoal_program({"--workers", "2", "launch", "--", "x"}).err,
            "shoal: not expected: --workers 2 x; --workers stands behind shoal launch; shoal launch --help says what is\n");
  EXPECT_THAT(shoal_program({"checkpoint", "list", "--"}).err, HasSubstr("DIR is required"));
  EXPECT_THAT(shoal_program({"launch", "--workers", "two", "./p"}).err, HasSubstr("two"));
  EXPECT_THAT(shoal_program({"predict", "--separator", "xx", "--", "exp"}).err, HasSubstr("--separator"));
  EXPECT_EQ(shoal_program({"checkpoint", "list"}).err, "shoal: DIR is required; shoal checkpoint list --help says more\n");
}

TEST(Usage, AProgramToLaunchThatStandsBehindNoDashesIsTold) {
  EXPECT_EQ(shoal_program({"launch", "--workers", "2", "./train", "--model-dir", "m"}).err,
            "shoal: not expected: ./train --model-dir m; the program to launch stands behind --, as in shoal launch "
            "--workers 2 -- ./train\n");
}

/// The words of each command that has no other below it, as {"keys", "token"}, with its help.
std::map<std::vector<std::string>, std::string> helps(const std::vector<std::string>& above = {}) {
  std::vector<std::string> words = above;
  words.emplace_back("--help");
  const std::string help = shoal_program(words).out;
  const size_t commands = help.find("\nCommands:\n");
  if (commands == std::string::npos) return {{above, help}};
  std::map<std::vector<std::string>, std::string> found;
  static const std::regex name("\n  ([a-z+]+) ");
  const std::string below = help.substr(commands);
  for (std::sregex_iterator at(below.begin(), below.end(), name), end; at != end; ++at) {
    words.back() = (*at)[1];
    found.merge(helps(words));
  }
  return found;
}

/// Goes over the help of all commands, so that a new flag for a path is tested, too.
TEST(Usage, FlagsOfPathsRefuseTheEmptyText) {
  static const std::regex flag("\n  (?:-[a-z], )?(--[a-z0-9-]+) ([A-Z:\\[\\]]+)");
  static const std::regex named_as_path("--(?:ca|out|output|hosts|space|(?:[a-z]+-)*(?:dir|file|tmp))");
  std::set<std::string> tested;
  for (const auto& [command, help] : helps()) {
    for (std::sregex_iterator at(help.begin(), help.end(), flag), end; at != end; ++at) {
      const std::string name = (*at)[1], type = (*at)[2];
      const bool is_path = type == "FILE" || type == "FOLDER";
      EXPECT_TRUE(is_path || !std::regex_match(name, named_as_path))
          << name << " " << type << ": is defined without path()";
      if (!is_path) continue;
      std::vector<std::string> words = command;
      words.insert(words.end(), {name, ""});
      const Output run = shoal_program(words);
      EXPECT_EQ(run.status, 2) << command.front() << " " << name;
      EXPECT_EQ(run.out, "");
      EXPECT_THAT(run.err, HasSubstr("shoal: " + name + ": is the empty string; give a path; shoal " + command.front()));
      tested.insert(command.front() + " " + name);
    }
  }
  for (const char* name : {"doctor --model-dir", "config --model-dir", "keys --out", "keys --ca", "launch --emit-dir",
                           "launch --hosts", "launch --log-dir", "plot --output", "status --token-file", "tune --dir"}) {
    EXPECT_TRUE(tested.contains(name)) << name;
  }
  for (const char* command : {"events", "plot", "compare", "profile", "predict"}) {
    EXPECT_THAT(shoal_program({command, ""}).err, HasSubstr(": is the empty string; give a path")) << command;
  }
}

TEST(Usage, OneObjectIsIndentedForPeopleOnly) {
  std::string text;
  TextOutput out(text);
  const ReadInput no_input = [](std::span<std::byte>) { return Result<size_t>(0); };
  const auto storage = make_file_storage();
  Context context{no_input, out, out, *storage};
  print(context, Json{{"a", 1}, {"b", 2}});
  EXPECT_EQ(std::exchange(text, {}), "{\"a\":1,\"b\":2}\n");
  context.terminals.output = true;
  print(context, Json{{"a", {1, 2}}, {"b", {{{"c", "d"}}}}, {"e", Json::object()}, {"f", {{1, 2}, {3, 4}}}});
  EXPECT_EQ(text, R"({
  "a": [1,2],
  "b": [
    {
      "c": "d"
    }
  ],
  "e": {},
  "f": [
    [1,2],
    [3,4]
  ]
}
)");
}

TEST(Usage, OutputThatCannotBeWrittenIsAnError) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> full(std::fopen("/dev/full", "w"), &std::fclose);
  ASSERT_TRUE(full);
  std::string complaint;
  TextOutput out(full.get()), err(complaint);
  const ReadInput no_input = [](std::span<std::byte>) { return Result<size_t>(0); };
  const char* const argv[] = {"shoal", "--version"};
  EXPECT_EQ(cli_main(2, argv, no_input, out, err), 1);
  EXPECT_THAT(complaint, HasSubstr("could not be written"));
}

}  // namespace
}  // namespace shoal::cli
