// SPDX-License-Identifier: Apache-2.0
/// Rows know the records of files that they were read from, whatever stages lie between: Iterator::place_of_row().
#include <gmock/gmock.h>

#include "collecting.h"

namespace shoal::data {
namespace {

/// Two files of records whose only field is where they are: "a.csv, line 3".
class RowPlaces : public WithEnvironment {
 protected:
  RowPlaces() : first_(write("a.csv", 40)), second_(write("b.csv", 25)) {}

  /// The number of rows read, each of which was where it says. Rows are those of the lone feature, or of "place".
  int64_t rows_at_their_places(const Dataset& dataset, IterateOptions options = {}) {
    const auto iterator = open(dataset, env(), options);
    int64_t rows = 0;
    for (Element batch;;) {
      const auto more = iterator->next(batch);
      if (!more) ADD_FAILURE() << more.error().message();
      if (!more || !*more) return rows;
      const Tensor* const named = batch.features.find("place");
      const std::vector<std::string>& texts = (named ? *named : batch.features.single()).strings();
      for (size_t row = 0; row < texts.size(); ++row) {
        EXPECT_EQ(iterator->place_of_row(int64_t(row)), folder_ / texts[row]);
        ++rows;
      }
    }
  }
  Dataset csv() const {
    return Dataset::csv({first_, second_}, {.columns = {{"place"}, {"more"}}, .unused = {"more"}, .header_lines = 1});
  }
  /// The file's lines. Some records have line ends in them.
  std::string write(const std::string& name, int count) {
    std::string text = "place,more\n";
    for (int line = 2; line < 2 + count; ++line) {
      const bool two_lines = line % 7 == 0;
      text += "\"" + name + ", line " + std::to_string(line) + "\"," + (two_lines ? "\"x\ny\"\n" : "x\n");
      line += two_lines;
    }
    return folder_.write(name, text);
  }

  TemporaryFolder folder_;
  std::string first_, second_;
};

TEST_F(RowPlaces, AreKnownBehindEveryStage) {
  const int64_t all = rows_at_their_places(csv().batch(1));
  EXPECT_GT(all, 50);
  EXPECT_EQ(rows_at_their_places(csv().shuffle(10, {.seed = 3}).batch(4)), all);
  EXPECT_EQ(rows_at_their_places(csv().cache().shuffle(100, {.seed = 3}).repeat(3).batch(7).prefetch(2)), 3 * all);
  EXPECT_EQ(rows_at_their_places(csv().padded_batch(4).cache().repeat(2)), 2 * all);
  EXPECT_EQ(rows_at_their_places(csv().batch(5).unbatch().batch(3)), all);
  EXPECT_EQ(rows_at_their_places(csv().batch(5).cache().shuffle(3, {.seed = 1}).unbatch().batch(4)), all);
  EXPECT_EQ(rows_at_their_places(csv().skip(3).take(9).concatenate(csv().take(2)).batch(4)), 11);
  EXPECT_EQ(rows_at_their_places(csv().shard(2, 1).enumerate().batch(4)), all / 2);
  EXPECT_EQ(rows_at_their_places(csv().window(4)), all);
  EXPECT_EQ(rows_at_their_places(csv().batch(5).rebatch(3)), all);
  const auto length = [](const Element& one) { return int64_t(one.features["place"].strings()[0].size()); };
  EXPECT_EQ(rows_at_their_places(csv().bucket_by_length(length, {.boundaries = {17}, .batch_sizes = {3, 4}})), all);
  const auto same = [](Element one, RandomStream&) { return one; };
  EXPECT_EQ(rows_at_their_places(csv().map(same, {.parallel = 3}).ignore_errors(0).batch(4)), all);
  EXPECT_EQ(rows_at_their_places(csv().scan({}, [](Element&, Element one) { return one; }).batch(4)), all);
  EXPECT_EQ(rows_at_their_places(Dataset::sample_from({csv(), csv()}, {.seed = 1}).batch(4)), 2 * all);
  for (const bool parallel : {false, true}) {
    const auto one_file = [this](const Element&) { return csv(); };
    EXPECT_EQ(rows_at_their_places(Dataset::range(3).interleave(one_file, {.cycle = 2, .parallel = parallel}).batch(4)),
              3 * all);
  }
  const Split split = csv().split(0.3);
  EXPECT_EQ(rows_at_their_places(split.training.batch(4)) + rows_at_their_places(split.held_out.batch(4)), all);
}

TEST_F(RowPlaces, AreKnownBehindMapAndFilterOfElements) {
  const MapFn rebuilt = [](Element element) -> Result<Element> {
    return Element{.features = {{"place", element.features["place"]}}};
  };
  const FilterFn not_of_a = [](const Element& element) -> Result<bool> {
    return element.features["place"].strings()[0][0] != 'a';
  };
  const int64_t all = rows_at_their_places(csv().batch(1));
  EXPECT_EQ(rows_at_their_places(csv().map(rebuilt).shuffle(9, {.seed = 2}).batch(4)), all);
  EXPECT_EQ(rows_at_their_places(csv().cache().map(rebuilt, {.parallel = 3}).repeat(2).batch(4)), 2 * all);
  EXPECT_EQ(rows_at_their_places(csv().map(rebuilt, {.parallel = 3, .deterministic = false}).batch(4)), all);
  const int64_t of_b = rows_at_their_places(csv().filter(not_of_a).batch(4));
  EXPECT_GT(of_b, 0);
  EXPECT_LT(of_b, all);
  // Lines of text that a map() makes elements of.
  const MapFn parsed = [](Element element) -> Result<Element> {
    const std::string& text = element.features.single().strings()[0];
    return Element{.features = Tensor::of_strings(Shape{}, {text})};
  };
  const std::string lines = folder_.write("c.txt", "c.txt, line 1\nc.txt, line 2\n\nc.txt, line 4\n");
  const FilterFn not_empty = [](const Element& e) -> Result<bool> { return !e.features.single().strings()[0].empty(); };
  EXPECT_EQ(rows_at_their_places(Dataset::text_lines({lines}).filter(not_empty).map(parsed).batch(2)), 3);
}

TEST_F(RowPlaces, AreKnownOfEverySource) {
  const std::string json = folder_.write("d.jsonl", "{\"place\":\"d.jsonl, line 1\"}\n\n{\"place\":\"d.jsonl, line 3\"}\n");
  EXPECT_EQ(rows_at_their_places(Dataset::json_lines({json}, {.fields = {{"place"}}}).shuffle(2, {.seed = 1}).batch(2)), 2);
  const std::vector<std::string> records{"e.npy, record 1", "e.npy, record 2"};
  EXPECT_TRUE(write_npy(env().storage(), folder_ / "e.npy", Tensor::of_strings({2}, records)));
  EXPECT_EQ(rows_at_their_places(Dataset::npy_rows({folder_ / "e.npy"}).shuffle(2, {.seed = 1}).batch(2)), 2);
}

TEST_F(RowPlaces, AreNotGuessed) {
  const auto place = [this](const Dataset& dataset) {
    const auto iterator = open(dataset, env());
    Element batch;
    EXPECT_TRUE(value_or_raise(iterator->next(batch)));
    return iterator->place_of_row(0);
  };
  const auto csv_as = [this](const char* name) {
    return Dataset::csv({first_},
                        {.columns = {{name}, {"more"}}, .unused = {"more"}, .header_lines = 1, .by_position = true});
  };
  const std::string line_2 = first_ + ", line 2";
  EXPECT_EQ(place(csv().batch(4)), line_2);
  EXPECT_EQ(place(csv().batch(4).map([](Element element) -> Result<Element> { return element; })), "")
      << "a map of batches may move rows";
  EXPECT_EQ(place(Dataset::zip({csv_as("x"), csv_as("y")}).batch(4)), "") << "a row has two places";
  EXPECT_EQ(place(Dataset::zip({csv_as("x"), Dataset::range(9)}).batch(4)), line_2);
  EXPECT_EQ(place(Dataset::range(9).batch(4)), "");
  EXPECT_EQ(place(csv().batch(2).batch(2)), "") << "its rows are batches";
  EXPECT_EQ(place(csv()), "") << "it has no rows";
  const auto iterator = open(csv().batch(4), env());
  EXPECT_EQ(iterator->place_of_row(0), "");
  Element batch;
  ASSERT_TRUE(value_or_raise(iterator->next(batch)));
  const Position position = value_or_raise(iterator->save());
  EXPECT_EQ(iterator->place_of_row(0), line_2);
  EXPECT_EQ(iterator->place_of_row(4), "") << "there is no such row";
  ASSERT_TRUE(iterator->restore(position));
  EXPECT_EQ(iterator->place_of_row(0), "") << "nothing was given since";
}

}  // namespace
}  // namespace shoal::data
