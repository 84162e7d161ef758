// What the program says to wrong usage; every command's help.
#include "fixture.h"

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

TEST(Usage, TellsItsVersion) {
  const Output run = shoal_program({"--version"});
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(run.out, ::testing::MatchesRegex("shoal [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST(Usage, WrongUsageIsASentenceAndStatusTwo) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {}, {"swim"}, {"checkpoint"}, {"checkpoint", "list"}, {"checkpoint", "show"}, {"events"}, {"export"},
           {"events", "a", "b"}, {"events", "--no-such-option", "a"}}) {
    const Output run = shoal_program(arguments);
    EXPECT_EQ(run.status, 2);
    EXPECT_EQ(run.out, "");
    EXPECT_NE(run.err, "");
  }
}

TEST(Usage, WithoutWordsItSaysWhatThereIs) { EXPECT_EQ(shoal_program({}).err, shoal_program({"--help"}).out); }

TEST(Usage, WhatIsNotExpectedIsToldInItsOrder) {
  EXPECT_THAT(shoal_program({"events", "a", "--stepz", "3"}).err, HasSubstr("not expected: --stepz 3; "));
}

TEST(Usage, OutputThatCannotBeWrittenIsAnError) {
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
  out.setstate(std::ios::badbit);
  const char* const argv[] = {"shoal", "events", "/"};
  EXPECT_EQ(cli_main(3, argv, in, out, err), 1);
  EXPECT_THAT(err.str(), HasSubstr("could not be written"));
}

}  // namespace
}  // namespace shoal::cli
