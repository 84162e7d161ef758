// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <set>

#include "collecting.h"

namespace shoal::data {
namespace {

class ListFiles : public WithEnvironment {
 protected:
  ListFiles() {
    for (const char* name : {"b.idx", "a.idx", "c.idx", "a.txt", ".hidden.idx", "sub1/x.idx", "sub2/x.idx", "sub2/y.idx"}) {
      folder_.write(name, "");
    }
  }
  std::string in_folder(const std::string& name) const { return folder_.path() + "/" + name; }
  std::vector<std::string> names(const Dataset& dataset, IterateOptions options = {}) {
    std::vector<std::string> result;
    const std::unique_ptr<Iterator> iterator = open(dataset, env(), options);
    Element element;
    while (value_or_raise(iterator->next(element))) {
      EXPECT_EQ(element.features.single().shape(), Shape{});
      result.push_back(element.features.single().strings()[0].substr(folder_.path().size() + 1));
    }
    return result;
  }
  TemporaryFolder folder_;
};
using Names = std::vector<std::string>;

TEST_F(ListFiles, NoMatchIsNotFoundNamingThePatterns) {
  const Dataset dataset = Dataset::list_files({in_folder("*.csv"), in_folder("none/*"), in_folder("no.idx")});
  const auto iterator = dataset.iterate(env());
  ASSERT_FALSE(iterator);
  EXPECT_EQ(iterator.error().kind(), ErrorKind::kNotFound);
  for (const char* pattern : {"*.csv", "none/*", "no.idx"}) {
    EXPECT_NE(iterator.error().message().find(in_folder(pattern)), std::string::npos) << iterator.error().message();
  }
}

TEST_F(ListFiles, OneMatch) {
  EXPECT_EQ(names(Dataset::list_files(in_folder("a.idx"))), Names{"a.idx"});
  EXPECT_EQ(names(Dataset::list_files(in_folder("*.txt"))), Names{"a.txt"});
}

TEST_F(ListFiles, ManyMatchesAreSortedAndEachThere) {
  const ListFilesOptions sorted{.shuffle = false};
  EXPECT_EQ(names(Dataset::list_files(in_folder("*.idx"), sorted)), (Names{"a.idx", "b.idx", "c.idx"}));
  EXPECT_EQ(names(Dataset::list_files(in_folder("[ab].*"), sorted)), (Names{"a.idx", "a.txt", "b.idx"}));
  EXPECT_EQ(names(Dataset::list_files(in_folder("?.txt"), sorted)), (Names{"a.txt"}));
  EXPECT_EQ(names(Dataset::list_files(in_folder("sub*/*.idx"), sorted)), (Names{"sub1/x.idx", "sub2/x.idx", "sub2/y.idx"}));
  EXPECT_EQ(names(Dataset::list_files(in_folder("sub2/*"), sorted)), (Names{"sub2/x.idx", "sub2/y.idx"}));
  EXPECT_EQ(names(Dataset::list_files({in_folder("c*"), in_folder("a.idx"), in_folder("*.idx")}, sorted)),
            (Names{"a.idx", "b.idx", "c.idx"}));
}

/// Two literals could be the two ends of one std::string.
TEST_F(ListFiles, TakesPatternsInEachForm) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_.path());
  const auto listed = [this](const Dataset& dataset) {
    Names found;
    const auto iterator = open(dataset, env());
    for (Element element; value_or_raise(iterator->next(element));) found.push_back(element.features.single().strings()[0]);
    std::ranges::sort(found);
    return found;
  };
  const std::string a = "a.*", b = "b.*";
  const std::string_view view_of_a = a, view_of_b = b;
  const char* const pointer = "a.*";
  const std::filesystem::path path = "a.*";
  const Names of_a = {"a.idx", "a.txt"}, of_both = {"a.idx", "a.txt", "b.idx"},
              of_three = {"a.idx", "a.txt", "b.idx", "c.idx"};
  const ListFilesOptions sorted{.shuffle = false};
  for (const Dataset& one :
       {Dataset::list_files("a.*"), Dataset::list_files(a), Dataset::list_files(view_of_a), Dataset::list_files(pointer),
        Dataset::list_files(path), Dataset::list_files({"a.*"}), Dataset::list_files({a}), Dataset::list_files({view_of_a}),
        Dataset::list_files("a.*", {.shuffle = false}), Dataset::list_files(a, sorted),
        Dataset::list_files(view_of_a, sorted), Dataset::list_files({"a.*"}, sorted)}) {
    EXPECT_EQ(listed(one), of_a);
  }
  for (const Dataset& two :
       {Dataset::list_files({"a.*", "b.*"}), Dataset::list_files({a, b}), Dataset::list_files({view_of_a, view_of_b}),
        Dataset::list_files({a, "b.*"}), Dataset::list_files(std::vector<std::string>{a, b}),
        Dataset::list_files({"a.*", "b.*"}, {.shuffle = false}), Dataset::list_files({"a.*", "b.*"}, sorted),
        Dataset::list_files({a, b}, sorted)}) {
    EXPECT_EQ(listed(two), of_both);
  }
  EXPECT_EQ(listed(Dataset::list_files({"a.*", "b.*", "c.*"})), of_three);
  EXPECT_EQ(listed(Dataset::list_files({"a.*", "b.*", "c.*"}, {.shuffle = false})), of_three);
  std::filesystem::current_path(before);
}

TEST_F(ListFiles, ShufflesOverAllMatchesAnewAtEachPass) {
  for (int i = 0; i < 40; ++i) folder_.write("many/" + std::to_string(i), "");
  const Names twice = names(Dataset::list_files(in_folder("many/*")).repeat(2), {.seed = 1});
  ASSERT_EQ(twice.size(), 80u);
  Names first(twice.begin(), twice.begin() + 40), second(twice.begin() + 40, twice.end());
  EXPECT_NE(first, second);
  EXPECT_FALSE(std::is_sorted(first.begin(), first.end()));
  EXPECT_EQ(std::set<std::string>(first.begin(), first.end()).size(), 40u);
  EXPECT_EQ(std::set<std::string>(second.begin(), second.end()).size(), 40u);
}

TEST_F(ListFiles, SeedsAreThoseOfAnyShuffle) {
  const Dataset unseeded = Dataset::list_files(in_folder("*/*")),
                seeded = Dataset::list_files(in_folder("*/*"), {.seed = 3});
  for (int i = 0; i < 40; ++i) folder_.write("more/" + std::to_string(i), "");
  EXPECT_EQ(names(seeded, {.seed = 1, .trainer_index = 0, .num_trainers = 2}),
            names(seeded, {.seed = 1, .trainer_index = 1, .num_trainers = 2}));
  EXPECT_NE(names(unseeded, {.seed = 1, .trainer_index = 0, .num_trainers = 2}),
            names(unseeded, {.seed = 1, .trainer_index = 1, .num_trainers = 2}));
  EXPECT_NE(names(unseeded), names(unseeded));
}

TEST_F(ListFiles, ContinuesFromEveryPositionUnlessTheFilesChanged) {
  const Dataset dataset = Dataset::list_files(in_folder("*/*")).repeat(2);
  const std::unique_ptr<Iterator> iterator = open(dataset, env());
  std::vector<Position> positions;
  Names all;
  Element element;
  do {
    positions.push_back(value_or_raise(iterator->save()));
    if (value_or_raise(iterator->next(element))) all.push_back(element.features.single().strings()[0]);
  } while (all.size() == positions.size());
  ASSERT_EQ(all.size(), 6u);
  for (size_t i = 0; i < positions.size(); ++i) {
    const std::unique_ptr<Iterator> resumed = open(dataset, env());
    ASSERT_TRUE(resumed->restore(positions[i]));
    for (size_t j = i; j < all.size(); ++j) {
      ASSERT_TRUE(value_or_raise(resumed->next(element)));
      EXPECT_EQ(element.features.single().strings()[0], all[j]);
    }
    EXPECT_FALSE(value_or_raise(resumed->next(element)));
  }
  folder_.write("sub1/new", "");
  const Result<void> restored = open(dataset, env())->restore(positions[2]);
  ASSERT_FALSE(restored);
  EXPECT_EQ(restored.error().kind(), ErrorKind::kFailedPrecondition);
}

}  // namespace
}  // namespace shoal::data
