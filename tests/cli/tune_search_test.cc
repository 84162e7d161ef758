// SPDX-License-Identifier: Apache-2.0
/// Searches of `shoal tune` within the test's process, on a machine that lacks something for a while.
#include <cerrno>

#include "fixture.h"
#include "shoal/base/path_error.h"
#include "shoal/base/storage.h"
#include "shoal/testing/forwarding_storage.h"
#include "tune/search_run.h"

namespace shoal::cli::tune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A disk on which calls for paths that end in `end` fail with the errno `number`.
class ShortDisk final : public shoal::testing::ForwardingStorage {
 public:
  ShortDisk(std::string end, int number) : ForwardingStorage(make_file_storage()), end_(std::move(end)), number_(number) {}

  Result<void> make_folders(const std::string& path) override {
    if (path.ends_with(end_)) return path_error("make", path, number_);
    return disk_->make_folders(path);
  }
  Result<std::unique_ptr<ReadableFile>> open(const std::string& path) override {
    if (path.ends_with(end_)) return path_error("open", path, number_);
    return disk_->open(path);
  }

 private:
  const std::string end_;
  const int number_;
};

class TuneSearch : public cli::testing::InFolder {
 protected:
  TuneSearch() {
    options_.folder = folder + "/s";
    options_.header.algorithm = tuning::Algorithm::kGrid;
    options_.header.space = tuning::Space::create({tuning::parse_parameter("x=1|2|3").value()}).value();
    options_.header.program = {"/bin/sh", "-c", "echo '{\"loss\": 1}' > $SHOAL_REPORT_FILE", "sh"};
  }

  Result<int> run(Storage& storage) {
    out_.clear();
    err_.clear();
    TextOutput out(out_), err(err_);
    const ReadInput in = [](std::span<std::byte>) -> Result<size_t> { return size_t(0); };
    Context context{.in = in, .out = out, .err = err, .storage = storage};
    return run_search(context, options_);
  }
  /// "KIND TRIAL" of each record of the journal.
  std::vector<std::string> records() {
    std::vector<std::string> words;
    std::istringstream text(read("s/search.jsonl"));
    for (std::string line; std::getline(text, line);) {
      const auto json = cli::testing::Json::parse(line);
      if (json.contains("trial")) words.push_back(json["record"].get<std::string>() + " " + json["trial"].dump());
    }
    return words;
  }

  TuneOptions options_;
  std::string out_, err_;
};

TEST_F(TuneSearch, EndsIfATrialCannotStartForAShortageAndContinuesLater) {
  for (const int number : {ENOSPC, EMFILE, EAGAIN}) {
    SCOPED_TRACE(number);
    ShortDisk disk("trials/0001", number);
    const Result<int> ended = run(disk);
    ASSERT_FALSE(ended);
    EXPECT_EQ(ended.error().kind(), ErrorKind::kUnavailable);
    EXPECT_THAT(ended.error().message(), HasSubstr("trial 1 cannot be started: cannot make "));
    EXPECT_THAT(ended.error().message(), HasSubstr("the same command continues the search"));
    EXPECT_THAT(records(), ElementsAre("created 0", "started 0", "ended 0", "created 1", "started 1"));

    const auto sound = make_file_storage();
    EXPECT_EQ(run(*sound).value(), 0) << err_;
    EXPECT_THAT(read("s/trials.csv"), HasSubstr("\r\n1,complete,1,"));
    EXPECT_THAT(read("s/trials.csv"), HasSubstr("\r\n2,complete,1,"));
    ASSERT_TRUE(sound->remove_all(options_.folder));
  }
}

/// A disk that becomes full when the results are written.
class FullAtTheEnd final : public shoal::testing::ForwardingStorage {
 public:
  FullAtTheEnd() : ForwardingStorage(make_file_storage()) {}
  Result<void> rename(const std::string& from, const std::string& to) override {
    if (to.ends_with("trials.csv")) return path_error("rename", from, ENOSPC);
    return disk_->rename(from, to);
  }
};

TEST_F(TuneSearch, FailsIfItsResultsCannotBeWritten) {
  FullAtTheEnd disk;
  EXPECT_EQ(run(disk).value(), exit_status(ErrorKind::kUnavailable));
  EXPECT_THAT(err_, HasSubstr("the results could not be written: cannot rename "));
  EXPECT_THAT(out_, HasSubstr("The best of 3 trials is trial 0"));
  EXPECT_EQ(std::filesystem::read_symlink(folder + "/s/best"), "trials/0000");  // The link does not need the table.
  const auto sound = make_file_storage();
  EXPECT_EQ(run(*sound).value(), 0) << err_;
  EXPECT_TRUE(std::filesystem::exists(folder + "/s/trials.csv"));
}

TEST_F(TuneSearch, PrintsNoControlCharactersOfParameters) {
  options_.header.space = tuning::Space::create({tuning::parse_parameter("x=a\x1b[2J|b\u009b").value()}).value();
  const auto sound = make_file_storage();
  EXPECT_EQ(run(*sound).value(), 0) << err_;
  EXPECT_THAT(err_, HasSubstr("trial 0: x a\uFFFD[2J\n"));
  EXPECT_THAT(out_, HasSubstr("x a [2J\n"));
  EXPECT_THAT(out_, HasSubstr("x b\uFFFD\n"));
  EXPECT_THAT(out_, HasSubstr(", x a\uFFFD[2J\n"));
  EXPECT_THAT(out_ + err_, ::testing::Not(::testing::AnyOf(HasSubstr("\x1b"), HasSubstr("\u009b"))));
}

TEST_F(TuneSearch, AsksTrialsThatRunToEndIfAnotherCannotStart) {
  options_.tuner.parallel = 3;
  options_.header.program = {"/bin/sh", "-c", "while :; do sleep 1; done", "sh"};
  ShortDisk disk("trials/0001", ENOSPC);
  EXPECT_EQ(run(disk).error().kind(), ErrorKind::kUnavailable);
  // A trial that is killed together with the search would have no record of its time. Trial 2 was not started.
  EXPECT_THAT(records(),
              ElementsAre("created 0", "started 0", "created 1", "started 1", "created 2", "started 2", "interrupted 0"));
  EXPECT_FALSE(std::filesystem::exists(folder + "/s/trials/0002"));
}

TEST_F(TuneSearch, FailsNoTrialWhoseResultsCannotBeReadNow) {
  for (const char* file : {"trials/0001/report.json", "tfevents.1"}) {
    SCOPED_TRACE(file);
    options_.header.program[2] =
        "folder=${SHOAL_REPORT_FILE%/*}; [ $SHOAL_TRIAL != 1 ] || { mkdir -p $folder/eval && : > "
        "$folder/eval/events.out.tfevents.1; }; "
        "echo '{\"loss\": 1}' > $SHOAL_REPORT_FILE";
    ShortDisk disk(file, EMFILE);
    const Result<int> ended = run(disk);
    ASSERT_FALSE(ended);
    EXPECT_EQ(ended.error().kind(), ErrorKind::kUnavailable);
    EXPECT_THAT(ended.error().message(), HasSubstr("the results of trial 1: cannot open "));
    EXPECT_THAT(records(), ElementsAre("created 0", "started 0", "ended 0", "created 1", "started 1"));

    const auto sound = make_file_storage();
    EXPECT_EQ(run(*sound).value(), 0) << err_;
    EXPECT_THAT(read("s/trials.csv"), HasSubstr("\r\n1,complete,1,"));
    ASSERT_TRUE(sound->remove_all(options_.folder));
  }
}

}  // namespace
}  // namespace shoal::cli::tune
