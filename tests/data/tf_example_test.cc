// SPDX-License-Identifier: Apache-2.0
// tf.Example, against records that python3-protobuf writes and reads with the schema of TensorFlow.
#include "shoal/data/tf_example.h"

#include <gmock/gmock.h>

#include <limits>

#include "collecting.h"
#include "other_programs.h"

namespace shoal::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TfExample : public ::testing::Test {
 protected:
  static std::string message_of(const Result<Element>& element) { return element ? "no error" : element.error().message(); }
  static std::string raised_by(const TfExampleOptions& options) {
    const auto error = raised([&] { tf_examples(options); });
    if (!error) return "nothing was raised";
    EXPECT_EQ(error->kind(), ErrorKind::kInvalidArgument);
    return error->message();
  }
  std::vector<Element> elements_of(const std::string& path, const TfExampleOptions& options) {
    std::vector<Element> all;
    for (const Element& element : Dataset::tf_records({path}).map(tf_examples(options)).elements()) all.push_back(element);
    return all;
  }
  TemporaryFolder folder_;
  const TfFeature image_{.name = "image", .dtype = DType::kUInt8, .shape = {2, 3}};
  const TfFeature label_{.name = "label", .dtype = DType::kInt64};
};

TEST_F(TfExample, ReadsWhatProtobufWrites) {
  if (!python_has("google.protobuf")) GTEST_SKIP() << "python3-protobuf is not installed: it writes the file";
  EXPECT_EQ(output_of(python("tf_examples.py") + "write " + (folder_ / "theirs") + " plain 2>&1"), "");
  const auto all =
      elements_of(folder_ / "theirs", {.features = {image_,
                                                    label_,
                                                    {.name = "weights", .dtype = DType::kFloat32, .shape = {3}},
                                                    {.name = "ids", .dtype = DType::kInt64, .variable = true},
                                                    {.name = "words", .variable = true},
                                                    {.name = "absent", .dtype = DType::kFloat32, .variable = true}},
                                       .labels = {"label"}});
  ASSERT_EQ(all.size(), 2u);
  const TensorMap& one = all[0].features;
  EXPECT_THAT(one["image"].as<uint8_t>(), ElementsAre(0, 1, 2, 0xfd, 0xfe, 0xff));
  EXPECT_EQ(one["image"].shape(), (Shape{2, 3}));
  EXPECT_THAT(one["weights"].as<float>(), ElementsAre(0.5f, -2.25f, std::numeric_limits<float>::denorm_min()));
  EXPECT_THAT(one["ids"].as<int64_t>(), ElementsAre(1, -1, INT64_MAX, INT64_MIN));
  EXPECT_THAT(one["words"].strings(), ElementsAre("a", "", std::string("\xff\0z", 3)));
  EXPECT_EQ(one["absent"].shape(), Shape{0});
  EXPECT_THAT(all[0].labels.single().as<int64_t>(), ElementsAre(7));
  EXPECT_THAT(all[1].features["ids"].as<int64_t>(), ElementsAre());
  EXPECT_THAT(all[1].features["words"].strings(), ElementsAre(std::string(300, 'x')));
  EXPECT_THAT(all[1].labels.single().as<int64_t>(), ElementsAre(-3));
}

TEST_F(TfExample, IsReadByProtobuf) {
  if (!python_has("google.protobuf")) GTEST_SKIP() << "python3-protobuf is not installed: it reads the file";
  TfRecordWriter writer = value_or_raise(TfRecordWriter::create(folder_ / "ours"));
  const TensorMap tensors{{"b", Tensor::of<float>({3}, {1.5f, -0.25f, 0})},
                          {"a", Tensor::of<int64_t>({2}, {INT64_MIN, 300})},
                          {"text", Tensor::of_strings({2}, {"one", ""})},
                          {"pixels", Tensor::of<uint8_t>({1, 2}, {0, 255})},
                          {"yes", Tensor::scalar(true)},
                          {"small", Tensor::scalar(int32_t(-7))}};
  value_or_raise(writer.append(make_tf_example(tensors)));
  value_or_raise(writer.append(make_tf_example({{"none", Tensor(DType::kFloat32, Shape{0})}})));
  value_or_raise(writer.finish());
  EXPECT_EQ(output_of(python("tf_examples.py") + "read " + (folder_ / "ours") + " 2>&1"),
            R"({"a": ["int64_list", [-9223372036854775808, 300]], "b": ["float_list", [1.5, -0.25, 0.0]], )"
            R"("pixels": ["bytes_list", ["00ff"]], "small": ["int64_list", [-7]], "text": ["bytes_list", ["6f6e65", ""]], )"
            R"("yes": ["int64_list", [1]]})"
            "\n"
            R"({"none": ["float_list", []]})"
            "\n");
}

TEST_F(TfExample, PutsSparseValuesAtTheirPositions) {
  if (!python_has("google.protobuf")) GTEST_SKIP() << "python3-protobuf is not installed: it writes the file";
  EXPECT_EQ(output_of(python("tf_examples.py") + "write " + (folder_ / "theirs") + " sparse 2>&1"), "");
  const auto all = elements_of(folder_ / "theirs", {.features = {{.name = "value",
                                                                  .dtype = DType::kFloat32,
                                                                  .shape = {2, 3},
                                                                  .positions = "at",
                                                                  .missing = Tensor::scalar(-1.0f)}}});
  ASSERT_EQ(all.size(), 3u);
  EXPECT_THAT(all[0].features["value"].as<float>(), ElementsAre(2.5f, -1, -1, -1, 1.5f, -1));
  EXPECT_EQ(all[0].features["value"].shape(), (Shape{2, 3}));
  for (const size_t empty : {1, 2}) {
    EXPECT_THAT(all[empty].features["value"].as<float>(), ElementsAre(-1, -1, -1, -1, -1, -1));
  }
}

TEST_F(TfExample, HasTheMergingRulesOfProtobuf) {
  const std::string once = make_tf_example({{"a", Tensor::of<int64_t>({2}, {1, 2})}});
  const std::string again = make_tf_example({{"a", Tensor::scalar(int64_t(3))}, {"b", Tensor::scalar(1.0f)}});
  const TfExampleOptions ids{.features = {{.name = "a", .dtype = DType::kInt64, .variable = true}}};
  // Two messages one after another are one; of an entry of a map the last one counts.
  EXPECT_THAT(value_or_raise(parse_tf_example(once + again, ids)).features["a"].as<int64_t>(), ElementsAre(3));
  // A feature in two pieces, of numbers that are packed (0a) or not (08), is one list; unknown fields do not count.
  const std::string feature(
      "\x1a\x04\x0a\x02\x05\x06"
      "\x1a\x02\x08\x07"
      "\x22\x01x",
      13);
  const std::string entry = std::string(
                                "\x0a\x01"
                                "a\x12") +
                            char(feature.size()) + feature + std::string("\x18\x05", 2);
  const std::string features = std::string("\x0a") + char(entry.size()) + entry;
  const std::string example = std::string("\x0a") + char(features.size()) + features;
  EXPECT_THAT(value_or_raise(parse_tf_example(example, ids)).features["a"].as<int64_t>(), ElementsAre(5, 6, 7));
}

/// Each piece of a list is put behind those before it, once.
TEST_F(TfExample, AListInManyPiecesTakesTheMemoryOfItsBytes) {
  const std::string values = make_tf_example({{"a", Tensor::of_strings({}, {std::string(100'000, 'x')})}});
  std::string feature("\x0a\xa4\x8d\x06\x0a\xa0\x8d\x06", 8);  // A list of 100,004 bytes with one text.
  feature += std::string(100'000, 'x');
  for (int i = 0; i < 200'000; ++i) feature += std::string("\x0a\0", 2);  // Lists without texts.
  const auto framed = [](char tag, const std::string& bytes) {
    std::string size;
    for (size_t left = bytes.size();; left >>= 7) {
      size += char((left & 0x7f) | (left >= 0x80 ? 0x80 : 0));
      if (left < 0x80) break;
    }
    return tag + size + bytes;
  };
  const std::string record = framed('\x0a', framed('\x0a', std::string("\x0a\x01"
                                                                       "a") +
                                                               framed('\x12', feature)));
  const TfExampleOptions options{.features = {{.name = "a"}}};
  EXPECT_EQ(value_or_raise(parse_tf_example(record, options)).features["a"].strings()[0].size(), 100'000u);
  EXPECT_TRUE(parse_tf_example(values, options));
}

TEST_F(TfExample, MissingFeaturesTakeTheirValues) {
  const std::string record = make_tf_example({{"x", Tensor::scalar(1.0f)}});
  const auto element = value_or_raise(parse_tf_example(
      record,
      {.features = {{.name = "f", .dtype = DType::kFloat32, .shape = {2}, .missing = Tensor::scalar(0.5f)},
                    {.name = "i", .dtype = DType::kInt32, .missing = Tensor::scalar(int32_t(3))},
                    {.name = "l", .dtype = DType::kInt64, .shape = {2}, .missing = Tensor::of<int64_t>({2}, {4, 5})},
                    {.name = "s", .missing = Tensor::of_strings({}, {"none"})},
                    {.name = "u", .dtype = DType::kUInt8, .shape = {2}, .missing = Tensor::scalar(uint8_t(9))}}}));
  EXPECT_THAT(element.features["f"].as<float>(), ElementsAre(0.5f, 0.5f));
  EXPECT_THAT(element.features["i"].as<int32_t>(), ElementsAre(3));
  EXPECT_THAT(element.features["l"].as<int64_t>(), ElementsAre(4, 5));
  EXPECT_THAT(element.features["s"].strings(), ElementsAre("none"));
  EXPECT_THAT(element.features["u"].as<uint8_t>(), ElementsAre(9, 9));
}

TEST_F(TfExample, ARecordThatDoesNotFitNamesTheFeature) {
  const std::string record = make_tf_example({{"image", Tensor::of<uint8_t>({5}, {1, 2, 3, 4, 5})},
                                              {"label", Tensor::of<int64_t>({2}, {1, int64_t(1) << 40})},
                                              {"at", Tensor::of<int64_t>({2}, {1, 1})},
                                              {"far", Tensor::of<int64_t>({2}, {1, 6})},
                                              {"one", Tensor::scalar(int64_t(0))}});
  const auto message = [&](const TfFeature& feature) {
    return message_of(parse_tf_example(record, {.features = {feature}}));
  };
  EXPECT_EQ(message(image_), "feature \"image\": its text has 5 bytes, and the shape [2, 3] 6");
  EXPECT_EQ(
      message(label_),
      "feature \"label\": the record has 2 int64 values there, and the shape [] 1; say `variable` if their number differs");
  EXPECT_EQ(message({.name = "label", .dtype = DType::kInt32, .shape = {2}}),
            "feature \"label\": it has 1099511627776, which int32 does not hold");
  EXPECT_EQ(message({.name = "label", .dtype = DType::kFloat32, .variable = true}),
            "feature \"label\": the record has int64 values there, and not float32 values");
  EXPECT_EQ(message({.name = "title"}),
            "feature \"title\": the record does not have it; it has at, far, image, label, one");
  const auto sparse = [&](const std::string& positions) {
    return message({.name = "label", .dtype = DType::kInt64, .shape = {6}, .positions = positions});
  };
  EXPECT_EQ(sparse("at"), "feature \"label\": its position 1 is there twice");
  EXPECT_EQ(sparse("far"), "feature \"label\": its position 6 is not within the shape [6]");
  EXPECT_EQ(sparse("one"), "feature \"label\": the record has 2 values there, and 1 positions in \"one\"");
  EXPECT_EQ(message_of(parse_tf_example("\x0a\x05"
                                        "abc",
                                        {.features = {label_}})),
            "the record is no tf.Example, or is damaged (end of buffer exception)");
}

TEST_F(TfExample, AnErrorNamesFileAndRecord) {
  TfRecordWriter writer = value_or_raise(TfRecordWriter::create(folder_ / "ours"));
  value_or_raise(writer.append(make_tf_example({{"label", Tensor::scalar(int64_t(1))}})));
  value_or_raise(writer.append(make_tf_example({{"other", Tensor::scalar(int64_t(1))}})));
  value_or_raise(writer.finish());
  const auto error = raised([&] { elements_of(folder_ / "ours", {.features = {label_}}); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), ErrorKind::kDataLoss);
  EXPECT_THAT(error->message(), AllOf(HasSubstr("ours, record 2"), HasSubstr("feature \"label\"")));
}

TEST_F(TfExample, ADamagedRecordIsAnErrorOrOtherValues) {
  const std::string record = make_tf_example(
      {{"image", Tensor::of<uint8_t>({2, 3}, {1, 2, 3, 4, 5, 6})}, {"label", Tensor::scalar(int64_t(300))}});
  const TfExampleOptions options{.features = {image_, label_}};
  for (size_t size = 0; size < record.size(); ++size) {
    EXPECT_NE(message_of(parse_tf_example(record.substr(0, size), options)), "no error") << size;
  }
  for (size_t at = 0; at < record.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = record;
      damaged[at] = char(damaged[at] ^ (1 << bit));
      const Result<Element> element = parse_tf_example(damaged, options);
      if (element) {
        EXPECT_EQ(element->features["image"].elements(), 6);
      } else {
        EXPECT_EQ(element.error().kind(), ErrorKind::kDataLoss);
      }
    }
  }
}

TEST_F(TfExample, RefusesOptionsThatContradictThemselves) {
  EXPECT_THAT(raised_by({}), HasSubstr("`features` is empty"));
  EXPECT_THAT(raised_by({.features = {{.name = ""}}}), HasSubstr("needs a name"));
  EXPECT_THAT(raised_by({.features = {{.name = "a"}, {.name = "a"}}}), HasSubstr("is there twice"));
  EXPECT_THAT(raised_by({.features = {{.name = "a", .dtype = DType::kBool}}}), HasSubstr("cannot be bool"));
  EXPECT_THAT(raised_by({.features = {{.name = "a", .shape = {2}, .variable = true}}}), HasSubstr("leave out its shape"));
  EXPECT_THAT(raised_by({.features = {{.name = "a", .variable = true, .positions = "b"}}}), HasSubstr("choose one"));
  EXPECT_THAT(raised_by({.features = {{.name = "a", .dtype = DType::kUInt8, .variable = true}}}), HasSubstr("of one text"));
  EXPECT_THAT(raised_by({.features = {{.name = "a", .missing = Tensor::scalar(1.0f)}}}), HasSubstr("are float32"));
  EXPECT_THAT(raised_by({.features = {{.name = "a", .shape = {3}, .missing = Tensor::of_strings({2}, {"", ""})}}}),
              HasSubstr("give a scalar"));
  EXPECT_THAT(raised_by({.features = {label_}, .labels = {"x"}}), HasSubstr("the label \"x\" is none of the features"));
  EXPECT_THAT(raised_by({.features = {label_}, .labels = {"label", "label"}}), HasSubstr("is there twice"));
  EXPECT_THAT(raised([] {
                make_tf_example({{"h", Tensor(DType::kFloat16, Shape{})}});
              })->message(),
              HasSubstr("is float16"));
  EXPECT_THAT(raised([&] {
                for (const Element& element : Dataset::range(1).map(tf_examples({.features = {label_}})).elements())
                  (void)element;
              })->message(),
              HasSubstr("takes one text"));
}

}  // namespace
}  // namespace shoal::data
