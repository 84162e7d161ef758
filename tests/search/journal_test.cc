// SPDX-License-Identifier: Apache-2.0
/// The journal of a search: what is written comes back, a torn end is dropped, and damage is told.
#include "shoal/search/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "../base/file_size_limit.h"
#include "../base/temporary_folder.h"

namespace shoal::tuning {
namespace {

using ::testing::HasSubstr;

SearchHeader header() {
  const auto space = Space::create({*parse_parameter("lr=1e-3..1e-1:log"), *parse_parameter("optimizer=sgd|adam"),
                                    *parse_parameter("units=1..9:int if optimizer=sgd")});
  return {.space = *space,
          .algorithm = Algorithm::kAsha,
          .seed = 7,
          .metric = "auc",
          .goal = Goal::kMax,
          .min_steps = 10,
          .max_steps = 90,
          .eta = 3,
          .program = {"./train", "--data-dir", "d\xff"}};
}

std::vector<Record> records() {
  return {
      TrialCreated{0, {{"lr", 0.1}, {"optimizer", std::string("sgd")}, {"units", int64_t(3)}}},
      TrialStarted{0, 1},
      TrialCreated{1, {{"lr", 1.0}, {"optimizer", std::string("adam\xff")}}},
      TrialStarted{1, 1},
      TrialObserved{0, 0, 10, 0.5, true},
      TrialObserved{1, 0, 10, std::nan(""), false},
      TrialEnded{.trial = 1, .outcome = Outcome::kFailed, .status = 3, .value = std::nan(""), .error = "loss is \xff NaN"},
      TrialEnded{.trial = 0, .outcome = Outcome::kRetry, .status = 137, .seconds = 1.5},
      TrialStarted{0, 2},
      TrialInterrupted{0, 12.5},
      TrialStarted{0, 3},
      TrialEnded{.trial = 0, .outcome = Outcome::kComplete, .value = 0.875, .step = 90, .seconds = 2.25}};
}

std::string whole_text() {
  std::string text = line_of(header());
  for (const Record& record : records()) text += line_of(record);
  return text;
}

std::string lines(const std::vector<Record>& list) {
  std::string text;
  for (const Record& record : list) text += line_of(record);
  return text;
}

TEST(Journal, ComesBackAsItWasWritten) {
  const auto contents = parse_journal(whole_text(), "j");
  ASSERT_TRUE(contents) << contents.error().message();
  ASSERT_TRUE(*contents);
  EXPECT_EQ(difference((*contents)->header, header()), "");
  EXPECT_EQ(lines((*contents)->records), lines(records()));
  EXPECT_EQ((*contents)->intact_bytes, whole_text().size());
  EXPECT_EQ(std::get<TrialCreated>((*contents)->records[0]).parameters, std::get<TrialCreated>(records()[0]).parameters);
}

TEST(Journal, DropsATornEndAtEveryByte) {
  const std::string text = whole_text();
  for (size_t size = 0; size <= text.size(); ++size) {
    const auto contents = parse_journal(std::string_view(text).substr(0, size), "j");
    ASSERT_TRUE(contents) << size << ": " << contents.error().message();
    const size_t end = text.rfind('\n', size == 0 ? 0 : size - 1);
    const size_t intact = size == 0 || end == std::string::npos ? 0 : end + 1;
    EXPECT_EQ(*contents ? (*contents)->intact_bytes : 0, intact) << size;
  }
}

/// Whatever byte is changed: it is read, or refused with the line, and never worse.
TEST(Journal, SurvivesAnyChangedByte) {
  const std::string text = whole_text();
  for (size_t i = 0; i < text.size(); ++i) {
    for (const char other : {'\0', '"', '{', '9', '\n', '\xff'}) {
      std::string damaged = text;
      damaged[i] = other;
      const auto contents = parse_journal(damaged, "j");
      if (contents) continue;
      EXPECT_EQ(contents.error().kind(), ErrorKind::kDataLoss);
      EXPECT_THAT(contents.error().message(), HasSubstr("j, line "));
    }
  }
}

TEST(Journal, NamesTheLineOfDamage) {
  const auto refusal = [](const std::string& behind) {
    const auto contents = parse_journal(line_of(header()) + behind, "dir/search.jsonl");
    return contents ? "" : contents.error().message();
  };
  EXPECT_THAT(refusal("garbage\n"), HasSubstr("dir/search.jsonl, line 2: "));
  EXPECT_THAT(refusal(line_of(TrialStarted{0, 1})), HasSubstr("line 2: there is no trial 0"));
  EXPECT_THAT(refusal(line_of(records()[2])), HasSubstr("line 2: trial 1 is created, but trial 0 comes next"));
  const std::string created = line_of(records()[0]), ended = line_of(TrialEnded{.trial = 0});
  EXPECT_THAT(refusal(created + ended + ended), HasSubstr("line 4: trial 0 has ended in an earlier line"));
  EXPECT_THAT(refusal("{\"record\":\"other\",\"trial\":0}\n"), HasSubstr("there is no trial 0"));
  EXPECT_THAT(refusal(created + "{\"record\":\"interrupted\",\"trial\":0}\n"), HasSubstr("line 3: \"seconds\""));
  EXPECT_THAT(refusal(created + "{\"record\":\"other\",\"trial\":0}\n"), HasSubstr("none of created"));
  EXPECT_THAT(refusal("{\"record\":\"created\",\"trial\":0,\"parameters\":{\"lr\":\"x\"}}\n"), HasSubstr("lr"));
  const auto no_header = parse_journal("{\"record\":\"created\"}\n", "j");
  ASSERT_FALSE(no_header);
  EXPECT_THAT(no_header.error().message(), HasSubstr("j, line 1"));
}

TEST(Journal, ReopensAfterATornWriteAndGoesOn) {
  const TemporaryFolder folder;
  const auto storage = make_file_storage();
  {
    auto journal = Journal::open(*storage, folder.path(), header());
    ASSERT_TRUE(journal) << journal.error().message();
    EXPECT_TRUE(journal->records().empty());
    ASSERT_TRUE(journal->append(records()[0]));
  }
  const std::string path = folder.path() + "/search.jsonl";
  const std::string text = *storage->read_all(path);
  ASSERT_TRUE(storage->write_atomically(path, text + "{\"record\":\"star"));
  {
    auto journal = Journal::open(*storage, folder.path(), header());
    ASSERT_TRUE(journal) << journal.error().message();
    EXPECT_EQ(lines(journal->records()), line_of(records()[0]));
    ASSERT_TRUE(journal->append(records()[1]));
  }
  EXPECT_EQ(*storage->read_all(path), text + line_of(records()[1]));
}

TEST(Journal, IsLockedAgainstASecondSearch) {
  const TemporaryFolder folder;
  const auto storage = make_file_storage();
  {
    const auto first = Journal::open(*storage, folder.path(), header());
    ASSERT_TRUE(first) << first.error().message();
    const auto second = Journal::open(*storage, folder.path(), header());
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().kind(), ErrorKind::kUnavailable);
    EXPECT_THAT(second.error().message(), HasSubstr("another search runs in " + folder.path()));
  }
  EXPECT_TRUE(Journal::open(*storage, folder.path(), header()));
}

TEST(Journal, SaysThatTheLockCannotBeWritten) {
  const TemporaryFolder folder;
  const auto storage = make_file_storage();
  const auto refused = [&] {
    const FileSizeLimit full(0);
    return Journal::open(*storage, folder.path(), header());
  }();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::kUnavailable);
  EXPECT_THAT(refused.error().message(), HasSubstr("cannot be locked: cannot write " + folder.path() + "/search_lock"));
  EXPECT_THAT(refused.error().message(), ::testing::Not(HasSubstr("another search")));
}

TEST(Journal, WritesNothingOnceItsFolderIsAnother) {
  const auto storage = make_file_storage();
  const auto refusal_after = [&](auto change) {
    const TemporaryFolder parent;
    const std::string folder = parent.path() + "/s";
    EXPECT_TRUE(storage->make_folders(folder));
    auto journal = Journal::open(*storage, folder, header());
    EXPECT_TRUE(journal) << journal.error().message();
    EXPECT_TRUE(journal->append(records()[0]));
    change(folder);
    const auto appended = journal->append(records()[1]);
    EXPECT_FALSE(appended);
    EXPECT_FALSE(journal->check_in_place());
    if (appended) return std::string();
    EXPECT_EQ(appended.error().kind(), ErrorKind::kFailedPrecondition);
    return appended.error().message();
  };
  EXPECT_THAT(refusal_after([&](const std::string& folder) { ASSERT_TRUE(storage->remove_all(folder)); }),
              HasSubstr("/s is not the folder of this search any more"));
  EXPECT_THAT(refusal_after([&](const std::string& folder) { ASSERT_TRUE(storage->remove(folder + "/search.jsonl")); }),
              HasSubstr("search.jsonl was removed"));
  EXPECT_THAT(refusal_after([&](const std::string& folder) {
                ASSERT_TRUE(storage->rename(folder, folder + "2"));
                ASSERT_TRUE(storage->make_folders(folder));
                ASSERT_TRUE(Journal::open(*storage, folder, header()));  // Another search takes the place.
                const std::string moved = *storage->read_all(folder + "2/search.jsonl");
                EXPECT_EQ(moved, line_of(header()) + line_of(records()[0]));
              }),
              HasSubstr("the same search continues where it is now"));
}

/// The folder of a search that was interrupted: a journal of two trials, each with its folder.
class JournalBesideTrials : public ::testing::Test {
 protected:
  JournalBesideTrials() {
    for (const int64_t trial : {0, 1}) {
      const bool made = storage_->make_folders(trial_folder(folder_.path(), trial)).has_value();
      EXPECT_TRUE(made) << trial;
    }
    write(whole_text());
  }
  void write(const std::string& text) { EXPECT_TRUE(storage_->write_atomically(path_, text)); }
  std::string refusal() {
    const auto opened = Journal::open(*storage_, folder_.path(), header());
    EXPECT_FALSE(opened);
    if (opened) return {};
    EXPECT_EQ(opened.error().kind(), ErrorKind::kFailedPrecondition);
    EXPECT_THAT(opened.error().message(), HasSubstr("put the journal back as it was, or begin another search"));
    return opened.error().message();
  }

  const TemporaryFolder folder_;
  const std::unique_ptr<Storage> storage_ = make_file_storage();
  const std::string path_ = folder_.path() + "/search.jsonl";
};

TEST_F(JournalBesideTrials, IsRefusedIfItIsMissing) {
  ASSERT_TRUE(storage_->remove(path_));
  EXPECT_THAT(refusal(), HasSubstr("search.jsonl is missing: it has no record of trial 1"));
  EXPECT_FALSE(storage_->exists(path_));  // Nothing was written that would let the next start pass.
}

TEST_F(JournalBesideTrials, IsRefusedIfItIsCutBeforeARecordOfATrial) {
  const std::string begin = line_of(header());
  for (const std::string& text : {std::string(), begin.substr(0, 9), begin, begin + line_of(records()[0])}) {
    write(text);
    EXPECT_THAT(refusal(), HasSubstr("search.jsonl is cut: it has no record of trial 1"));
    EXPECT_EQ(*storage_->read_all(path_), text);
  }
}

TEST_F(JournalBesideTrials, IsOpenedIfOnlyItsLastLineIsTorn) {
  const std::string text = whole_text();
  write(text.substr(0, text.size() - 5));
  const auto journal = Journal::open(*storage_, folder_.path(), header());
  ASSERT_TRUE(journal) << journal.error().message();
  EXPECT_EQ(journal->records().size(), records().size() - 1);
}

TEST_F(JournalBesideTrials, LeavesFoldersThatAreNoTrials) {
  ASSERT_TRUE(storage_->make_folders(folder_.path() + "/trials/7"));  // The folder of trial 7 is 0007.
  ASSERT_TRUE(storage_->make_folders(folder_.path() + "/trials/notes"));
  ASSERT_TRUE(storage_->write_atomically(folder_.path() + "/trials/0008", "a file"));
  EXPECT_TRUE(Journal::open(*storage_, folder_.path(), header()));
}

TEST(Journal, RefusesAnotherSearchNamingTheDifference) {
  const TemporaryFolder folder;
  const auto storage = make_file_storage();
  ASSERT_TRUE(Journal::open(*storage, folder.path(), header()));
  const auto refusal = [&](auto change) {
    SearchHeader other = header();
    change(other);
    const auto opened = Journal::open(*storage, folder.path(), other);
    EXPECT_FALSE(opened);
    if (opened) return std::string();
    EXPECT_EQ(opened.error().kind(), ErrorKind::kFailedPrecondition);
    return opened.error().message();
  };
  EXPECT_THAT(refusal([](SearchHeader& other) { other.seed = 8; }), HasSubstr("its seed is 7, and now is to be 8"));
  EXPECT_THAT(refusal([](SearchHeader& other) { other.metric = "loss"; }), HasSubstr("its metric is auc"));
  EXPECT_THAT(refusal([](SearchHeader& other) { other.goal = Goal::kMin; }), HasSubstr("its goal is max"));
  EXPECT_THAT(refusal([](SearchHeader& other) { other.algorithm = Algorithm::kRandom; }),
              HasSubstr("its algorithm is asha"));
  EXPECT_THAT(refusal([](SearchHeader& other) { other.eta = 4; }), HasSubstr("its eta is 3"));
  EXPECT_THAT(refusal([](SearchHeader& other) { other.program.pop_back(); }), HasSubstr("its program is ./train"));
  EXPECT_THAT(refusal([](SearchHeader& other) { other.space = *Space::create({*parse_parameter("lr=1")}); }),
              HasSubstr("its space is lr=0.001..0.1:log"));
}

TEST(Journal, ParsesNames) {
  EXPECT_EQ(*parse_algorithm("asha"), Algorithm::kAsha);
  EXPECT_THAT(parse_algorithm("bayes").error().message(), HasSubstr("there are grid, random, asha"));
}

}  // namespace
}  // namespace shoal::tuning
