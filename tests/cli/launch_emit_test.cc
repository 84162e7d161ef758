// SPDX-License-Identifier: Apache-2.0
// `shoal launch --emit`: what it refuses, and its quoting. emit_test.py reads the emitted files with other programs.
#include <algorithm>

#include "fixture.h"
#include "launch/emit/quoting.h"

namespace shoal::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Output;
using testing::shoal_program;

Output emitted(std::vector<std::string> options, std::vector<std::string> command = {"/bin/mnist", "--model-dir", "/m"}) {
  options.insert(options.begin(), "launch");
  options.insert(options.end(), "--");
  options.insert(options.end(), command.begin(), command.end());
  return shoal_program(std::move(options));
}

TEST(LaunchEmit, WritesWhatStartsTheJobElsewhere) {
  const Output kubernetes = emitted({"--ps", "1", "--workers", "2", "--evaluator", "--emit", "kubernetes"});
  EXPECT_EQ(kubernetes.status, 0) << kubernetes.err;
  EXPECT_THAT(kubernetes.out,
              AllOf(HasSubstr("kind: Job\nmetadata:\n  name: \"mnist\"  #"), HasSubstr("completions: 5\n"),
                    HasSubstr("# A job of chief,ps:1,worker:2,evaluator, by"),
                    HasSubstr(R"(command: ["/bin/mnist", "--model-dir", "/m"])"), HasSubstr("image: \"mnist\"")));
  EXPECT_EQ(kubernetes.out, emitted({"--ps", "1", "--workers", "2", "--evaluator", "--emit", "kubernetes"}).out);
  const Output slurm = emitted({"--ps", "1", "--emit", "slurm"}, {"build/bin/mnist", "--model-dir=m", "it's"});
  EXPECT_THAT(slurm.out, AllOf(HasSubstr("\n#SBATCH --ntasks=2\n"), HasSubstr("build/bin/mnist --model-dir=m 'it'\\''s'\n"),
                               HasSubstr("\n#SBATCH --signal=TERM@120\n")));
}

/// A named size is not cut to this machine, since other machines may have more cores.
TEST(LaunchEmit, NamedSizesAreWhole) {
  const Output premium = emitted({"--size", "premium", "--emit", "slurm"});
  EXPECT_THAT(premium.out, HasSubstr("\n#SBATCH --ntasks=32\n"));
  EXPECT_EQ(premium.err, "");
}

TEST(LaunchEmit, NamesJobsByTheirPrograms) {
  const auto name = [](const std::string& program) {
    const std::string text = emitted({"--ps", "1", "--emit", "slurm"}, {program, "--model-dir", "/m"}).out;
    const std::string before = "#SBATCH --job-name=";
    const size_t begin = text.find(before) + before.size();
    return text.substr(begin, text.find('\n', begin) - begin);
  };
  EXPECT_EQ(name("build/bin/mnist"), "mnist");
  EXPECT_EQ(name("/opt/Wide_And.deep"), "wide-and");
  EXPECT_EQ(name("3d-"), "d");
  EXPECT_EQ(name("/x/42"), "shoal-job");
  EXPECT_EQ(name(std::string(60, 'a')), std::string(40, 'a'));
}

TEST(LaunchEmit, RefusesWhatCannotBe) {
  const auto expect_refused = [](const Output& run, const std::string& sentence) {
    EXPECT_EQ(run.status, 2) << sentence;
    EXPECT_EQ(run.out, "");
    EXPECT_THAT(run.err, HasSubstr(sentence));
  };
  const auto with = [](std::vector<std::string> options, std::vector<std::string> command = {"/p", "--model-dir", "/m"}) {
    options.insert(options.end(), {"--ps", "1"});
    return emitted(std::move(options), std::move(command));
  };
  expect_refused(with({"--emit", "nomad"}), "nomad is none of kubernetes, slurm, systemd, compose");
  expect_refused(emitted({"--emit", "compose"}), "a job of one task needs no engine");
  expect_refused(with({"--master", "--emit", "compose"}), "leave --master out");
  expect_refused(emitted({"--workers", "1", "--emit", "slurm"}), "SHOAL_PS (--ps) is 0");
  expect_refused(shoal_program({"launch", "--ps", "1", "--emit", "slurm", "--"}), "what to launch is missing");
  expect_refused(with({"--emit", "slurm"}, {"/p"}), "have no --model-dir");
  expect_refused(with({"--emit", "kubernetes"}, {"/p", "--model-dir", "m"}), "--model-dir is m, and has to begin with '/'");
  expect_refused(with({"--emit", "kubernetes"}, {"/p", "--model-dir", "/a:b"}), "may have no ':'");
  expect_refused(with({"--emit", "compose"}, {"/p", "--model-dir", "/m", "--spare-dir", "/s"}),
                 "--spare-dir: the emitted files let");
  expect_refused(with({"--emit", "systemd", "--rendezvous", "b:1"}, {"/p", "--model-dir", "/a\nb"}), "control characters");
  expect_refused(with({"--emit", "slurm"}, {"/p", "--model-dir", "/m", "\xff"}), "word 4 behind -- is no UTF-8");
  expect_refused(with({"--emit", "slurm"}, {"-p", "--model-dir", "/m"}), "begins with '-'");
  expect_refused(with({"--emit", "slurm"}, {"/p", "--model-dir", "/m", "--tls-dir=x"}), "leave --tls-dir out");
  expect_refused(with({"--emit", "slurm", "--name", "a\nb"}), "--name: \"a\\nb\": a name has");
  for (const char* name : {"Job", "1job", "job-", "jo_b", "j\u00f6b"}) {
    expect_refused(with({"--emit", "slurm", "--name", name}), "a name has lower-case letters");
  }
  expect_refused(with({"--emit", "systemd"}), "on which board is rank 0? --rendezvous");
  expect_refused(with({"--emit", "systemd", "--rendezvous", "b"}), "--rendezvous");
  expect_refused(with({"--emit", "systemd", "--rendezvous", "b:1"}, {"p", "--model-dir", "/m"}),
                 "needs the whole path of the program on the boards, from '/' on");
  expect_refused(with({"--emit", "compose", "--rendezvous", "b:1"}), "--rendezvous is for --emit systemd");
  expect_refused(with({"--emit", "compose", "--dry-run"}), "--dry-run");
  expect_refused(with({"--emit", "compose", "--json"}), "--json");
  expect_refused(with({"--image", "x"}), "--emit");
}

class LaunchEmitFolder : public testing::InFolder {};

TEST_F(LaunchEmitFolder, KeepsWhatIsThere) {
  write("mnist-volume.yaml", "mine");
  const std::string before = everything();
  const Output run = emitted({"--ps", "1", "--emit", "kubernetes", "--emit-dir", folder});
  EXPECT_EQ(run.status, 2);
  EXPECT_EQ(run.out, "");
  EXPECT_THAT(run.err, HasSubstr("mnist-volume.yaml: cannot be made: File exists; nothing was changed"));
  EXPECT_EQ(everything(), before);
  EXPECT_EQ(read("mnist-volume.yaml"), "mine");
}

TEST(EmitQuoting, OfYaml) {
  using launch::yaml_text;
  EXPECT_EQ(yaml_text(""), "\"\"");
  EXPECT_EQ(yaml_text("a\"b\\c\nd\te\x7f"), R"("a\"b\\c\nd\x09e\x7f")");
  EXPECT_EQ(yaml_text("\u00e4 \u96ea \U0001f600"), "\"\u00e4 \u96ea \U0001f600\"");
  EXPECT_EQ(yaml_text("\u0085\u2028\u2029\ufeff"), R"("\x85\u2028\u2029\ufeff")");
  EXPECT_EQ(launch::yaml_list({}), "[]");
  EXPECT_EQ(launch::yaml_list({"a", "-"}), R"(["a", "-"])");
}

TEST(EmitQuoting, OfUnitsAndVariables) {
  EXPECT_EQ(launch::unit_word("50% \"x\" \\ $y\n\x01"), R"("50%% \"x\" \\ $y\n\x01")");
  EXPECT_EQ(launch::without_variables("$(A) $$"), "$$(A) $$$$");
}

TEST(EmitQuoting, FillsInOnce) { EXPECT_EQ(launch::filled("@a@-@b@ @a@", {{"a", "@b@"}, {"b", "x"}}), "@b@-x @b@"); }

}  // namespace
}  // namespace shoal::cli
