// SPDX-License-Identifier: Apache-2.0
// `shoal data`: the inputs that it refuses, and its errors. data_test.py compares its results with other programs.
#include <regex>
#include <set>

#include "../base/stored_gzip.h"
#include "data/cell.h"
#include "data/number_summary.h"
#include "data/picture.h"
#include "data/text_summary.h"
#include "fixture.h"
#include "shoal/base/storage.h"
#include "shoal/columns/column.h"
#include "shoal/data/npy.h"
#include "shoal/data/record_files.h"
#include "shoal/data/tar_files.h"
#include "shoal/data/tf_example.h"

namespace shoal::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Json;
using testing::Output;
using testing::shoal_program;
using ::testing::SizeIs;

class DataCommand : public testing::InFolder {
 protected:
  Output data(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "data");
    return shoal_program(std::move(arguments));
  }
  std::string path(const std::string& name) const { return folder + "/" + name; }
};

TEST_F(DataCommand, SaysWhatATableHasAsText) {
  write("t", "wood,age\noak,3\nash,\n");
  const Output run = data({"describe", path("t")});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.out, path("t") + ": csv, 2 records\n  \"wood\": text, 3 bytes\n  \"age\": float32, 1 missing, 3 to 3\n");
}

TEST_F(DataCommand, TellsTfExamplesFromOtherRecords) {
  data::TfRecordWriter examples = value_or_raise(data::TfRecordWriter::create(path("e")));
  for (int i = 0; i < 3; ++i) {
    data::TensorMap tensors{{"label", Tensor::scalar<int64_t>(i)}, {"pixels", Tensor(DType::kUInt8, {2, 2})}};
    if (i > 0) tensors.set("scores", Tensor::of<float>({i}, std::vector<float>(size_t(i), 0.5f)));
    ASSERT_TRUE(examples.append(data::make_tf_example(tensors)));
  }
  ASSERT_TRUE(examples.finish());
  data::TfRecordWriter others = value_or_raise(data::TfRecordWriter::create(path("o")));
  ASSERT_TRUE(others.append("\xff no example"));
  ASSERT_TRUE(others.append("x"));
  ASSERT_TRUE(others.finish());
  const Json json = data({"describe", path("e"), path("o"), "--json"}).json();
  EXPECT_EQ(json["files"][0]["format"], "tf-example");
  EXPECT_EQ(json["files"][0]["records"], 3);
  const Json fields = json["files"][0]["fields"];
  ASSERT_THAT(fields, SizeIs(3));
  EXPECT_EQ(fields[0]["name"], "label");
  EXPECT_EQ(fields[0]["type"], "int64");
  EXPECT_EQ(fields[0]["max"], 2);
  EXPECT_EQ(fields[2]["missing"], 1);
  EXPECT_EQ(fields[2]["type"], "float32");
  EXPECT_EQ(fields[2]["lengths"], (Json{{"min", 1}, {"max", 2}}));
  EXPECT_EQ(json["files"][1]["format"], "tf-record");
  EXPECT_EQ(json["files"][1]["records"], 2);
  EXPECT_EQ(json["files"][1]["fields"][0]["bytes"], (Json{{"min", 1}, {"max", 12}}));
}

TEST_F(DataCommand, ListsInJsonLinesStayAsTheyAre) {
  const auto sampled = [this](const std::string& line) {
    write("l.jsonl", line + "\n");
    return data({"sample", "--first", "--json", path("l.jsonl")}).json()["sample"][0]["values"];
  };
  for (const char* line :
       {R"({"x":[1,null,3]})", R"({"x":[true,2.5]})", R"({"x":[[1,2],[3,4]]})", R"({"x":[[1],[2,3],[]]})",
        R"({"x":[{"b":1},{"c":[5,{}]},{"b":"\"é,"}]})", R"({"x":[1,"a"],"y":{"z":[2,3.5]}})", R"({"x":[]})",
        R"({"x":[true,false],"n":null})", R"({"x":[[["a"],["b"]]]})"}) {
    const Json values = Json::parse(line);
    Json expected = Json::object();
    for (const auto& [name, value] : values.items()) {
      if (value.is_object()) {
        expected[name + ".z"] = value["z"];
      } else {
        expected[name] = value;
      }
    }
    EXPECT_EQ(sampled(line), expected) << line;
  }
  write("l.jsonl", "{\"a\":{\"b\":[[1,2]]},\"a.b\":5}\n");
  const Output twice = data({"sample", "--first", path("l.jsonl")});
  EXPECT_EQ(twice.status, exit_status(ErrorKind::kDataLoss));
  EXPECT_THAT(twice.err, HasSubstr("l.jsonl, line 1: two values have the name a.b: a key has a dot in it"));
  for (const char* line :
       {R"({"a":1,"a":2})", R"({"a":null,"a":[2]})", R"({"b":{"a":1,"a":2}})", R"({"a":{"b":1},"a":{"b":2}})",
        R"({"a":{"b":1},"a":{"c":2}})", R"({"a.b":1,"a":{"b":3},"a":{"c":2}})"}) {
    write("l.jsonl", std::string(line) + "\n");
    const Output doubled = data({"describe", path("l.jsonl")});
    EXPECT_EQ(doubled.status, exit_status(ErrorKind::kDataLoss));
    EXPECT_THAT(doubled.err, HasSubstr("l.jsonl, line 1: an object has the key \"a\" twice")) << line;
  }
  write("l.jsonl", "{\"x\":[1,2]}\n{\"x\":[1,null]}\n{\"m\":[[1,2],[3,4]]}\n");
  const Json fields = data({"describe", "--json", path("l.jsonl")}).json()["files"][0]["fields"];
  EXPECT_EQ(fields[0]["type"], "int64 or json");
  EXPECT_EQ(fields[1]["shape"], (Json{2, 2}));
}

TEST_F(DataCommand, AListAmongSingleValuesIsTold) {
  write("l.jsonl", "{\"a\":1}\n{\"a\":\"x\"}\n{\"a\":[1]}\n");
  EXPECT_THAT(data({"describe", path("l.jsonl")}).out,
              HasSubstr("\"a\": text, lists of 1 value in 1 of 3 records, 1 byte\n"));
  const Json field = data({"describe", "--json", path("l.jsonl")}).json()["files"][0]["fields"][0];
  EXPECT_EQ(field["lists"], 1);
  EXPECT_EQ(field["lengths"], (Json{{"min", 1}, {"max", 1}}));
  write("l.jsonl", "{\"a\":[1,2]}\n{\"a\":[1,2,3]}\n{\"a\":null}\n");
  EXPECT_THAT(data({"describe", path("l.jsonl")}).out,
              HasSubstr("\"a\": int64, lists of 2 to 3 values, 1 missing, 1 to 3\n"));
  write("l.jsonl", "{\"a\":[1,2]}\n{\"a\":7}\n");
  EXPECT_THAT(data({"describe", path("l.jsonl")}).out,
              HasSubstr("\"a\": int64, lists of 2 values in 1 of 2 records, 1 to 7\n"));
}

TEST_F(DataCommand, StatisticsTellTheLengthOfALongText) {
  const std::string text(20'001, 'x');
  write("t", text + "\n" + text + "\nshort\n");
  const Output run = data({"statistics", path("t"), "--format", "text"});
  EXPECT_THAT(run.out, HasSubstr("    2  \"" + text.substr(0, 60) + "\"... (20001 bytes)\n    1  \"short\"\n"));
  const Json frequent = data({"statistics", path("t"), "--format", "text", "--json"}).json()["fields"][0]["most_frequent"];
  EXPECT_THAT(frequent[0]["text"].get<std::string>(), HasSubstr(text.substr(0, 100) + "... (20001 bytes, XXH3 "));
  // The cut is between two characters.
  std::string accents;
  for (int i = 0; i < 200; ++i) accents += "\xC3\xB6";
  write("t", "a" + accents + "\n");
  EXPECT_THAT(data({"statistics", path("t"), "--format", "text"}).out,
              HasSubstr("\"a" + accents.substr(0, 58) + "\"... (401 bytes)\n"));
}

TEST_F(DataCommand, AnEmptyFeatureIsAMissingValue) {
  data::TfRecordWriter records = value_or_raise(data::TfRecordWriter::create(path("e")));
  ASSERT_TRUE(records.append(data::make_tf_example({{"age", Tensor::scalar<int64_t>(30)}})));
  ASSERT_TRUE(records.append(std::string("\x0a\x09\x0a\x07\x0a\x03\x61ge\x12\x00", 11)));
  ASSERT_TRUE(records.finish());
  const Json field = data({"describe", "--json", path("e")}).json()["files"][0]["fields"][0];
  EXPECT_EQ(field["type"], "int64");
  EXPECT_EQ(field["missing"], 1);
  EXPECT_EQ(field["max"], 30);
}

TEST_F(DataCommand, WholeNumbersAreShownWithAllTheirDigits) {
  write("t", "when,share\n1700000001,0.25\n1700009999,0.5\n");
  EXPECT_THAT(data({"describe", path("t")}).out, HasSubstr("int64, 1700000001 to 1700009999\n"));
}

TEST_F(DataCommand, ATextThatIsNearlyATableIsTold) {
  write("t", "a,b\n1,2\n3,4\n5,6,7\n");
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"describe", path("t")}, {"statistics", path("t"), "--column", "a"}, {"vocabulary", path("t")}}) {
    EXPECT_THAT(data(words).err, HasSubstr("/t: most of its first lines have 2 fields"));
  }
  EXPECT_EQ(data({"describe", path("t"), "--format", "text"}).err, "");
}

TEST_F(DataCommand, TakesTheWordOfFormatAndSeparator) {
  write("t", "1,2\n3,4\n");
  EXPECT_EQ(data({"describe", path("t"), "--format", "text", "--json"}).json()["files"][0]["fields"][0]["type"], "text");
  write("s", "a:b\n1:2\n");
  const Json json = data({"describe", path("s"), "--separator", ":", "--json"}).json();
  EXPECT_EQ(json["files"][0]["fields"][1]["name"], "b");
  const Json headless = data({"describe", path("s"), "--separator", ":", "--no-header", "--json"}).json();
  EXPECT_EQ(headless["files"][0]["records"], 2);
  const Output unknown = data({"describe", path("t"), "--format", "cvs"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.err, HasSubstr("--format cvs: there is no such format; there are image-folder, text, csv,"));
  EXPECT_THAT(unknown.err, HasSubstr("did you mean csv?"));
}

TEST_F(DataCommand, AColumnNameThatIsThereTwiceIsTwoFields) {
  write("t", "a,a\n1,x\n2,y\n");
  const Json fields = data({"describe", path("t"), "--json"}).json()["files"][0]["fields"];
  ASSERT_THAT(fields, SizeIs(2));
  EXPECT_EQ(fields[0]["name"], "a");
  EXPECT_EQ(fields[0]["type"], "int64");
  EXPECT_EQ(fields[1]["name"], "a (column 2)");
  EXPECT_EQ(fields[1]["type"], "text");
}

TEST_F(DataCommand, EmptyAndMissingFilesAreTold) {
  write("empty", "");
  EXPECT_EQ(data({"describe", path("empty")}).out, path("empty") + ": text, 0 records\n");
  EXPECT_EQ(data({"describe", path("empty"), "--format", "csv"}).status, 0);
  EXPECT_EQ(data({"statistics", path("empty"), "--json"}).json()["records"], 0);
  EXPECT_EQ(data({"sample", path("empty"), "--json"}).json()["sample"], Json::array());
  const Output missing = data({"describe", path("none")});
  EXPECT_EQ(missing.status, 2);
  EXPECT_THAT(missing.err, HasSubstr(path("none")));
  EXPECT_EQ(data({}).status, 2);
  EXPECT_EQ(data({"describe"}).status, 2);
}

TEST_F(DataCommand, AFormatThatIsNotReadIsNamed) {
  write("p", std::string("PAR1\x15", 5) + "rest");
  const Output parquet = data({"describe", path("p")});
  EXPECT_EQ(parquet.status, 2);
  EXPECT_THAT(parquet.err, HasSubstr(path("p") + " is a Parquet file; write it as CSV"));
  write("z", std::string("ab\0cd", 5));
  const Output unknown = data({"describe", path("z")});
  EXPECT_EQ(unknown.status, 4);
  EXPECT_THAT(unknown.err, HasSubstr(path("z") + " (offset 2): a zero byte"));
}

TEST_F(DataCommand, AnErrorLeavesStandardOutputEmptyAlsoWithJson) {
  write("t.csv", "a,b\n1,2\n3\n");
  for (const char* command : {"describe", "statistics", "sample", "vocabulary"}) {
    for (const std::string& file : {path("t.csv"), path("none.csv")}) {
      std::vector<std::string> words{command, file, "--format", "csv", "--json"};
      if (std::string_view(command) == "vocabulary") words.insert(words.end(), {"--column", "a"});
      const Output run = data(words);
      EXPECT_NE(run.status, 0) << command;
      EXPECT_EQ(run.out, "") << command;
      EXPECT_THAT(run.err, HasSubstr(file)) << command;
    }
  }
}

TEST_F(DataCommand, StatisticsOfAColumnThatIsNotThereAreRefused) {
  write("t", "wood,age\noak,3\nash,4\n");
  const Output run = data({"statistics", path("t"), "--column", "wodo"});
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.err, HasSubstr("--column wodo: no record has it; did you mean wood?"));
}

TEST_F(DataCommand, AVocabularyIsAFileForAColumn) {
  write("t", "wood,age\noak,1\nash,2\noak,3\n,4\nelm,5\nash,6\noak,7\n");
  const Output run = data({"vocabulary", path("t"), "--column", "wood", "--min-count", "2", "-o", path("words")});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.out, "");
  EXPECT_EQ(read("words"), "oak\nash\n");
  EXPECT_NO_THROW(columns::categorical_by_vocabulary_file("wood", path("words")));
  const Output again = data({"vocabulary", path("t"), "--column", "wood", "-o", path("words")});
  EXPECT_EQ(again.status, 2);
  EXPECT_THAT(again.err, HasSubstr("nothing was changed"));
  EXPECT_EQ(read("words"), "oak\nash\n");
}

TEST_F(DataCommand, AVocabularyHasABoundAndLinesWithoutLineEnds) {
  write("t", "wood,age\noak,1\nash,2\n\"e\nlm\",3\n");
  const Output many = data({"vocabulary", path("t"), "--column", "wood", "--most", "1", "-o", path("words")});
  EXPECT_EQ(many.status, 2);
  EXPECT_THAT(many.err, HasSubstr("there are more than 1 different words"));
  EXPECT_THAT(many.err, HasSubstr("--most"));
  EXPECT_THAT(data({"vocabulary", path("t"), "--column", "wood"}).err,
              HasSubstr("the text \"e\\nlm\" has a line end in it"));
  EXPECT_EQ(data({"vocabulary", path("t"), "--column", "wood", "--words", "--size", "2"}).out, "ash\ne\n");
  EXPECT_THAT(data({"vocabulary", path("t")}).err,
              HasSubstr("--column is needed: values have names here; there are \"wood\", \"age\""));
}

TEST_F(DataCommand, TextForATerminalHasNoControlCharacters) {
  write("t",
        "a \x1b[31mb\x07\xff\n\xc2\x9b"
        "1m\nx\n");
  const Output run = data({"sample", path("t"), "--format", "text"});
  for (const char c : run.out) EXPECT_TRUE(c == '\n' || (c >= ' ' && c != '\x7f')) << int(c);
  EXPECT_THAT(run.out, HasSubstr("\\u009b1m"));
  write("u", "h\xC3\xB6he\n");
  EXPECT_THAT(data({"sample", path("u")}).out, HasSubstr("\"h\xC3\xB6he\""));
}

#if __has_include(<zlib.h>)
/// One member of a gzip file is whole, and the next one is damaged: what the first one has is read, with a warning.
TEST_F(DataCommand, BytesBehindGzipAreToldOfEachFormat) {
  data::TfRecordWriter records = value_or_raise(data::TfRecordWriter::create(path("records")));
  ASSERT_TRUE(records.append("\xff no example"));
  ASSERT_TRUE(records.finish());
  data::TfRecordWriter examples = value_or_raise(data::TfRecordWriter::create(path("examples")));
  ASSERT_TRUE(examples.append(data::make_tf_example({{"label", Tensor::scalar<int64_t>(1)}})));
  ASSERT_TRUE(examples.finish());
  data::TarWriter tar = value_or_raise(data::TarWriter::create(path("tar")));
  ASSERT_TRUE(tar.append("1.txt", "x"));
  ASSERT_TRUE(tar.finish());
  ASSERT_TRUE(data::write_npy(*make_file_storage(), path("npy"), Tensor::of<float>({2}, {1, 2})));
  const std::vector<std::pair<std::string, std::string>> files{
      {"csv", "wood,age\noak,3\nelm,4\n"},
      {"json-lines", "{\"wood\": \"oak\"}\n"},
      {"text", "oak\nelm\n"},
      {"tf-record", read("records")},
      {"tf-example", read("examples")},
      {"tar", read("tar").substr(0, 1024)},  // Without the end of the archive.
      {"npy", read("npy")},
      {"idx", std::string("\0\0\x08\x01\0\0\0\x02xy", 10)},
  };
  for (const auto& [format, contents] : files) {
    const std::string file = path(format + ".gz");
    write(format + ".gz", stored_gzip(contents) + "\x1f\x8c damaged");
    std::vector<std::vector<std::string>> commands{{"describe", file}, {"sample", file}, {"statistics", file}};
    if (format == "csv" || format == "json-lines") commands.push_back({"vocabulary", file, "--column", "wood"});
    if (format == "text") commands.push_back({"vocabulary", file});
    for (const std::vector<std::string>& command : commands) {
      const Output run = data(command);
      EXPECT_EQ(run.status, 0) << run.err;
      EXPECT_EQ(run.err, "shoal: " + file +
                             ": the last 10 bytes of the file are no gzip data, and are passed over, as gzip does; if rows "
                             "are missing, the file is damaged there\n")
          << command[0];
    }
    EXPECT_THAT(data({"describe", file}).out, HasSubstr(": " + format + ", "));
  }
  write("empty.gz", stored_gzip("") + "\x1f\x8c damaged");
  EXPECT_THAT(data({"describe", path("empty.gz"), "--format", "csv"}).err, HasSubstr("the last 10 bytes of the file"));
}
#endif

std::set<std::string> flags_in(const std::string& text) {
  const std::regex flag("--[a-z]+(-[a-z]+)*");
  return {std::sregex_token_iterator(text.begin(), text.end(), flag), std::sregex_token_iterator()};
}

TEST_F(DataCommand, ErrorsNameFlagsThatTheCommandHas) {
  const std::vector<std::string> files{
      "a,b\n1,\"x\n2,y\n",           // A quoted field without an end.
      "a,b\n1,5\" nail\n",           // A quote within a field.
      "a,b\n1,\"x\" y\n",            // Text behind a quoted field.
      "a,b\n1, \"x\"\n",             // A quote behind a blank.
      "# made by hand\na,b\n1,2\n",  // A remark in the place of the header.
      "\na,b\n1,2\n",                // An empty line there.
      "a,b\n1," + std::string(200, 'x') + "\n",
      "a,b\n1,\"" + std::string(200, 'x') + "\n",
  };
  std::set<std::string> all;
  for (const std::string command : {"describe", "sample", "statistics", "vocabulary"}) {
    const std::set<std::string> known = flags_in(data({command, "--help"}).out);
    const auto check = [&](const Output& run, const std::string& contents) {
      EXPECT_EQ(run.status, 4) << contents << run.err;
      const std::set<std::string> named = flags_in(run.err);
      EXPECT_FALSE(named.empty()) << run.err;
      for (const std::string& flag : named) EXPECT_TRUE(known.contains(flag)) << command << ": " << run.err;
      all.insert(named.begin(), named.end());
    };
    for (const std::string& contents : files) {
      write("t", contents);
      std::vector<std::string> words{command, path("t"), "--format", "csv", "--line-bytes-max", "100"};
      if (command == "vocabulary") words.insert(words.end(), {"--column", "b"});
      check(data(words), contents);
    }
    for (const std::string format : {"text", "json-lines"}) {
      write("t", "{\"a\": \"" + std::string(200, 'x') + "\"}\n");
      check(data({command, path("t"), "--format", format, "--line-bytes-max", "100"}), format);
    }
  }
  EXPECT_THAT(all, ElementsAre("--line-bytes-max", "--no-quoting", "--skip-lines", "--trim"));
}

TEST_F(DataCommand, FlagsOfTablesAreThoseOfPredict) {
  const auto in_one_line = [](const std::string& help) {
    std::istringstream words(help);
    std::string line;
    for (std::string word; words >> word;) line += word + " ";
    return line;
  };
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"data", "describe", "--help"}, {"predict", "--help"}}) {
    const std::string help = in_one_line(shoal_program(command).out);
    EXPECT_THAT(help, HasSubstr("--trim Blanks around fields do not count "));
    EXPECT_THAT(help,
                HasSubstr("A quote is a character as any other, as in 5\" nails; the output has quotes all the same "));
    EXPECT_THAT(help, HasSubstr("Lines before the table that are passed over "));
    EXPECT_THAT(help, HasSubstr("The most bytes of one row "));
  }
  write("t", "a,b\n1,2\n");
  for (const std::vector<std::string>& wrong :
       std::vector<std::vector<std::string>>{{"--skip-lines", "-1"}, {"--line-bytes-max", "0"}}) {
    EXPECT_EQ(data({"describe", path("t"), wrong[0], wrong[1]}).status, 2);
  }
}

TEST_F(DataCommand, TablesAreReadAsTheFlagsSay) {
  const auto described = [this](const std::string& contents, std::vector<std::string> flags) {
    write("t", contents);
    flags.insert(flags.begin(), {"describe", path("t"), "--json"});
    const Output run = data(flags);
    EXPECT_EQ(run.status, 0) << run.err;
    if (run.status != 0) return std::string();
    const Json file = run.json()["files"][0];
    std::string text = file["format"].get<std::string>() + " " + std::to_string(file["records"].get<int>());
    for (const Json& field : file["fields"])
      text += " " + field["name"].get<std::string>() + ":" + field["type"].get<std::string>();
    return text;
  };
  EXPECT_EQ(described("a,b\n1,\"x\n2,y\n", {"--no-quoting"}), "csv 2 a:int64 b:text");
  EXPECT_EQ(described("a,b\n1, \"2\"\n", {"--trim"}), "csv 1 a:int64 b:int64");
  EXPECT_EQ(described("# made by hand\na,b\n1,2\n", {"--skip-lines", "1"}), "csv 1 a:int64 b:int64");
  // Two lines are passed over, of which the last one looks like a header.
  EXPECT_EQ(described("remark\nx,y\n1,2\n3,4\n", {"--skip-lines", "2", "--no-header"}),
            "csv 2 column 1:int64 column 2:int64");
  EXPECT_EQ(described("a,b\n1," + std::string(200, 'x') + "\n", {"--line-bytes-max", "210"}), "csv 1 a:int64 b:text");
  EXPECT_EQ(described("# objects\n{\"a\": 1}\n", {"--skip-lines", "1"}), "json-lines 1 a:int64");
  EXPECT_EQ(described("remark\noak\n", {"--skip-lines", "1"}), "text 1 :text");
}

TEST_F(DataCommand, BenchNeedsAProgramThatIsThere) {
  EXPECT_THAT(data({"bench"}).err, HasSubstr("there is no program; it stands behind --"));
  const Output missing = data({"bench", "--", path("none")});
  EXPECT_EQ(missing.status, 2);
  EXPECT_THAT(missing.err, HasSubstr(path("none") + ": cannot be started: No such file"));
}

TEST(TextSummary, LongTextsAreToldApartAndCut) {
  TextSummary summary(10);
  const std::string text(5000, 'a');
  summary.add(text + "1");
  summary.add(text + "2");
  summary.add(text + "2");
  EXPECT_EQ(summary.distinct(), 2u);
  const std::vector<FrequentText> frequent = summary.most_frequent(1);
  EXPECT_EQ(frequent[0].count, 2);
  EXPECT_EQ(frequent[0].bytes, 5001u);
  EXPECT_LT(frequent[0].text.size(), 200u);
  EXPECT_THAT(frequent[0].text, HasSubstr("5001 bytes"));
}

TEST(Picture, IsNoWiderThanTheTerminal) {
  Tensor wide = Tensor::zeros(DType::kFloat32, {16, 400, 3});
  ASSERT_TRUE(is_picture(wide));
  const std::string text = picture_text(wide, 40);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 40u);
  EXPECT_FALSE(is_picture(Tensor::zeros(DType::kFloat32, {16, 400, 2})));
  EXPECT_FALSE(is_picture(Tensor::zeros(DType::kInt64, {16, 16})));
}

}  // namespace
}  // namespace shoal::cli
