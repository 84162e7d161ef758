// SPDX-License-Identifier: Apache-2.0
/// Labels that are missing or no number are told where they are read, since nobody knows their line once rows are shuffled.
#include <gmock/gmock.h>

#include <cmath>

#include "collecting.h"
#include "shoal/data/csv_columns.h"

namespace shoal::data {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class CsvLabels : public WithEnvironment {
 protected:
  /// The error of reading all of it, shuffled and in batches; "" if there is none.
  std::string sentence(const std::string& text, const CsvOptions& options) {
    path_ = folder_.write("t.csv", text);
    const auto iterator = open(Dataset::csv({path_}, options).shuffle(100, {.seed = 1}).batch(3), env());
    for (Element batch;;) {
      const auto more = iterator->next(batch);
      if (!more) return more.error().message();
      if (!*more) return "";
    }
  }
  std::string sentence_of_columns(const std::string& text, const CsvOptions& options, CsvColumnsOptions how = {}) {
    path_ = folder_.write("t.csv", text);
    const auto columns = infer_csv_columns(path_, options, std::move(how));
    return columns ? "" : columns.error().message();
  }
  const CsvOptions number_{
      .columns = {{"x", DType::kFloat32, "nan"}, {"y", DType::kFloat32, "nan"}}, .labels = {"y"}, .header_lines = 1};
  const CsvOptions word_{.columns = {{"x", DType::kFloat32, "nan"}, {"y"}}, .labels = {"y"}, .header_lines = 1};
  TemporaryFolder folder_;
  std::string path_;
};

TEST_F(CsvLabels, ThatAreMissingAreNamedByTheirLine) {
  const std::string gap = "x,y\n1,2\n,3\n4,\n5,6\n";
  EXPECT_THAT(sentence(gap, number_),
              AllOf(HasSubstr(path_ + ", line 4 (offset 11): the label, column y, is missing; give the row a label"),
                    HasSubstr("missing_labels")));
  EXPECT_THAT(sentence("x,y\n1,yes\n2,\n", word_), HasSubstr("line 3 (offset 10): the label, column y, is missing"));
  EXPECT_THAT(sentence("x,y\n1,yes\n2, \n", word_), HasSubstr("line 3 (offset 10): the label, column y, is missing"));
  EXPECT_THAT(sentence_of_columns("x,y\n1,yes\n2, \n", {.labels = {"y"}, .header_lines = 1}),
              HasSubstr("line 3 (offset 10): the label, column y, is missing"));
  for (const char* numbers : {"", "y"}) {
    const CsvColumnsOptions how{.numbers = *numbers ? std::vector<std::string>{numbers} : std::vector<std::string>{}};
    EXPECT_THAT(sentence_of_columns(gap, {.labels = {"y"}, .header_lines = 1}, how),
                HasSubstr(path_ + ", line 4 (offset 11): the label, column y, is missing"));
  }
}

TEST_F(CsvLabels, ThatAreNoFiniteNumberAreNamedByTheirLine) {
  for (const char* label : {"nan", "NaN", "inf", "-inf", "1e400"}) {
    EXPECT_THAT(
        sentence("x,y\n1,2\n3," + std::string(label) + "\n", number_),
        HasSubstr(path_ + ", line 3 (offset 8): the label, column y, is \"" + label + "\", which is no finite number"));
  }
}

TEST_F(CsvLabels, MayBeMissingIfTheProgramSaysSo) {
  CsvOptions options = number_;
  options.missing_labels = true;
  EXPECT_EQ(sentence("x,y\n1,2\n,3\n4,\n5,nan\n", options), "");
  options = word_;
  options.missing_labels = true;
  EXPECT_EQ(sentence("x,y\n1,yes\n2,\n", options), "");
  EXPECT_EQ(sentence_of_columns("x,y\n1,2\n4,\n", {.labels = {"y"}, .header_lines = 1, .missing_labels = true}), "");
  // A column that says what a missing field counts as has said so.
  options = word_;
  options.columns[1].missing = "";
  EXPECT_EQ(sentence("x,y\n1,yes\n2,\n", options), "");
  options = number_;
  options.columns[1].missing = "-1";
  EXPECT_EQ(sentence("x,y\n1,2\n4,\n", options), "");
}

}  // namespace
}  // namespace shoal::data
