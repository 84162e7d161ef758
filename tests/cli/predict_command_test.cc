// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "../estimator/coloured.h"
#include "shoal/columns/column.h"
#include "shoal/data/csv_reader.h"
#include "shoal/estimator/canned.h"
#include "shoal/estimator/exported_model.h"
#include "small_export.h"

namespace shoal::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Json;
using testing::Output;
using testing::shoal_program;
using ::testing::StartsWith;

/// The predictions of one row as CSV fields; no field of these tests has a separator in it.
std::vector<std::string> split(const std::string& line, char separator = ',') {
  std::vector<std::string> fields;
  std::istringstream text(line);
  for (std::string field; std::getline(text, field, separator);) fields.push_back(field);
  return fields;
}
std::vector<std::string> lines_of(const std::string& text) { return split(text, '\n'); }

/// A model with columns of numbers and text, trained for some steps and exported.
class PredictTable : public testing::InFolder {
 protected:
  static const std::string& exported() {
    static const TemporaryFolder place;
    static const std::string path = [] {
      using namespace columns;
      RunConfigOptions options;
      options.model_dir = place / "m";
      options.random_seed = 7;  // With some other seeds all hidden units are dead, and all rows give one result.
      const Column colour = categorical_by_vocabulary("colour", {"red", "blue"}, {.missing_bucket = true});
      Estimator estimator =
          dnn_classifier({.columns = {numeric("x", {.default_value = 0.5}), indicator(colour)}, .hidden_units = {4}},
                         {.label_vocabulary = {"no", "yes"}}, RunConfig(options));
      estimator.train(shoal::testing::coloured_examples().repeat().batch(20), {.steps = 50});
      return estimator.export_model(place / "exports", features().batch(1));
    }();
    return path;
  }
  static data::Dataset features() {
    return shoal::testing::coloured_examples().map([](data::Element element) {
      return data::Element{element.features, {}};
    });
  }
  /// The 60 examples as a table with more in it than the model takes.
  std::string table() {
    std::string text = "id,colour,x\n";
    for (int i = 0; i < 60; ++i) {
      text += "n" + std::to_string(i) + (i % 3 == 0 ? ",red," : ",blue,") + std::to_string(i % 5 - 2) + "\n";
    }
    write("table.csv", text);
    return folder + "/table.csv";
  }
};

TEST_F(PredictTable, GivesTheBitsOfPredict) {
  const Output csv = shoal_program({"predict", exported(), table(), "--keys", "probabilities,classes", "--batch", "60"});
  ASSERT_EQ(csv.status, 0) << csv.err;
  const Output json = shoal_program({"predict", exported(), table(), "--batch", "60", "--json-lines"});
  ASSERT_EQ(json.status, 0) << json.err;
  const auto model = load_exported_model(exported());
  data::TensorMap batch;
  std::vector<float> x;
  std::vector<std::string> colours;
  for (int i = 0; i < 60; ++i) {
    x.push_back(float(i % 5 - 2));
    colours.push_back(i % 3 == 0 ? "red" : "blue");
  }
  const data::TensorMap expected =
      model->predict({{"x", Tensor::of<float>({60}, x)}, {"colour", Tensor::of_strings({60}, colours)}});
  const auto probabilities = expected.find("probabilities")->as<float>();
  const std::vector<std::string> rows = lines_of(csv.out);
  ASSERT_EQ(rows.size(), 61u);
  EXPECT_EQ(rows[0], "probabilities/0,probabilities/1,classes");
  const std::vector<Json> objects = json.lines();
  ASSERT_EQ(objects.size(), 60u);
  for (size_t i = 0; i < 60; ++i) {
    const std::vector<std::string> fields = split(rows[i + 1]);
    ASSERT_EQ(fields.size(), 3u);
    for (size_t j = 0; j < 2; ++j) {
      EXPECT_EQ(std::bit_cast<uint32_t>(std::stof(fields[j])), std::bit_cast<uint32_t>(probabilities[2 * i + j]));
      EXPECT_EQ(objects[i]["probabilities"][j].get<float>(), probabilities[2 * i + j]);
    }
    EXPECT_EQ(fields[2], expected.find("classes")->strings()[i]);
    EXPECT_EQ(objects[i]["classes"], Json::array({expected.find("classes")->strings()[i]}));
  }
}

TEST_F(PredictTable, TakesStandardInputFilesOfGzipAndFoldersOfExports) {
  const std::string path = table();
  const Output file = shoal_program({"predict", exported(), path});
  ASSERT_EQ(file.status, 0) << file.err;
  const std::string exports = std::filesystem::path(exported()).parent_path().string();
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"predict", exported()}, {"predict", exports, "-"}, {"predict", exports, "-", "--batch", "60"}}) {
    const Output piped = shoal_program(arguments, read("table.csv"));
    EXPECT_EQ(piped.status, 0) << piped.err;
    EXPECT_EQ(lines_of(piped.out).size(), 61u);
  }
  EXPECT_EQ(shoal_program({"predict", exports}, read("table.csv")).out, file.out);
}

TEST_F(PredictTable, CopiesColumnsInFront) {
  const Output csv = shoal_program({"predict", exported(), "--copy", "id,x", "--keys", "class_ids"},
                                   "x,id,colour\n0.10,\"a,\"\"b\",red\n2,c,blue\n");
  ASSERT_EQ(csv.status, 0) << csv.err;
  const auto rows = lines_of(csv.out);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0], "id,x,class_ids");
  EXPECT_THAT(rows[1], StartsWith("\"a,\"\"b\",0.10,"));
  EXPECT_THAT(rows[2], StartsWith("c,2,"));
  const Output json = shoal_program({"predict", exported(), "--copy", "id,x", "--keys", "class_ids", "--json-lines"},
                                    "x,id,colour\n0.10,\"a,\"\"b\",red\n");
  EXPECT_EQ(json.lines()[0]["id"], "a,\"b");
  EXPECT_EQ(json.lines()[0]["x"], 0.1);
}

/// Joins by an id need the id as it stands in the table, also if the model reads it as a number.
TEST_F(PredictTable, CopiedFieldsStayAsTheyStandInTheTable) {
  const std::string rows = "id,x,colour\n?,16777217,red\n2, 0880.00 ,red\n3,?,red\n";
  const std::vector<std::string> words{"predict", exported(), "--copy", "x,id", "--keys", "class_ids", "--missing", "?"};
  const Output csv = shoal_program(words, rows);
  ASSERT_EQ(csv.status, 0) << csv.err;
  const auto lines = lines_of(csv.out);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_THAT(lines[1], StartsWith("16777217,?,"));
  EXPECT_THAT(lines[2], StartsWith(" 0880.00 ,2,"));
  EXPECT_THAT(lines[3], StartsWith("?,3,"));
  std::vector<std::string> as_json = words;
  as_json.emplace_back("--json-lines");
  const auto json = shoal_program(as_json, rows).lines();
  ASSERT_EQ(json.size(), 3u);
  EXPECT_EQ(json[0]["x"], 16777217);
  EXPECT_EQ(json[0]["id"], "?");
  EXPECT_EQ(json[1]["x"], 880.0);
  EXPECT_TRUE(json[2]["x"].is_null());
}

TEST_F(PredictTable, NumbersWithTheSeparatorInThemAreQuoted) {
  const Output run =
      shoal_program({"predict", exported(), "--separator", ".", "--keys", "logits,class_ids"}, "x.colour\n1.red\n");
  ASSERT_EQ(run.status, 0) << run.err;
  const auto rows = lines_of(run.out);
  data::CsvReader reader(
      [text = std::string_view(rows[1])](std::span<std::byte> out) mutable -> Result<size_t> {
        const size_t count = std::min(out.size(), text.size());
        std::memcpy(out.data(), text.data(), count);
        text.remove_prefix(count);
        return count;
      },
      "predictions", {.separator = '.'});
  EXPECT_EQ(value_or_raise(reader.fields()).size(), split(rows[0], '.').size());
}

TEST_F(PredictTable, MissingValuesAreThoseOfTheModel) {
  // x has a default of 0.5, a missing colour a bucket of its own.
  const Output run = shoal_program({"predict", exported(), "--keys", "logits", "--missing", "?", "--batch", "1"},
                                   "x,colour\n,red\n?,red\n0.5,red\n1,\n1,?\n1,red\n");
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.err.find("NaN"), std::string::npos);
  const auto rows = lines_of(run.out);
  ASSERT_EQ(rows.size(), 7u);
  EXPECT_EQ(rows[1], rows[3]);
  EXPECT_EQ(rows[2], rows[3]);
  EXPECT_EQ(rows[4], rows[5]);
  EXPECT_NE(rows[4], rows[6]);
}

TEST_F(PredictTable, TablesOfOtherForms) {
  const Output plain = shoal_program({"predict", exported()}, "x,colour\n1,red\n");
  EXPECT_EQ(shoal_program({"predict", exported(), "--columns", "x,colour"}, "1,red\n").out, plain.out);
  EXPECT_EQ(shoal_program({"predict", exported(), "--columns", "x,colour", "--skip-lines", "1"}, "a,b\n1,red\n").out,
            plain.out);
  EXPECT_EQ(shoal_program({"predict", exported(), "--skip-lines", "1"}, "|remark\nx,colour\n1,red\n").out, plain.out);
  EXPECT_EQ(shoal_program({"predict", exported(), "--trim"}, "x,colour\n 1 , red\n").out, plain.out);
  EXPECT_EQ(shoal_program({"predict", exported()}, "\xEF\xBB\xBFx,colour\r\n1,red\r\n").out, plain.out);
  EXPECT_EQ(shoal_program({"predict", exported(), "--no-quoting"}, "x,colour\n1,red\n").out, plain.out);
  const Output tabs = shoal_program({"predict", exported(), "--separator", "tab"}, "x\tcolour\n1\tred\n");
  EXPECT_EQ(split(lines_of(tabs.out)[1], '\t'), split(lines_of(plain.out)[1]));
  const Output none = shoal_program({"predict", exported()}, "x,colour\n");
  EXPECT_EQ(none.status, 0);
  EXPECT_EQ(none.out, lines_of(plain.out)[0] + "\n");
}

TEST_F(PredictTable, AQuoteWithinAFieldIsNoQuoting) {
  // Four rows. A reader that takes each quote for the begin or end of a quoted field would read three.
  const std::string rows = "size,x,colour\n5\" nail,1,red\n6\" nail,2,red\nscrew,3,red\n7 mm,4,red\n";
  const Output refused = shoal_program({"predict", exported(), "--copy", "size", "--keys", "class_ids"}, rows);
  EXPECT_EQ(refused.status, exit_status(ErrorKind::kDataLoss));
  EXPECT_THAT(refused.err, AllOf(HasSubstr("standard input, line 2 (offset 15): a quote stands within field 1"),
                                 HasSubstr("--no-quoting")));
  const Output read = shoal_program({"predict", exported(), "--copy", "size", "--keys", "class_ids", "--no-quoting"}, rows);
  ASSERT_EQ(read.status, 0) << read.err;
  const auto lines = lines_of(read.out);
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_THAT(lines[2], StartsWith("\"6\"\" nail\","));  // The output has quotes as RFC 4180 has them.
}

TEST_F(PredictTable, RowsBeforeADamagedOneHaveTheirPredictions) {
  const Output run =
      shoal_program({"predict", exported(), "--keys", "class_ids"}, "x,colour\n1,red\n2,red\nmany,red\n3,red\n");
  EXPECT_EQ(run.status, exit_status(ErrorKind::kDataLoss));
  EXPECT_EQ(lines_of(run.out).size(), 3u);
  EXPECT_THAT(run.err,
              HasSubstr("standard input, line 4 (offset 21): the field of column x is \"many\", expected float32"));
  const Output shorter = shoal_program({"predict", exported(), "--keys", "class_ids"}, "x,colour\n1\n");
  EXPECT_THAT(shorter.err, HasSubstr("line 2 (offset 9): the record has 1 field, expected 2"));
}

TEST_F(PredictTable, ARowThatTheModelRefusesIsNamed) {
  RunConfigOptions options;
  options.model_dir = folder + "/m";
  Estimator estimator = linear_regressor({.columns = {columns::numeric("x")}}, {}, RunConfig(options));
  const auto input =
      data::Dataset::from_tensor_slices({{"x", Tensor::of<float>({2}, {1, 2})}}, Tensor::of<float>({2}, {1, 2}));
  estimator.train(input.batch(2), {.steps = 1});
  const auto serving = data::Dataset::from_tensor_slices({{"x", Tensor::of<float>({1}, {1})}}).batch(1);
  const Output run = shoal_program({"predict", estimator.export_model(folder + "/e", serving)}, "x,y\n1,1\n2,1\n,1\n3,1\n");
  EXPECT_EQ(run.status, exit_status(ErrorKind::kInvalidArgument));
  EXPECT_EQ(lines_of(run.out).size(), 3u);
  EXPECT_THAT(run.err, HasSubstr("row 3: "));
  EXPECT_THAT(run.err, HasSubstr("x"));
}

TEST_F(PredictTable, SaysWhatIsWrong) {
  const auto refusal = [&](std::vector<std::string> options, const std::string& input) {
    options.insert(options.begin(), {"predict", exported()});
    const Output run = shoal_program(options, input);
    EXPECT_NE(run.status, 0);
    EXPECT_EQ(run.out, "");
    return run.err;
  };
  EXPECT_THAT(refusal({}, "x,shade\n1,red\n"),
              HasSubstr("input \"colour\" needs a column colour; the table has: x, shade"));
  EXPECT_THAT(refusal({}, "x,colours\n1,red\n"), HasSubstr("needs a column colour; did you mean colours?"));
  EXPECT_THAT(refusal({}, "x,\"sha,de\"\n1,red\n"), HasSubstr("the table has: x, \"sha,de\""));
  EXPECT_THAT(refusal({}, "x;colour\n1;red\n"),
              HasSubstr("the table has: x;colour; is \";\" the separator? (--separator)"));
  EXPECT_THAT(refusal({}, "1,red\n2,blue\n"), HasSubstr("if that is a row, and no header, --columns names the columns"));
  EXPECT_THAT(
      shoal_program({"predict", exported()}, "x,colour\nn/a,red\n").err,
      HasSubstr("\"n/a\", expected float32; if that says that it is missing, let missing_text (--missing) be that text"));
  EXPECT_THAT(refusal({}, ""), HasSubstr("standard input: nothing in it"));
  EXPECT_THAT(refusal({}, "x,colour,x\n1,red,2\n"), HasSubstr("input \"x\": the table has column x more than once"));
  EXPECT_THAT(refusal({"--copy", "id"}, "x,colour\n"), HasSubstr("the table has no column id, but: x, colour"));
  EXPECT_THAT(refusal({"--unused", "x"}, "x,colour\n"),
              HasSubstr("--unused x: the model needs that column, for input \"x\""));
  EXPECT_THAT(refusal({"--keys", "logits,logits"}, "x,colour\n"), HasSubstr("prediction logits is named twice"));
  EXPECT_THAT(refusal({"--copy", "logits"}, "x,colour,logits\n"), HasSubstr("a prediction has that name"));
  EXPECT_THAT(refusal({"--keys", "colours"}, "x,colour\n"), HasSubstr("there is no prediction colours; there are: "));
  EXPECT_THAT(refusal({"--keys", "classes,probabilites"}, "x,colour\n"),
              HasSubstr("there is no prediction probabilites; did you mean probabilities?; there are: "));
  EXPECT_THAT(refusal({}, "# of 2025\nx,colour\n1,red\n"), HasSubstr("if that is a remark, --skip-lines 1 passes over it"));
  EXPECT_THAT(refusal({}, "\nx,colour\n1,red\n"), HasSubstr("standard input, line 1 (offset 0): the line is blank"));
  EXPECT_THAT(refusal({}, std::string("PK\x03\x04\0\0 sheet1.xml", 17)), HasSubstr("standard input is a zip archive"));
  EXPECT_THAT(refusal({}, std::string("\xff\xfex\0,\0c\0\n\0", 10)), HasSubstr("standard input is text in UTF-16"));
  EXPECT_THAT(refusal({}, "x,colour\r1,red\r"), HasSubstr("standard input has lines that end with CR alone"));
  EXPECT_THAT(refusal({"--signature", "sing"}, "x,colour\n"), HasSubstr("no signature sing; there are: serving_default, "));
  EXPECT_THAT(refusal({"--separator", "::"}, "x,colour\n"), HasSubstr("one character, or tab"));
  EXPECT_THAT(refusal({"--batch", "0"}, "x,colour\n"), HasSubstr("--batch"));
  EXPECT_THAT(refusal({folder + "/none.csv"}, ""), HasSubstr(folder + "/none.csv"));
  EXPECT_THAT(refusal({"/dev/null"}, ""), HasSubstr("give - as the name"));
  EXPECT_THAT(shoal_program({"predict", folder}).err, HasSubstr(folder + ": no export"));
}

TEST_F(PredictTable, ASignatureNamesTheOutputs) {
  const Output run = shoal_program({"predict", exported(), "--signature", "classification"}, "x,colour\n1,red\n");
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(lines_of(run.out)[0], "scores/0,scores/1,classes/0,classes/1");
}

TEST_F(PredictTable, NamesOfColumnsMayHaveCommas) {
  const std::string table = "x,\"fee, EUR\",\"the \"\"id\"\"\",colour\n1,5,a,red\n";
  const Output run =
      shoal_program({"predict", exported(), "--copy", "\"fee, EUR\",\"the \"\"id\"\"\"", "--keys", "classes"}, table);
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(lines_of(run.out)[0], "\"fee, EUR\",\"the \"\"id\"\"\",classes");
  // A header line has the form that --columns takes.
  const size_t end = table.find('\n');
  const Output named = shoal_program({"predict", "--columns", table.substr(0, end), "--copy", "\"fee, EUR\"", "--copy",
                                      "\"the \"\"id\"\"\"", "--keys", "classes", exported()},
                                     table.substr(end + 1));
  ASSERT_EQ(named.status, 0) << named.err;
  EXPECT_EQ(named.out, run.out);
  EXPECT_THAT(shoal_program({"predict", exported(), "--unused", "\"x"}, table).err, HasSubstr("--unused"));
}

TEST_F(PredictTable, AnEmptyFieldKeepsItsSeparator) {
  const Output run = shoal_program({"predict", exported(), "--copy", "id", "--keys", "classes,class_ids"},
                                   "id,x,colour\nA1,1,red\n,1,red\nC3,1,red\n");
  ASSERT_EQ(run.status, 0) << run.err;
  const auto rows = lines_of(run.out);
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0], "id,classes,class_ids");
  EXPECT_EQ("A1" + rows[2], rows[1]);
  EXPECT_EQ(rows[2].front(), ',');
  const Output last =
      shoal_program({"predict", exported(), "--copy", "id,note", "--keys", "classes"}, "id,note,x,colour\n,,1,red\n");
  EXPECT_THAT(lines_of(last.out)[1], StartsWith(",,"));
}

TEST_F(PredictTable, ARowMayBeAsLongAsTheOptionSays) {
  const std::string row = "1,red," + std::string(2000, 'n') + "\n";
  const Output refused =
      shoal_program({"predict", exported(), "--line-bytes-max", "1000"}, "x,colour,note\n1,red,n\n" + row);
  EXPECT_THAT(refused.err, HasSubstr("the record is longer than 1000 bytes (line_bytes_max, --line-bytes-max)"));
  EXPECT_EQ(shoal_program({"predict", exported(), "--line-bytes-max", "3000"}, "x,colour,note\n" + row).status, 0);
  EXPECT_NE(shoal_program({"predict", exported(), "--line-bytes-max", "0"}, "x,colour\n").status, 0);
}

TEST_F(PredictTable, TellsOfBytesThatJsonCannotHold) {
  const std::string table = "id,x,colour\nok,1,red\ncaf\xe9,1,red\n";
  const Output json = shoal_program({"predict", exported(), "--copy", "id", "--json-lines"}, table);
  EXPECT_EQ(json.status, 0);
  EXPECT_EQ(json.lines()[1]["id"], "caf\xEF\xBF\xBD");
  EXPECT_THAT(json.err, HasSubstr("1 of 2 rows have text that is no UTF-8, which JSON cannot hold"));
  const Output csv = shoal_program({"predict", exported(), "--copy", "id"}, table);
  EXPECT_THAT(csv.out, HasSubstr("caf\xe9,"));
  EXPECT_EQ(csv.err, "");
}

TEST_F(PredictTable, PredictionsStandInTheOrderOfTheKeys) {
  const std::string path = exported();
  for (const char* keys : {"class_ids,classes", "classes,class_ids"}) {
    const Output run = shoal_program({"predict", path, "--keys", keys}, "x,colour\n1,red\n");
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(lines_of(run.out)[0], keys);
  }
}

using PredictVectors = InFolderWithExport;

TEST_F(PredictVectors, AnOnlyInputTakesAllColumns) {
  const std::string path = exported();
  const Output run =
      shoal_program({"predict", path, "--copy", "id", "--unused", "note"}, "a,id,b,note,c\n1,7,2,x,3\n4,8,5,y,6\n");
  ASSERT_EQ(run.status, 0) << run.err;
  const data::TensorMap expected = load_exported_model(path)->predict(Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6}));
  const auto y = expected.find("y")->as<float>();
  const auto rows = lines_of(run.out);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0], "id,y/0,y/1");
  for (size_t i = 0; i < 2; ++i) {
    const auto fields = split(rows[i + 1]);
    EXPECT_EQ(fields[0], i == 0 ? "7" : "8");
    for (size_t j = 0; j < 2; ++j) EXPECT_EQ(std::stof(fields[j + 1]), y[2 * i + j]);
  }
  // With its own names a table may have its columns in any order.
  const Output named = shoal_program({"predict", path}, "/2,/0,id,/1\n3,1,7,2\n6,4,8,5\n");
  ASSERT_EQ(named.status, 0) << named.err;
  EXPECT_EQ(split(lines_of(named.out)[2]), (std::vector{split(rows[2])[1], split(rows[2])[2]}));
  // One name that is wrong does not make the columns be taken by their order.
  const Output misspelled = shoal_program({"predict", path}, "/2,/O,/1\n3,1,2\n");
  EXPECT_EQ(misspelled.status, 2);
  EXPECT_THAT(misspelled.err, HasSubstr("the input needs a column /0"));
  EXPECT_THAT(shoal_program({"predict", path}, "a,b\n1,2\n").err,
              HasSubstr("the input takes 3 columns, and these are 2: a, b;"));
}

TEST_F(PredictVectors, TellsOfPredictionsThatAreNoNumbers) {
  const Output run = shoal_program({"predict", exported()}, "a,b,c\n1,2,3\n1,,3\n,2,3\n");
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(run.err, HasSubstr("2 of 3 rows have a prediction that is no number (NaN), the first of them row 2"));
  EXPECT_THAT(lines_of(run.out)[2], HasSubstr("NaN"));
}

/// Predicts from x alone; training also looks at a weight and at a text.
EstimatorSpec partial(const Features& features, Mode mode) {
  EstimatorSpec spec;
  spec.mode = mode;
  spec.predictions = {{"y", features["x"] * 2.0}};
  if (mode == Mode::kPredict) return spec;
  spec.loss =
      ops::reduce_mean(nn::dense(ops::one_hot(ops::cast(features["weight"], DType::kInt64), {.depth = 3}), {.units = 1}));
  if (mode == Mode::kTrain) spec.train_op = nn::train_op({});
  return spec;
}

TEST_F(PredictVectors, NeedsTheColumnsThatPredictionsAreMadeOfAndNoOthers) {
  const auto input = [] {
    return data::Dataset::from_tensor_slices({{"x", Tensor::of<float>({2}, {1, 2})},
                                              {"weight", Tensor::of<float>({2}, {1, 1})},
                                              {"note", Tensor::of_strings({2}, {"a", "b"})}})
        .batch(1);
  };
  RunConfigOptions options;
  options.model_dir = folder + "/p";
  Estimator estimator(partial, RunConfig(options));
  estimator.train(input, {.steps = 1});
  const std::string path = estimator.export_model(folder + "/partial", input);
  EXPECT_EQ(shoal_program({"predict", path}, "x\n3\n4\n").out, "y\n6.0\n8.0\n");
  EXPECT_EQ(shoal_program({"predict", path}, "note,x,label\n,3,\n").out, "y\n6.0\n");
  EXPECT_THAT(shoal_program({"predict", path}, "weight\n3\n").err, HasSubstr("input \"x\" needs a column x"));
  // A program may go on giving all features that the model was exported with.
  const auto model = load_exported_model(path);
  ASSERT_EQ(model->inputs().size(), 1u);
  const Tensor x = Tensor::of<float>({1}, {3}), weight = Tensor::of<float>({1}, {1});
  EXPECT_EQ(model->predict({{"x", x}}).find("y")->as<float>()[0], 6.f);
  EXPECT_EQ(model->predict({{"x", x}, {"weight", weight}}).find("y")->as<float>()[0], 6.f);
  EXPECT_THROW(model->predict({{"x", x}, {"wait", weight}}), Exception);
}

/// A model that returns a byte and a flag, and predictions that no column can hold.
EstimatorSpec kinds(const Features& features, Mode mode) {
  EstimatorSpec spec;
  spec.mode = mode;
  spec.predictions = {{"byte", features["byte"]}, {"flag", features["flag"]}};
  if (mode == Mode::kPredict) return spec;
  spec.loss =
      ops::reduce_mean(nn::dense(ops::one_hot(ops::cast(features["byte"], DType::kInt64), {.depth = 3}), {.units = 1}));
  if (mode == Mode::kTrain) spec.train_op = nn::train_op({});
  return spec;
}

TEST_F(PredictVectors, BytesAndFlagsAreWholeNumbersInTheirRange) {
  const auto input = [] {
    return data::Dataset::from_tensor_slices(
               {{"byte", Tensor::of<uint8_t>({2}, {1, 2})}, {"flag", Tensor::zeros(DType::kBool, {2})}})
        .batch(1);
  };
  RunConfigOptions options;
  options.model_dir = folder + "/k";
  Estimator estimator(kinds, RunConfig(options));
  estimator.train(input, {.steps = 1});
  const std::string path = estimator.export_model(folder + "/kinds", input);
  const Output run = shoal_program({"predict", path, "--json-lines"}, "byte,flag\n0,1\n255,0\n256,0\n");
  const auto rows = run.lines();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0], (Json{{"byte", 0}, {"flag", true}}));
  EXPECT_EQ(rows[1], (Json{{"byte", 255}, {"flag", false}}));
  EXPECT_THAT(run.err, HasSubstr("line 4 (offset 20): the field of column byte is 256, expected uint8, which is 0 to 255"));
  EXPECT_THAT(shoal_program({"predict", path}, "byte,flag\n0,2\n").err, HasSubstr("which is 0 to 1"));
}

}  // namespace
}  // namespace shoal::cli
