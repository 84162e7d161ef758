// SPDX-License-Identifier: Apache-2.0
/// Names of columns on their way from a file's header to `shoal predict`: each works, or is refused early.
#include <gmock/gmock.h>

#include <algorithm>

#include "shoal/columns/column.h"
#include "shoal/data/csv_columns.h"
#include "shoal/data/csv_reader.h"
#include "shoal/data/dataset.h"
#include "shoal/estimator/canned.h"
#include "shoal/estimator/exported_model.h"
#include "small_export.h"
#include "table_input.h"

namespace shoal::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Output;
using testing::shoal_program;

/// Names that Shoal uses itself, that contain its separators, or that other programs have trouble with.
const std::vector<std::string>& numbers() {
  static const std::vector<std::string> names{"bias",     "bias_column", "loss",   "global_step", "a",   "a/weights", "A",
                                              "features", "features/a",  "labels", "1",           "x/0", "x/0/0",     ""};
  return names;
}
const std::vector<std::string>& words() {
  static const std::vector<std::string> names{"b",
                                              "b:ids",
                                              "b:ids_1",
                                              "weights",
                                              "b_embedding",
                                              "b_indicator",
                                              "../x",
                                              "..",
                                              "/",
                                              "c,d",
                                              "c\"d",
                                              "c\nd",
                                              "  ",
                                              "\t",
                                              " c ",
                                              "%s%n",
                                              "\xC3\xB6",
                                              "\xE6\x9C\xA8",
                                              std::string(201, 'l'),
                                              "[0:1]",
                                              "__metadata__",
                                              "x_X_y",
                                              "null"};
  return names;
}

std::string record_of(std::vector<std::string> fields, bool turned) {
  if (turned) std::ranges::reverse(fields);
  for (std::string& field : fields) field = data::csv_field(field);
  return data::csv_record(fields) + "\n";
}

class Names : public testing::InFolder {
 protected:
  /// 40 rows of all columns, and a label that one of them decides.
  std::string table(const char* file, bool turned, bool labelled) {
    std::vector<std::string> header = numbers();
    header.insert(header.end(), words().begin(), words().end());
    if (!labelled) header.insert(header.end(), {"twice", "twice", "h\xF6he"});
    if (labelled) header.emplace_back("label");
    std::string text = record_of(header, turned);
    for (int i = 0; i < 40; ++i) {
      std::vector<std::string> row;
      for (size_t k = 0; k < numbers().size(); ++k) row.push_back(std::to_string((i + int(k)) % 7 / 7.0));
      for (size_t k = 0; k < words().size(); ++k) row.emplace_back((size_t(i) + k) % 3 == 0 ? "elm" : "oak");
      if (!labelled) row.insert(row.end(), {"1", "2", "3"});
      if (labelled) row.emplace_back(i % 3 == 0 ? "yes" : "no");
      text += record_of(row, turned);
    }
    write(file, text);
    return folder + "/" + file;
  }
  Estimator model(const std::string& model_dir) {
    using namespace columns;
    std::vector<Column> wide, deep;
    for (const std::string& name : numbers()) {
      wide.push_back(numeric(name));
      deep.push_back(numeric(name));
    }
    for (const std::string& name : words()) {
      const Column word = categorical_by_vocabulary(name, {"oak", "elm"});
      wide.push_back(word);
      deep.push_back(name.size() % 2 == 0 ? indicator(word) : embedding(word, {.dimension = 2}));
    }
    return wide_and_deep_classifier({.linear = {.columns = wide}, .dnn = {.columns = deep, .hidden_units = {4}}},
                                    {.label_vocabulary = {"no", "yes"}},
                                    RunConfig({.model_dir = model_dir, .random_seed = 5}));
  }
  data::Dataset labelled_rows() {
    const std::string path = table("train.csv", false, true);
    data::CsvOptions options{.labels = {"label"}, .header_lines = 1};
    options.columns = data::csv_columns(path, options, {.numbers = numbers()});
    return data::Dataset::csv({path}, options);
  }
};

TEST_F(Names, WorkFromTheHeaderToThePrediction) {
  const data::Dataset rows = labelled_rows();
  model(folder + "/m").train(rows.repeat().batch(10), {.steps = 3});
  Estimator again = model(folder + "/m");  // Restores all variables and slots by their names.
  again.train(rows.repeat().batch(10), {.steps = 3});
  const auto features = rows.map([](data::Element row) { return data::Element{std::move(row.features), {}}; }).batch(40);
  const std::string exported = again.export_model(folder + "/exports", features);

  std::vector<float> expected;
  auto predictions = again.predict(features);
  while (const auto row = predictions->next()) expected.push_back((*row)["logistic"].as<float>()[0]);
  const Output output =
      shoal_program({"predict", exported, table("new.csv", true, false), "--keys", "logistic", "--batch", "40"});
  ASSERT_EQ(output.status, 0) << output.err;
  std::istringstream lines(output.out);
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "logistic");
  ASSERT_EQ(expected.size(), 40u);
  for (const float value : expected) {
    std::getline(lines, line);
    EXPECT_EQ(std::stof(line), value);
  }
}

TEST_F(Names, ThatAreNoUtf8AreRefusedWhereTheFileIsOpened) {
  write("latin1.csv", "h\xF6he,holz,label\n50,elm,no\n89,oak,yes\n");
  const std::string path = folder + "/latin1.csv";
  data::CsvOptions options{.labels = {"label"}, .header_lines = 1};
  const Error error = data::infer_csv_columns(path, options).error();
  EXPECT_EQ(error.kind(), ErrorKind::kInvalidArgument);
  EXPECT_EQ(error.message(),
            path +
                ", line 1 (offset 0): the name of column 1 (\"h\\xF6he\") is no UTF-8: its byte 1 (counted from 0) "
                "is 0xF6; make the file UTF-8, for example with iconv -f LATIN1 -t UTF-8, or, if nobody needs the "
                "column, let it be one of `unused`");
  options.unused = {"h\xF6he"};
  options.columns = data::csv_columns(path, options);
  EXPECT_NO_THROW(data::Dataset::csv({path}, options));
  options.unused.clear();
  EXPECT_THROW(data::Dataset::csv({path}, options), Exception);
  // A program may name the columns itself.
  options.columns = data::csv_columns(path, options, {.names = {"height", "wood", "label"}});
  EXPECT_NO_THROW(data::Dataset::csv({path}, options));
}

TEST_F(Names, ThatAreTooLongForAVariableAreRefusedBeforeTraining) {
  const std::string name(300, 'l');
  write("long.csv", name + ",label\n1,0\n2,1\n");
  data::CsvOptions options{.labels = {"label"}, .header_lines = 1};
  options.columns = data::csv_columns(folder + "/long.csv", options);
  Estimator estimator =
      linear_classifier({.columns = {columns::numeric(name)}}, {}, RunConfig({.model_dir = folder + "/m"}));
  const auto trained = estimator.try_train(data::Dataset::csv({folder + "/long.csv"}, options).batch(2), {.steps = 1});
  ASSERT_FALSE(trained);
  EXPECT_THAT(trained.error().message(),
              HasSubstr("names have at most 256 bytes, and this one has 315; give the column or layer"));
}

/// Names from a program's own dataset are refused before anything is trained.
TEST_F(Names, OfAnyInputThatAreNoUtf8AreRefusedBeforeTraining) {
  const auto refused = [this](data::TensorMap features, data::TensorMap labels) {
    Estimator estimator(
        [](const Features&, const Labels&, Mode, const Params&, const RunConfig&) -> EstimatorSpec { return {}; },
        RunConfig({.model_dir = folder + "/m"}));
    const auto trained = estimator.try_train(data::Dataset::from_tensor_slices(features, labels).batch(2), {.steps = 1});
    return trained ? "trained" : std::string(to_string(trained.error().kind())) + ": " + trained.error().message();
  };
  const Tensor column = Tensor::of<float>({2}, {0, 1});
  EXPECT_THAT(refused({{"h\xF6he", column}}, column),
              AllOf(HasSubstr("InvalidArgument: "),
                    HasSubstr("the name of a feature (\"h\\xF6he\") is no UTF-8: its byte 1 (counted from "
                              "0) is 0xF6; names are saved with the model, as UTF-8")));
  EXPECT_THAT(refused(column, {{"\xFF", column}}), HasSubstr("the name of a label (\"\\xFF\") is no UTF-8"));
}

using NamesInTables = InFolderWithExport;

TEST_F(NamesInTables, OfTheResultAreNotDoubled) {
  write("t.csv", "y/0,a,b,c\n9,1,2,3\n");
  const Output copied = shoal_program({"predict", exported(), folder + "/t.csv", "--copy", "y/0"});
  EXPECT_EQ(copied.status, 2);
  EXPECT_THAT(copied.err, HasSubstr("two columns of the result would be called y/0; choose others with --keys or --copy"));
  EXPECT_EQ(copied.out, "");
}

TEST_F(NamesInTables, ThatTheModelTakesMayNotBeDoubled) {
  write("t.csv", "x,x,y\n1,2,3\n");
  const Output doubled = shoal_program({"predict", exported(), folder + "/t.csv"});
  EXPECT_EQ(doubled.status, 2);
  EXPECT_THAT(doubled.err, HasSubstr("the input: the table has column x more than once"));
  const Output copied = shoal_program({"predict", exported(), folder + "/t.csv", "--copy", "x"});
  EXPECT_THAT(copied.err, HasSubstr("--copy: the table has column x more than once"));
  write("u.csv", "x,x,a,b,c\n1,2,3,4,5\n");
  EXPECT_EQ(shoal_program({"predict", exported(), folder + "/u.csv", "--unused", "x"}).status, 0);
}

TEST_F(NamesInTables, GivenBesideAHeaderMayNotStandOverOtherColumns) {
  write("t.csv", "a,b,c\n1,2,3\n");
  const auto predict = [this](const char* names) {
    return shoal_program({"predict", exported(), folder + "/t.csv", "--skip-lines", "1", "--columns", names});
  };
  EXPECT_EQ(predict("x,y,z").status, 0);
  const Output crossed = predict("b,a,c");
  EXPECT_EQ(crossed.status, 2);
  EXPECT_THAT(crossed.err, HasSubstr("the names that are given are: b, a, c; and the header of this file is: a, b, c"));
}

TEST_F(NamesInTables, OfTwoInputsMayNotMeanOneColumnOfTwoTypes) {
  const std::vector<ExportedTensor> inputs{{"x", DType::kFloat32, {-1, 2}}, {"x/0", DType::kInt64, {-1}}};
  const auto table = TableInput::match(inputs, {"x/0", "x/1"}, {});
  ASSERT_FALSE(table);
  EXPECT_THAT(table.error().message(),
              HasSubstr("column x/0 would be input \"x\", which is float32, and part of input \"x/0\", "
                        "which is int64"));
}

}  // namespace
}  // namespace shoal::cli
