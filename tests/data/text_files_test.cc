// SPDX-License-Identifier: Apache-2.0
/// Text lines and CSV: what files hold, what is wrong with them, and going on after a restart.
#include <algorithm>

#include "collecting.h"
#include "shoal/base/random.h"

#if __has_include(<zlib.h>)
#include <zlib.h>
#define SHOAL_TEST_ZLIB 1
#endif

namespace shoal::data {
namespace {

using Strings = std::vector<std::string>;

struct Lines {
  Strings lines;
  std::optional<Error> error;
};

Lines lines_of(Iterator& iterator) {
  Lines result;
  Element element;
  for (;;) {
    Result<bool> more = iterator.next(element);
    if (!more) result.error = more.error();
    if (!more || !*more) return result;
    result.lines.push_back(element.features.single().strings()[0]);
  }
}

class TextLines : public WithEnvironment {
 protected:
  Lines read(const std::string& contents, const TextLinesOptions& options = {}) {
    path_ = folder_.write("text.txt", contents);
    return lines_of(*open(Dataset::text_lines({path_}, options), env()));
  }
  TemporaryFolder folder_;
  std::string path_;
};

TEST_F(TextLines, GivesEveryLineWithoutItsEnd) {
  EXPECT_EQ(read("one\ntwo\r\n\nfour").lines, (Strings{"one", "two", "", "four"}));
  EXPECT_EQ(read("a quote \" is nothing special\n").lines, (Strings{"a quote \" is nothing special"}));
  EXPECT_EQ(read("").lines, Strings{});
  EXPECT_EQ(read("\n").lines, Strings{""});
  EXPECT_EQ(read("a\r").lines, Strings{"a"});
}

TEST_F(TextLines, PassesOverTheHeaderOfEachFile) {
  const std::string one = folder_.write("1", "h1\nh2\na\nb\n"), two = folder_.write("2", "h1\nh2\nc"),
                    short_one = folder_.write("3", "h1\n");
  EXPECT_EQ(lines_of(*open(Dataset::text_lines({one, short_one, two}, {.header_lines = 2}), env())).lines,
            (Strings{"a", "b", "c"}));
}

TEST_F(TextLines, GivesLongLinesUpToTheLimit) {
  const std::string longest(300000, 'x');
  EXPECT_EQ(read("a\n" + longest + "\nb\n").lines, (Strings{"a", longest, "b"}));
  const Lines refused = read("a\n" + longest + "\nb\n", {.line_bytes_max = 1000});
  EXPECT_EQ(refused.lines, Strings{"a"});
  ASSERT_TRUE(refused.error);
  EXPECT_EQ(refused.error->kind(), ErrorKind::kDataLoss);
  EXPECT_EQ(refused.error->message(), "input element 1: " + path_ +
                                          ", line 2 (offset 2): the record is longer than 1000 bytes "
                                          "(line_bytes_max, --line-bytes-max)");
  EXPECT_EQ(read(std::string(1000, 'y') + "\n", {.line_bytes_max = 1000}).lines, Strings{std::string(1000, 'y')});
}

TEST_F(TextLines, NamesAMissingFile) {
  const Lines missing = lines_of(*open(Dataset::text_lines({folder_.path() + "/none"}), env()));
  ASSERT_TRUE(missing.error);
  EXPECT_EQ(missing.error->kind(), ErrorKind::kNotFound);
  EXPECT_NE(missing.error->message().find("/none"), std::string::npos);
}

TEST_F(TextLines, GoesOnAfterARestartAtEveryLine) {
  const std::string one = folder_.write("1", "h\na\nbb\n"), two = folder_.write("2", "h\nccc\r\n\ne");
  const Dataset dataset = Dataset::text_lines({one, two}, {.header_lines = 1}).repeat(2);
  const Strings all = lines_of(*open(dataset, env())).lines;
  ASSERT_EQ(all.size(), 10u);
  for (size_t at = 0; at <= all.size(); ++at) {
    auto iterator = open(dataset, env());
    Element element;
    for (size_t i = 0; i < at; ++i) ASSERT_TRUE(value_or_raise(iterator->next(element)));
    const Position position = value_or_raise(iterator->save());
    auto other = open(dataset, env());
    ASSERT_TRUE(other->restore(position)) << at;
    EXPECT_EQ(lines_of(*other).lines, Strings(all.begin() + ptrdiff_t(at), all.end())) << at;
  }
}

TEST_F(TextLines, RefusesAPositionBeyondTheFile) {
  path_ = folder_.write("text.txt", "one\ntwo\nthree\n");
  auto iterator = open(Dataset::text_lines({path_}), env());
  Element element;
  ASSERT_TRUE(value_or_raise(iterator->next(element)));
  ASSERT_TRUE(value_or_raise(iterator->next(element)));
  const Position position = value_or_raise(iterator->save());
  folder_.write("text.txt", "one\n");
  const auto restored = open(Dataset::text_lines({path_}), env())->restore(position);
  ASSERT_FALSE(restored);
  EXPECT_EQ(restored.error().kind(), ErrorKind::kFailedPrecondition);
}

TEST_F(TextLines, RefusesOptionsThatCannotBe) {
  EXPECT_EQ(raised([] { Dataset::text_lines({}); })->kind(), ErrorKind::kInvalidArgument);
  EXPECT_EQ(raised([] { Dataset::text_lines({"a"}, {.header_lines = -1}); })->kind(), ErrorKind::kInvalidArgument);
}

#if defined(SHOAL_TEST_ZLIB)
TEST_F(TextLines, ReadsGzip) {
  path_ = folder_.path() + "/text.gz";
  const gzFile file = gzopen(path_.c_str(), "wb");
  ASSERT_GT(gzputs(file, "one\ntwo\n"), 0);
  gzclose(file);
  const Dataset dataset = Dataset::text_lines({path_});
  auto iterator = open(dataset, env());
  Element element;
  ASSERT_TRUE(value_or_raise(iterator->next(element)));
  auto other = open(dataset, env());
  ASSERT_TRUE(other->restore(value_or_raise(iterator->save())));
  EXPECT_EQ(lines_of(*other).lines, Strings{"two"});
}
#endif

class Csv : public WithEnvironment {
 protected:
  std::optional<Error> read(const std::string& contents, const CsvOptions& options, std::vector<Element>& elements) {
    path_ = folder_.write("file.csv", contents);
    auto iterator = open(Dataset::csv({path_}, options), env());
    for (;;) {
      Element element;
      Result<bool> more = iterator->next(element);
      if (!more) return more.error();
      if (!*more) return std::nullopt;
      elements.push_back(std::move(element));
    }
  }
  std::string sentence(const std::string& contents, const CsvOptions& options) {
    std::vector<Element> elements;
    const auto error = read(contents, options, elements);
    if (!error) return "accepted";
    EXPECT_EQ(error->kind(), ErrorKind::kDataLoss);
    const std::string where = "input element " + std::to_string(elements.size()) + ": " + path_;
    EXPECT_EQ(error->message().find(where), 0u) << error->message();
    return error->message().substr(std::min(where.size(), error->message().size()));
  }
  static std::string text(const Element& element, const char* name) { return element.features.find(name)->strings()[0]; }
  const CsvOptions options_{
      .columns = {{.name = "name"}, {.name = "age", .dtype = DType::kInt64}, {.name = "weight", .dtype = DType::kFloat32}},
      .labels = {"age"}};
  TemporaryFolder folder_;
  std::string path_;
};

TEST_F(Csv, GivesColumnsByName) {
  std::vector<Element> elements;
  ASSERT_FALSE(read("Ann,31,60.5\n\nBob,-4,+1e-2\r\n", options_, elements));
  ASSERT_EQ(elements.size(), 2u);
  EXPECT_EQ(text(elements[0], "name"), "Ann");
  EXPECT_EQ(elements[0].features.find("weight")->as<float>()[0], 60.5f);
  EXPECT_EQ(elements[0].features.size(), 2u);
  EXPECT_EQ(elements[0].labels.single().as<int64_t>()[0], 31);
  EXPECT_EQ(text(elements[1], "name"), "Bob");
  EXPECT_EQ(elements[1].features.find("weight")->as<float>()[0], 0.01f);
  EXPECT_EQ(elements[1].labels.single().as<int64_t>()[0], -4);
}

TEST_F(Csv, UnderstandsQuotes) {
  std::vector<Element> elements;
  const CsvOptions two{.columns = {{.name = "a"}, {.name = "b"}}};
  ASSERT_FALSE(read("\"x, y\",\"say \"\"yes\"\"\"\n\"two\nlines\",\"\"\nplain,\"last\"", two, elements));
  ASSERT_EQ(elements.size(), 3u);
  EXPECT_EQ(text(elements[0], "a"), "x, y");
  EXPECT_EQ(text(elements[0], "b"), "say \"yes\"");
  EXPECT_EQ(text(elements[1], "a"), "two\nlines");
  EXPECT_EQ(text(elements[1], "b"), "");
  EXPECT_EQ(text(elements[2], "b"), "last");
}

TEST_F(Csv, MissingFieldsTakeTheValueOfTheirColumn) {
  std::vector<Element> elements;
  CsvOptions options = options_;
  options.missing_text = "?";
  options.trim_blanks = true;
  options.separator = ';';
  options.columns[0].missing = "nobody";
  options.columns[1].missing = "-1";
  ASSERT_FALSE(read(" ? ; ? ; 2\n;3 ;\t4\n\" ? \"; 5; 6", options, elements));
  ASSERT_EQ(elements.size(), 3u);
  EXPECT_EQ(text(elements[0], "name"), "nobody");
  EXPECT_EQ(elements[0].labels.single().as<int64_t>()[0], -1);
  EXPECT_EQ(text(elements[1], "name"), "nobody");
  EXPECT_EQ(elements[1].features.find("weight")->as<float>()[0], 4.0f);
  EXPECT_EQ(text(elements[2], "name"), " ? ");
  EXPECT_EQ(sentence("Ann;1;?\n", options),
            ", line 1 (offset 0): the field of column weight is missing; write a value there, or, in a program, give the "
            "column one for missing fields (CsvColumn::missing), which may be \"nan\" if the column is float32");
}

TEST_F(Csv, ATabMaySeparateFieldsWhoseBlanksAreTrimmed) {
  std::vector<Element> elements;
  CsvOptions options = options_;
  options.trim_blanks = true;
  options.separator = '\t';
  options.columns[0].missing = "nobody";
  ASSERT_FALSE(read("\"Ann\"\t 31 \t\"60.5\"\n\t\"3\"\t4\n", options, elements));
  ASSERT_EQ(elements.size(), 2u);
  EXPECT_EQ(text(elements[0], "name"), "Ann");
  EXPECT_EQ(elements[0].features.find("weight")->as<float>()[0], 60.5f);
  EXPECT_EQ(text(elements[1], "name"), "nobody");
  EXPECT_EQ(elements[1].labels.single().as<int64_t>()[0], 3);
}

TEST_F(Csv, LeavesOutWhatIsUnused) {
  std::vector<Element> elements;
  CsvOptions options = options_;
  options.unused = {"weight"};
  ASSERT_FALSE(read("Ann,31,no number\n", options, elements));
  ASSERT_EQ(elements.size(), 1u);
  EXPECT_EQ(elements[0].features.find("weight"), nullptr);
}

TEST_F(Csv, NamesFileLineAndWhatIsWrong) {
  EXPECT_EQ(sentence("Ann,31,60.5\nBob,3\n", options_), ", line 2 (offset 12): the record has 2 fields, expected 3");
  EXPECT_EQ(sentence("Ann,31,60.5,\n", options_), ", line 1 (offset 0): the record has 4 fields, expected 3");
  EXPECT_EQ(sentence("Ann,x,1\n", options_),
            ", line 1 (offset 0): the field of column age is \"x\", expected int64; if that says that it is missing, let "
            "missing_text (--missing) be that text");
  EXPECT_EQ(
      sentence("Ann,1.5,1\n", options_),
      ", line 1 (offset 0): the field of column age is \"1.5\", expected int64; it has a fraction, so the column has to be "
      "float32");
  EXPECT_EQ(sentence("Ann,+-5,1\n", options_), ", line 1 (offset 0): the field of column age is \"+-5\", expected int64");
  EXPECT_EQ(sentence("Ann,99999999999999999999,1\n", options_),
            ", line 1 (offset 0): the field of column age is \"99999999999999999999\", expected int64; it is beyond "
            "the range of int64");
  EXPECT_EQ(
      sentence("\"A\nB\",1,2\n\"C,1,2\n", options_),
      ", line 3 (offset 10): the file ends inside of the quoted field that begins here; if the file knows no quoting, set "
      "quoting to false (--no-quoting)");
  EXPECT_EQ(
      sentence("\"A\"B,1,2\n", options_),
      ", line 1 (offset 3): text follows the closing quote of field 1; a quote within a quoted field is doubled; if the "
      "file knows no quoting, set quoting to false (--no-quoting)");
}

TEST_F(Csv, RefusesOptionsThatCannotBe) {
  auto kind = [](CsvOptions options) {
    const auto error = raised([&] { Dataset::csv({"a"}, std::move(options)); });
    return error ? error->message() : "accepted";
  };
  EXPECT_EQ(kind({}), "csv: no column becomes a feature");
  EXPECT_EQ(kind({.columns = {{.name = "a"}, {.name = "a"}}}), "csv: column a is named twice");
  EXPECT_EQ(kind({.columns = {{.name = "a", .dtype = DType::kUInt8}}}),
            "csv: column a cannot be uint8; choose string, float32, int64 or int32");
  EXPECT_EQ(kind({.columns = {{.name = "a", .dtype = DType::kInt32, .missing = "x"}}}),
            "csv: column a: its value for missing fields, \"x\", is no int32");
  EXPECT_EQ(kind({.columns = {{.name = "a"}}, .labels = {"b"}}), "csv: there is no column b; there are: a");
  EXPECT_EQ(kind({.columns = {{.name = "a"}}, .separator = '"'}), "csv: the separator cannot be a quote or a line end");
  EXPECT_EQ(kind({.columns = {{.name = "a"}}}), "accepted");
}

TEST_F(Csv, BatchesAndShuffles) {
  std::string contents;
  for (int i = 0; i < 100; ++i) contents += "row," + std::to_string(i) + ",0.5\n";
  path_ = folder_.write("file.csv", contents);
  auto iterator = open(Dataset::csv({path_}, options_).shuffle(100, {.seed = 3}).batch(50), env());
  Element batch;
  int64_t sum = 0;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(value_or_raise(iterator->next(batch)));
    ASSERT_EQ(batch.labels.single().shape(), Shape{50});
    for (int64_t age : batch.labels.single().as<int64_t>()) sum += age;
  }
  EXPECT_EQ(sum, 99 * 50);
}

/// Whatever a file holds, the reader ends with an element, an end or an error.
TEST_F(Csv, SurvivesAnyBytes) {
  RandomStream stream(12);
  const std::string letters = "a1,\"\n\r;? ";
  for (int round = 0; round < 2000; ++round) {
    std::string contents;
    for (uint64_t i = stream.below(40); i > 0; --i) contents.push_back(letters[stream.below(letters.size())]);
    std::vector<Element> elements;
    CsvOptions options{.columns = {{.name = "a"}, {.name = "b"}}, .trim_blanks = round % 2 == 0, .line_bytes_max = 20};
    const auto error = read(contents, options, elements);
    if (error) {
      // A lone CR in the first line: lines may end with it in all of the file.
      const bool lone_cr = error->kind() == ErrorKind::kFailedPrecondition && contents.find('\r') != std::string::npos;
      EXPECT_TRUE(error->kind() == ErrorKind::kDataLoss || lone_cr) << contents << error->message();
    }
    EXPECT_LE(elements.size(), contents.size());
  }
}

}  // namespace
}  // namespace shoal::data
