// SPDX-License-Identifier: Apache-2.0
/// What sources look like: text, signatures, weights in a file, memory; and what is refused, when it is written and when it is called.
#include <cmath>

#include "expect_subjects.h"
#include "shoal/columns/column.h"
#include "shoal/columns/layer.h"
#include "shoal/graph/ops.h"
#include "shoal/graph/source.h"
#include "shoal/graph/text_ids.h"
#include "shoal/nn/dense.h"
#include "shoal/nn/head.h"

namespace shoal::convert::testing {
namespace {

using nn::Mode;
using ::testing::HasSubstr;

std::filesystem::path form_folder() {
  return std::filesystem::path(::testing::TempDir()) /
         ("shoal_cpp_form_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
}

DimShape examples() { return DimShape{Dim::symbol("batch")}; }
DimShape rows_of(int64_t columns) { return DimShape{Dim::symbol("batch"), Dim(columns)}; }

/// Random values for all variables.
Feeds random_variables(const Graph& graph) {
  Feeds feeds;
  uint64_t key = 40;
  for (const Variable& variable : graph.variables()) {
    feeds.emplace(variable.name, backends::testing::random_tensor(variable.shape, ++key));
  }
  return feeds;
}

/// A model of two layers.
struct Small {
  Graph graph{RandomKey{1}};
  Feeds feeds;
  TrainedModel model;
  Small() {
    const Value x = graph.input("x", DType::kFloat32, rows_of(20));
    const Value y = nn::dense(nn::dense(x, {.units = 33, .activation = nn::Activation::kTanh}), {.units = 3});
    feeds = random_variables(graph);
    model = model_of(graph, feeds, {y});
  }
};

TEST(CppForms, WeightsInAFileAreCheckedAndRead) {
  if (const std::string reason = why_not_here(); !reason.empty()) GTEST_SKIP() << reason;
  Small small;
  const CppSource inside = value_or_raise(to_cpp(small.model, {}));
  const CppSource apart = value_or_raise(to_cpp(small.model, {.weights_apart = true}));
  EXPECT_TRUE(inside.weights.empty());
  EXPECT_EQ(inside.weight_bytes, (20u * 33 + 33 + 33 * 3 + 3) * 4);
  EXPECT_EQ(apart.weight_bytes, inside.weight_bytes);
  EXPECT_LT(apart.source.size(), inside.source.size());
  EXPECT_THAT(apart.header, HasSubstr("bool load_weights(const void* bytes, std::size_t size);"));
  const std::string main_text = R"(
#include <cstdio>
#include <vector>
int main() {
  float x[20], y[3];
  for (int i = 0; i < 20; ++i) x[i] = float(i) / 7;
  alignas(8) static unsigned char weights[100000];
  std::FILE* file = std::fopen("weights", "rb");
  const std::size_t size = std::fread(weights, 1, sizeof(weights), file);
  std::fclose(file);
#ifdef APART
  if (model::predict(x, y)) std::puts("predicted without weights");
  weights[size / 2] ^= 1;
  if (model::load_weights(weights, size)) std::puts("took damaged weights");
  weights[size / 2] ^= 1;
  if (model::load_weights(weights, size - 1)) std::puts("took too few");
  if (!model::load_weights(weights, size)) std::puts("refused its weights");
#endif
  if (!model::predict(x, y)) std::puts("failed");
  std::printf("%zu %a %a %a\n", size * 0, double(y[0]), double(y[1]), double(y[2]));
})";
  const std::string flags = "-O2" + fused_flag();
  const auto from_source = run_with_main(inside, "model", main_text, {.flags = flags}, form_folder());
  const auto from_file = run_with_main(apart, "model", main_text, {.flags = flags + " -DAPART"}, form_folder());
  ASSERT_TRUE(from_source) << from_source.error().message();
  ASSERT_TRUE(from_file) << from_file.error().message();
  EXPECT_EQ(*from_file, *from_source);
  std::filesystem::remove_all(form_folder());
}

TEST(CppForms, NeedNothingButTheCLibrary) {
  if (const std::string reason = why_not_here(); !reason.empty()) GTEST_SKIP() << reason;
  if (!has_program("nm")) GTEST_SKIP() << "there is no nm";
  Small small;
  const CppSource source = value_or_raise(to_cpp(small.model, {}));
  const std::string main_text = R"(
#include <cstdio>
#include <cstdlib>
int main() { return std::system("nm -u ../nm_model.o") == 0 ? 0 : 1; })";
  const std::string object = "../nm_model.o -c model.cc " + std::string("&& g++ -std=c++17");
  const auto symbols =
      run_with_main(source, "model", main_text, {.program = "g++ -std=c++17 -O2 -o " + object}, form_folder());
  ASSERT_TRUE(symbols) << symbols.error().message();
  EXPECT_EQ(symbols->find("_Z"), std::string::npos) << *symbols;      // Nothing of C++,
  EXPECT_EQ(symbols->find("malloc"), std::string::npos) << *symbols;  // and nothing that allocates.
  std::filesystem::remove_all(form_folder());
}

TEST(CppForms, TextBecomesIdsAsInTheModel) {
  if (const std::string reason = why_not_here(); !reason.empty()) GTEST_SKIP() << reason;
  Graph graph(RandomKey{1});
  const Value colour = graph.input("colour", DType::kString, examples()),
              word = graph.input("word", DType::kString, examples());
  const auto vocabulary = std::make_shared<const Vocabulary>(
      value_or_raise(Vocabulary::make({"red", "gr\xc3\xbcn", "blue \"?\" \\", "a", "ab"})));
  const TextEncoding by_name{.vocabulary = vocabulary, .buckets = 3, .missing = {"", "none"}}, by_hash{.buckets = 1000003};
  const Value a = text_ids(colour, by_name), b = text_ids(word, by_hash);
  const Value y = ops::default_ids(a, {.depth = 100, .otherwise = 7}),
              z = ops::default_ids(b, {.depth = 1000003, .otherwise = 7});
  const Feeds none;
  TrainedModel model = model_of(graph, none, {y, z});
  const CppSource source = value_or_raise(to_cpp(model, {}));
  EXPECT_THAT(source.header, HasSubstr("bool predict(const std::int64_t* colour, const std::int64_t* word,"));
  EXPECT_THAT(source.header, HasSubstr("hash64 modulo 3; the empty text gives -1; \"none\" gives -1.\n"));
  EXPECT_THAT(source.header, HasSubstr("for \"word\": hash64 modulo 1000003; the empty text gives -1.\n"));
  std::vector<std::string> texts{"red", "gr\xc3\xbcn", "blue \"?\" \\", "a", "ab", "b", "none", "", "rot", "\xff\x01"};
  for (int size = 1; size < 600; size += size < 260 ? 1 : 37) {
    std::string text;
    for (int i = 0; i < size; ++i) text += char('a' + (i * 7 + size) % 26);
    texts.push_back(text);
  }
  std::string main_text = "#include <cstdio>\n#include <string>\nint main() {\n  const std::string texts[] = {", expected;
  for (const std::string& text : texts) {
    for (const char& c : text)
      main_text += (&c == &text.front() ? "\"\\x" : "\" \"\\x") +
                   std::string{"0123456789abcdef"[(c >> 4) & 15], "0123456789abcdef"[c & 15]};
    main_text += text.empty() ? "\"\"," : "\",\n";
    expected += std::to_string(by_name.id_of(text).value()) + " " + std::to_string(by_hash.id_of(text).value()) + "\n";
  }
  main_text += R"(};
  for (const std::string& t : texts) {
    std::printf("%lld %lld\n", (long long)model::colour_id(t.data(), t.size()), (long long)model::word_id(t.data(), t.size()));
  }
})";
  const auto printed = run_with_main(source, "model", main_text,
                                     {.flags = "-O1 -fsanitize=address,undefined" + fused_flag()}, form_folder());
  ASSERT_TRUE(printed) << printed.error().message();
  EXPECT_EQ(*printed, expected);
  std::filesystem::remove_all(form_folder());
}

/// A table of numbers and ids, a wide part and a deep one, and a head with names of classes.
struct WideAndDeep {
  Graph graph{RandomKey{1}};
  Feeds feeds;
  nn::HeadOutput head;
  TrainedModel model;

  WideAndDeep() {
    const Value age = graph.input("age", DType::kFloat32, rows_of(1)),
                shop = graph.input("shop number", DType::kInt64, rows_of(1)),
                colour = graph.input("colour", DType::kString, rows_of(1));
    const nn::ValueMap features{{"age", age}, {"shop number", shop}, {"colour", colour}};
    const auto by_age = columns::bucketized(columns::numeric("age"), {18, 30, 65});
    const auto by_shop = columns::categorical_by_identity("shop number", {.count = 12});
    const auto by_colour = columns::categorical_by_vocabulary("colour", {"red", "green", "blue"});
    const auto crossed = columns::crossed({by_shop, "colour"}, {.buckets = 50});
    Value deep = columns::input_layer(
        features, {columns::numeric("age"), columns::embedding(by_shop, {.dimension = 4}), columns::indicator(by_colour)});
    deep = nn::dense(nn::dense(deep, {.units = 16, .activation = nn::Activation::kRelu}), {.units = 3});
    const Value wide = columns::linear_layer(features, {by_age, crossed, by_shop}, {.units = 3});
    const auto maker = nn::multi_class_head({.n_classes = 3, .label_vocabulary = {"cat", "dog", "emu"}});
    head = maker->build({.mode = Mode::kPredict, .logits = ops::add(deep, wide)});
    feeds = random_variables(graph);
    feeds.emplace("age", Tensor::of<float>({1, 1}, {41.5f}));
    feeds.emplace("shop number", Tensor::of<int64_t>({1, 1}, {7}));
    for (const Node& node : graph.nodes()) {
      const auto encoded = value_or_raise(encoded_input(node));
      if (encoded)
        feeds.emplace(node.name, value_or_raise(encoded->encoding.ids_of(Tensor::of_strings({1, 1}, {"green"}))));
    }
    model = model_of(graph, feeds, {deep});
    model.inputs = {{"age", age}, {"shop number", shop}, {"colour", colour}};
    model.outputs.clear();
    for (const auto& [key, value] : head.predictions) model.outputs.push_back({key, value});
    model.texts = head.text_predictions;
    model.signatures = head.signatures;
  }
};

TEST(CppForms, ATableWithAHead) {
  if (const std::string reason = why_not_here(); !reason.empty()) GTEST_SKIP() << reason;
  WideAndDeep table;
  EXPECT_THAT(cpp_obstacles(table.model), ::testing::IsEmpty());
  const CppSource source = value_or_raise(to_cpp(table.model, {.name = "shop", .name_space = "my::shop"}));
  EXPECT_THAT(source.header, HasSubstr("const char* const predict_predict_classes_names[3];"));
  EXPECT_THAT(source.header, HasSubstr("Signature serving_default, and classification"));
  EXPECT_THAT(source.header, HasSubstr("names are in predict_classes_names; the same in every call"));
  EXPECT_THAT(source.header, HasSubstr("names are in predict_predict_classes_names\n"));
  std::vector<Value> fetches;
  for (const char* key : {"probabilities", "class_ids"}) {
    for (const auto& [name, value] : table.head.predictions) {
      if (name == key) fetches.push_back(value);
    }
  }
  const auto backend = backends::testing::backend_or_die("portable");
  const auto expected =
      value_or_raise(backends::testing::run_once(*backend, table.graph, fetches, table.feeds, {{"batch", 1}}));
  std::string numbers;
  for (const float p : expected[0].as<float>()) numbers += std::to_string(p) + " ";
  const std::string main_text = R"(
#include <cstdio>
int main() {
  const float age[1] = {41.5f};
  std::int64_t shop[1] = {7}, colours[2];
  colours[0] = my::shop::colour_id("green", 5);
  colours[1] = colours[0];
  float scores[3];
  std::int64_t classes[3];
  const bool ok = my::shop::predict(CALL);
  std::printf("%d %f %f %f ", ok, double(scores[0]), double(scores[1]), double(scores[2]));
  shop[0] = 12;
  std::printf("%d %s\n", my::shop::predict(CALL), my::shop::predict_classes_names[1]);
})";
  const std::string call = source.header.substr(source.header.find("bool predict("), 400);
  // The colour is read by two encodings: as a name, and as the whole hash of the cross.
  const bool twice = call.find("colour_1") < call.find(';');
  std::string text = main_text;
  const std::string arguments =
      twice ? "age, shop, colours, colours + 1, scores, classes" : "age, shop, colours, scores, classes";
  for (size_t at; (at = text.find("CALL")) != std::string::npos;) text.replace(at, 4, arguments);
  if (twice) {
    const std::string copy = "colours[1] = colours[0]";
    const std::string second = "colours[1] = my::shop::colour_1_id(\"green\", 5)";
    text.replace(text.find(copy), copy.size(), second);
  }
  const auto printed = run_with_main(source, "shop", text, {.flags = "-O2" + fused_flag()}, form_folder());
  ASSERT_TRUE(printed) << printed.error().message() << source.header;
  char wanted[200];
  const auto p = expected[0].as<float>();
  std::snprintf(wanted, sizeof(wanted), "1 %f %f %f 0 dog\n", double(p[0]), double(p[1]), double(p[2]));
  EXPECT_EQ(*printed, wanted) << source.header;
  std::filesystem::remove_all(form_folder());
}

TEST(CppForms, SayWhatTheyCannotWrite) {
  Graph graph(RandomKey{1});
  const Value x = graph.input("x", DType::kFloat32, DimShape{Dim::symbol("batch"), Dim::symbol("time"), Dim(4)});
  const Value y = ops::dropout(nn::dense(x, {.units = 3, .name = "first"}), 0.5, "drop");
  const Feeds none;
  TrainedModel model = model_of(graph, none, {y});
  model.weights = nullptr;  // A model can be asked before it is trained.
  EXPECT_THAT(cpp_obstacles(model),
              ::testing::ElementsAre(
                  HasSubstr("axis \"time\" of \"x\", [batch, time, 4], varies: give it the size that each call has"),
                  HasSubstr("node \"drop\", op dropout: it is for training")));
  EXPECT_THAT(cpp_obstacles(model, {.axes = {{"time", 5}}}), ::testing::ElementsAre(HasSubstr("dropout")));
  const auto refused = to_cpp(model, {});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("cannot be written as C++: axis \"time\""));
  EXPECT_THAT(refused.error().message(), HasSubstr("(and 1 more)"));
}

TEST(CppForms, RefuseNamesThatCppDoesNotTake) {
  Small small;
  for (const auto& [name, space] : {std::pair("my-model", "model"), std::pair("model", "a::"), std::pair("model", "class"),
                                    std::pair("", "model"), std::pair("model", "a:b")}) {
    const auto refused = to_cpp(small.model, {.name = name, .name_space = space});
    EXPECT_FALSE(refused) << name << " " << space;
  }
  EXPECT_FALSE(to_cpp(small.model, {.axes = {{"batch", 4}}}));
  EXPECT_FALSE(to_cpp(small.model, {.axes = {{"time", 0}}}));
  EXPECT_FALSE(to_cpp(small.model, {.axes = {{"time", 4}}}));  // The model has none.
}

TEST(CppForms, IdsOutOfRangeAreRefused) {
  if (const std::string reason = why_not_here(); !reason.empty()) GTEST_SKIP() << reason;
  std::vector<Subject> subjects;
  for (const int64_t id : {-1, 10, 9}) {
    Graph graph(RandomKey{1});
    const Value ids = graph.input("ids", DType::kInt64, DimShape{Shape{1, 2}});
    const Value y = ops::embedding_lookup(graph.variable("table", {10, 3}), ids);
    Feeds feeds = random_variables(graph);
    feeds.emplace("ids", Tensor::of<int64_t>({1, 2}, {3, id}));
    subjects.push_back(
        value_or_raise(subject_of("ids_" + std::string(id < 0 ? "below" : std::to_string(id)), graph, feeds, {y})));
    EXPECT_EQ(subjects.back().expected.empty(), id != 9);
  }
  expect_results(subjects, {.flags = "-O1 -fsanitize=address,undefined" + fused_flag()});
}

TEST(CppForms, ShareMemoryBetweenValues) {
  Graph graph(RandomKey{1});
  Value x = graph.input("x", DType::kFloat32, rows_of(1000));
  const Value first = x;
  for (int i = 0; i < 20; ++i) x = ops::tanh(ops::scale(x, 1.25));
  x = ops::reduce_sum(ops::mul(x, first));
  const Feeds none;
  const CppSource source = value_or_raise(to_cpp(model_of(graph, none, {x}), {}));
  EXPECT_LE(source.memory_bytes, 4096u);  // The activations are written over each other.
  EXPECT_LE(source.stack_bytes, 2048u);
}

}  // namespace
}  // namespace shoal::convert::testing
