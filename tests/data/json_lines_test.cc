// SPDX-License-Identifier: Apache-2.0
// JSON lines, against files that Python's json module writes.
#include <gmock/gmock.h>

#include "arrays_text.h"
#include "collecting.h"
#include "other_programs.h"

namespace shoal::data {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class JsonLines : public ::testing::Test {
 protected:
  std::string row_text(const Element& element) {
    std::string text;
    for (const auto* map : {&element.features, &element.labels}) {
      for (const auto& [name, tensor] : *map) text += (text.empty() ? "" : "\t") + array_text(tensor);
    }
    return text;
  }
  std::vector<std::string> texts(const Dataset& dataset) {
    std::vector<std::string> result;
    for (const Element& element : dataset.elements()) result.push_back(row_text(element));
    return result;
  }
  Dataset lines(const std::string& contents, JsonLinesOptions options) {
    write_file(folder_ / "a.jsonl", contents);
    return Dataset::json_lines({folder_ / "a.jsonl"}, std::move(options));
  }
  /// What one line gives for one field; or the sentence of the error, which has to name file and line.
  std::string value_of_line(const std::string& line, JsonField field) {
    std::string text;
    const auto error = raised([&] { text = texts(lines(line + "\n", {.fields = {std::move(field)}})).at(0); });
    if (!error) return text;
    EXPECT_EQ(error->kind(), ErrorKind::kDataLoss) << error->message();
    const std::string place = (folder_ / "a.jsonl") + ", line 1 (offset 0): ";
    const size_t at = error->message().find(place);
    if (at == std::string::npos) ADD_FAILURE() << error->message();
    return at == std::string::npos ? error->message() : error->message().substr(at + place.size());
  }
  static std::optional<Error> refused(JsonLinesOptions options) {
    return raised([&] { return Dataset::json_lines({"a"}, std::move(options)); });
  }
  TemporaryFolder folder_;
};

TEST_F(JsonLines, OfPythonAreRead) {
  if (!python_has("json")) GTEST_SKIP() << "python3 is not installed: its json module writes the file";
  const std::string path = folder_ / "a.jsonl", expected = output_of(python("json_objects.py") + path + " 3000");
  const Tensor none = Tensor(DType::kString, {0});
  const Dataset dataset = Dataset::json_lines(
      {path}, {.fields = {{.name = "text"},
                          {.name = "real", .dtype = DType::kFloat32},
                          {.name = "big", .dtype = DType::kInt64},
                          {.name = "small", .dtype = DType::kInt32},
                          {.name = "flag", .dtype = DType::kBool},
                          {.name = "pair", .dtype = DType::kInt32, .shape = {2}},
                          {.name = "grid", .dtype = DType::kFloat32, .shape = {2, 2}},
                          {.name = "words", .variable = true},
                          {.name = "id", .dtype = DType::kInt64, .path = "user.id", .missing = Tensor::scalar(int64_t(-1))},
                          {.name = "tags", .variable = true, .path = "user.tags", .missing = none}}});
  std::string read;
  for (const std::string& line : texts(dataset)) read += line + "\n";
  EXPECT_GT(expected.size(), 100'000U);
  EXPECT_TRUE(read == expected) << read.substr(0, 300) << "\n" << expected.substr(0, 300);
}

TEST_F(JsonLines, HaveFeaturesAndLabels) {
  const JsonLinesOptions options{.fields = {{"x", DType::kFloat32}, {"y", DType::kInt64}, {"name"}}, .labels = {"y"}};
  const Dataset dataset = lines("{\"y\":1,\"x\":0.5,\"name\":\"a\"}\n \t\r\n\n{\"name\":\"b\",\"x\":2,\"y\":0}", options);
  EXPECT_THAT(texts(dataset), ElementsAre("string [] 61\tfloat32 [] 1056964608\tint64 [] 1",
                                          "string [] 62\tfloat32 [] 1073741824\tint64 [] 0"));
  EXPECT_EQ(texts(dataset.skip(1)).size(), 1U);
  for (const Element& element : dataset.batch(2).elements()) {
    EXPECT_TRUE(element.labels.is_single());
    EXPECT_EQ(element.features.names(), "name, x");
  }
}

TEST_F(JsonLines, NumbersAreRoundedFromTheirText) {
  const JsonField real{"x", DType::kFloat32}, big{"x", DType::kInt64}, small{"x", DType::kInt32};
  const auto bits = [](float number) { return "float32 [] " + std::to_string(std::bit_cast<uint32_t>(number)); };
  // Just above the middle between two float32: as a double it is the middle, which would be rounded to the even one below.
  EXPECT_EQ(value_of_line("{\"x\":1.00000005960464477539062500000001}", real), bits(std::nextafter(1.0f, 2.0f)));
  EXPECT_EQ(value_of_line("{\"x\":16777217}", real), bits(16777216.0f));
  EXPECT_EQ(value_of_line("{\"x\":1e39}", real), bits(INFINITY));
  EXPECT_EQ(value_of_line("{\"x\":-1e-59}", real), bits(-0.0f));
  EXPECT_EQ(value_of_line("{\"x\":123456789012345678901234567890}", real), bits(123456789012345678901234567890.0f));
  EXPECT_EQ(value_of_line("{\"x\":1e400}", real), "the number that ends at byte 10 is beyond the range of double");
  EXPECT_EQ(value_of_line("{\"x\":7e1}", big), "int64 [] 70");
  EXPECT_EQ(value_of_line("{\"x\":70.0}", small), "int32 [] 70");
  EXPECT_EQ(value_of_line("{\"x\":-9223372036854775808}", big), "int64 [] -9223372036854775808");
  EXPECT_THAT(value_of_line("{\"x\":9223372036854775808}", big),
              StartsWith("field x is 9223372036854775808, expected int64; it is beyond what"));
  EXPECT_THAT(value_of_line("{\"x\":2147483648}", small),
              StartsWith("field x is 2147483648, expected int32; it is beyond what"));
  EXPECT_THAT(value_of_line("{\"x\":0.5}", big), StartsWith("field x is 0.5, expected int64; it has a fraction"));
  EXPECT_THAT(value_of_line("{\"x\":NaN}", real), StartsWith("not JSON at byte "));
}

TEST_F(JsonLines, ValuesOfAnotherTypeAreTold) {
  const JsonField text{"x"}, real{"x", DType::kFloat32}, flag{"x", DType::kBool}, pair{"x", DType::kInt32, {2}},
      grid{"x", DType::kInt32, {2, 2}};
  const JsonField words{.name = "x", .variable = true};
  EXPECT_EQ(value_of_line("{\"x\":5}", text), "field x is 5, expected a string");
  EXPECT_EQ(value_of_line("{\"x\":\"5\"}", real), "field x is the string \"5\", expected a number");
  EXPECT_EQ(value_of_line("{\"x\":true}", real), "field x is true, expected a number");
  EXPECT_EQ(value_of_line("{\"x\":1}", flag), "field x is 1, expected true or false");
  EXPECT_EQ(value_of_line("{\"x\":[1]}", real), "field x is a list, expected a number");
  EXPECT_EQ(value_of_line("{\"x\":{\"x\":1}}", real), "field x is an object, expected a number");
  EXPECT_EQ(value_of_line("{\"x\":1}", pair), "field x is 1, expected a list of 2");
  EXPECT_EQ(value_of_line("{\"x\":[1,\"a\"]}", pair), "field x has in its list the string \"a\", expected a number");
  EXPECT_EQ(value_of_line("{\"x\":[1,null]}", pair), "field x has in its list null, expected a number");
  EXPECT_EQ(value_of_line("{\"x\":[1]}", pair), "field x has a list of 1, expected 2 by its shape [2]");
  EXPECT_EQ(value_of_line("{\"x\":[1,2,3]}", pair), "field x has a list of more than 2, its size by its shape [2]");
  EXPECT_EQ(value_of_line("{\"x\":[[1,2],3]}", grid), "field x has in its list 3, expected a list of 2");
  EXPECT_EQ(value_of_line("{\"x\":[[1,2],[3]]}", grid), "field x has a list of 1, expected 2 by its shape [2, 2]");
  EXPECT_EQ(value_of_line("{\"x\":[[1,2],[3,4],[5,6]]}", grid),
            "field x has a list of more than 2, its size by its shape [2, 2]");
  EXPECT_EQ(value_of_line("{\"x\":[[1,2],[3,4]]}", grid), "int32 [2, 2] 1 2 3 4");
  EXPECT_EQ(value_of_line("{\"x\":[]}", words), "string [0] ");
  EXPECT_EQ(value_of_line("{\"x\":[[\"a\"]]}", words), "field x has in its list a list, expected a string");
  EXPECT_EQ(value_of_line("{\"x\":\"a\"}", words), "field x is the string \"a\", expected a list");
  EXPECT_EQ(value_of_line("[1]", text), "the line has a list, and no JSON object");
  EXPECT_EQ(value_of_line("null", text), "the line has null, and no JSON object");
  EXPECT_EQ(value_of_line("\"x\"", text), "the line has a value, and no JSON object");
}

TEST_F(JsonLines, MissingFieldsAreToldOrFilledIn) {
  const JsonField nested{.name = "x", .dtype = DType::kInt32, .path = "a.b"};
  EXPECT_EQ(value_of_line("{\"a\":{\"b\":1},\"b\":[2]}", nested), "int32 [] 1");
  for (const char* line : {"{}", "{\"a\":null}", "{\"a\":{}}", "{\"a\":{\"b\":null}}", "{\"b\":1}", "{\"a.b\":1}",
                           "{\"c\":{\"a\":{\"b\":1}}}"}) {
    EXPECT_THAT(value_of_line(line, nested), StartsWith("field x (a.b) is missing, or null, and has no value for that"));
  }
  EXPECT_EQ(value_of_line("{\"a\":1}", nested),
            "field x lies at a.b, and there is a value in the place of an object on that path");
  EXPECT_EQ(value_of_line("{\"a\":[{\"b\":1}]}", nested),
            "field x lies at a.b, and there is a list in the place of an object on that path");
  JsonField pair{.name = "x", .dtype = DType::kInt32, .shape = {2}, .missing = Tensor::scalar(int32_t(7))};
  EXPECT_EQ(value_of_line("{}", pair), "int32 [2] 7 7");
  pair.missing = Tensor::of<int32_t>({2}, {8, 9});
  EXPECT_EQ(value_of_line("{\"x\":null}", pair), "int32 [2] 8 9");
  EXPECT_EQ(value_of_line("{}", {.name = "x", .variable = true, .missing = Tensor::of_strings({1}, {"a"})}),
            "string [1] 61");
  EXPECT_EQ(value_of_line("{}", {.name = "x", .shape = {2}, .missing = Tensor::of_strings({}, {"a"})}), "string [2] 61 61");
  EXPECT_EQ(value_of_line("{\"a.b\":1}", {.name = "a.b", .dtype = DType::kInt32}), "int32 [] 1")
      << "without a path, the name is the key";
  const auto error = raised([&] { texts(lines("{\"x\":\"a\"}", {.fields = {{"x"}, {"y"}}, .labels = {"y"}})); });
  EXPECT_THAT(error->message(), HasSubstr("the label, field y is missing"));
  const JsonLinesOptions options{.fields = {{"x"}, {"y", DType::kFloat32}}, .labels = {"y"}};
  EXPECT_THAT(raised([&] { texts(lines("{\"x\":\"a\",\"y\":-1e39}", options)); })->message(),
              HasSubstr("the label, field y, has a number that is beyond what float32 holds"));
}

TEST_F(JsonLines, WhatIsNoJsonIsTold) {
  const JsonField x{.name = "x", .dtype = DType::kInt32};
  EXPECT_THAT(value_of_line("{\"x\":1,}", x), StartsWith("not JSON at byte 8"));
  EXPECT_THAT(value_of_line("{\"x\":1} {\"x\":2}", x), StartsWith("not JSON at byte 9"));
  EXPECT_THAT(value_of_line("{\"x\":1", x), StartsWith("not JSON"));
  EXPECT_EQ(value_of_line("{\"x\":1,\"x\":1}", x), "an object has the key \"x\" twice");
  EXPECT_EQ(value_of_line("{\"x\":1,\"y\":{\"z\":0,\"z\":0}}", x), "an object has the key \"z\" twice");
  EXPECT_EQ(value_of_line("{\"y\":" + std::string(200, '[') + std::string(200, ']') + ",\"x\":1}", x),
            "lists and objects nest more than 100 deep");
  const auto error = raised([&] { texts(lines("{\"x\":1}\n\n{\"x\":[]}\n", {.fields = {x}})); });
  EXPECT_THAT(error->message(), AllOf(HasSubstr(folder_ / "a.jsonl"), HasSubstr(", line 3 (offset 9): field x is a list")));
  EXPECT_THAT(raised([&] { texts(lines("{\"x\":1}\n", {.fields = {x}, .line_bytes_max = 5})); })->message(),
              HasSubstr("line_bytes_max"));
}

TEST_F(JsonLines, CutOrDamagedAnywhereAreErrorsOrRecords) {
  const std::string whole = "{\"x\":[1,2],\"y\":{\"z\":\"a\\n\"}}\n{\"y\":{\"z\":\"\"},\"x\":[3,4],\"w\":null}\n";
  const JsonLinesOptions options{.fields = {{"x", DType::kInt32, {2}}, {.name = "z", .path = "y.z"}}};
  const auto check = [&](const std::string& contents) {
    const auto error = raised([&] { texts(lines(contents, options)); });
    if (!error) return;
    EXPECT_THAT(error->message(),
                AllOf(HasSubstr(folder_ / "a.jsonl"), ::testing::AnyOf(HasSubstr("(offset "), HasSubstr("compress"))))
        << contents;
  };
  for (size_t at = 0; at < whole.size(); ++at) {
    check(whole.substr(0, at));
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = whole;
      damaged[at] = char(damaged[at] ^ (1 << bit));
      check(damaged);
    }
  }
}

TEST_F(JsonLines, GoOnFromEveryPosition) {
  std::string contents;
  for (int i = 0; i < 6; ++i) contents += "\n{\"x\":" + std::to_string(i) + "}\n";
  const Dataset dataset = lines(contents, {.fields = {{"x", DType::kInt64}}});
  const std::vector<std::string> all = texts(dataset);
  const auto env = make_production_environment({});
  const auto iterator = open(dataset, *env);
  Element element;
  for (size_t i = 0; i <= all.size(); ++i) {
    const auto other = open(dataset, *env);
    ASSERT_TRUE(other->restore(value_or_raise(iterator->save())));
    std::vector<std::string> rest;
    while (value_or_raise(other->next(element))) rest.push_back(row_text(element));
    EXPECT_EQ(rest, std::vector<std::string>(all.begin() + ptrdiff_t(i), all.end()));
    ASSERT_EQ(value_or_raise(iterator->next(element)), i < all.size());
  }
}

TEST_F(JsonLines, OptionsThatContradictThemselvesAreRefused) {
  const Tensor one = Tensor::scalar(1.0f);
  const std::pair<JsonLinesOptions, const char*> cases[] = {
      {{}, "no field becomes a feature"},
      {{.fields = {{"x"}}, .labels = {"x"}}, "no field becomes a feature"},
      {{.fields = {{"x"}, {"x"}}}, "field x is named twice"},
      {{.fields = {{"x"}}, .labels = {"y"}}, "there is no field y for the label"},
      {{.fields = {{"x"}, {"y"}}, .labels = {"y", "y"}}, "label y is named twice"},
      {{.fields = {{"x"}, {.name = "y", .path = "x"}}}, "is that of another field"},
      {{.fields = {{"x"}, {.name = "y", .path = "x.y"}}}, "lies inside of one"},
      {{.fields = {{.name = "y", .path = "x.y"}, {"x"}}}, "or around one"},
      {{.fields = {{"x", DType::kUInt8}}}, "cannot be uint8"},
      {{.fields = {{"x", DType::kInt32, {-1}}}}, "a shape that cannot be"},
      {{.fields = {{"x", DType::kInt32, {1 << 20, 1 << 20}}}}, "more than 2^30 elements"},
      {{.fields = {{.name = "x", .shape = {2}, .variable = true}}}, "and is variable as well"},
      {{.fields = {{.name = "x", .missing = one}}}, "of the type float32 and the shape []"},
      {{.fields = {{.name = "x", .dtype = DType::kFloat32, .variable = true, .missing = one}}}, "a list"},
      {{.fields = {{"\xff"}}}, "UTF-8"},
      {{.fields = {{"x"}}, .line_bytes_max = 0}, "line_bytes_max"},
  };
  for (const auto& [options, sentence] : cases) {
    const auto error = refused(options);
    ASSERT_TRUE(error) << sentence;
    EXPECT_EQ(error->kind(), ErrorKind::kInvalidArgument);
    EXPECT_THAT(error->message(), AllOf(StartsWith("json_lines: "), HasSubstr(sentence)));
  }
  EXPECT_EQ(raised([] { return Dataset::json_lines({}, {.fields = {{"x"}}}); })->kind(), ErrorKind::kInvalidArgument);
  const auto print = [](JsonField field) {
    return Dataset::json_lines({"a"}, {.fields = {std::move(field)}}).fingerprint();
  };
  EXPECT_NE(print({.name = "x"}), print({.name = "x", .variable = true}));
  EXPECT_NE(print({.name = "x"}), print({.name = "x", .path = "y"}));
  EXPECT_NE(print({.name = "x"}), print({.name = "x", .missing = Tensor::of_strings({}, {""})}));
  EXPECT_NE(print({.name = "x", .missing = Tensor::of_strings({}, {"a"})}),
            print({.name = "x", .missing = Tensor::of_strings({}, {"b"})}));
}

}  // namespace
}  // namespace shoal::data
