// SPDX-License-Identifier: Apache-2.0
// Variables that start from files of other programs: which tensors are taken, and the errors.
// tests/torch/compare_weights.py checks the mapping of layers.
#include <limits>

#include "model/warm_start_source.h"
#include "shoal/base/virtual.h"
#include "shoal/data/npy.h"
#include "shoal/estimator/warm_start.h"
#include "warm_start_fixture.h"

namespace shoal::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// A safetensors file of float32 tensors.
std::string safetensors_of(const data::TensorMap& tensors) {
  std::string header = "{", contents;
  for (const auto& [name, tensor] : tensors) {
    const std::string begin = std::to_string(contents.size());
    contents.append(reinterpret_cast<const char*>(tensor.view().data), tensor.bytes());
    header += (header.size() > 1 ? ",\"" : "\"") + name + R"(":{"dtype":"F32","shape":)" + to_string(tensor.shape()) +
              ",\"data_offsets\":[" + begin + "," + std::to_string(contents.size()) + "]}";
  }
  header += "}";
  const uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + header + contents;
}

Tensor floats(Shape shape, float first) {
  Tensor tensor(DType::kFloat32, shape);
  for (float& value : tensor.mutable_as<float>()) value = first++;
  return tensor;
}

std::string bits_of(const Tensor& tensor) { return {reinterpret_cast<const char*>(tensor.view().data), tensor.bytes()}; }

class WarmStartFileTest : public WarmStartTest {
 protected:
  std::string npz(const data::TensorMap& arrays, const std::string& name = "w.npz") {
    const std::string path = files_ / name;
    value_or_raise(data::write_npz(*make_file_storage(), path, arrays));
    return path;
  }
  std::string file(const std::string& name, const std::string& contents) {
    write_file(files_ / name, contents);
    return files_ / name;
  }
  TemporaryFolder files_;
};

const Tensor kTable = floats({5, 3}, 1), kScale = floats({3}, 20), kShift = floats({3}, 30), kMean = floats({3}, 40),
             kVariance = floats({3}, 50), kKernel = floats({3, 3}, 60), kBias = floats({3}, 70);

data::TensorMap state_dict() {
  return {{"fc.weight", kKernel}, {"fc.bias", kBias},         {"emb.weight", kTable},        {"bn.weight", kScale},
          {"bn.bias", kShift},    {"bn.running_mean", kMean}, {"bn.running_var", kVariance}, {"extra.weight", kBias}};
}

const std::map<std::string, LayerWeights> kLayers = {{"out", from_pytorch::linear("fc")},
                                                     {"words", from_pytorch::embedding("emb")},
                                                     {"batch_norm", from_pytorch::batch_norm("bn")}};

Bits with_state(Bits fresh) {
  for (const auto& [name, tensor] : data::TensorMap{{"out/kernel", kKernel},
                                                    {"out/bias", kBias},
                                                    {"words/table", kTable},
                                                    {"batch_norm/scale", kScale},
                                                    {"batch_norm/shift", kShift},
                                                    {"batch_norm/moving_mean", kMean},
                                                    {"batch_norm/moving_variance", kVariance}}) {
    fresh[name] = bits_of(tensor);
  }
  return fresh;
}

// Taken tensors.

TEST_F(WarmStartFileTest, LayersBringTheirVariablesAndMovingStatisticsToo) {
  const Bits expected = with_state(begun({}));
  EXPECT_EQ(begun({{.from = npz(state_dict()), .layers = kLayers}}), expected);
  EXPECT_EQ(begun({{.from = file("w.safetensors", safetensors_of(state_dict())), .layers = kLayers}}), expected);
  // The first bytes tell the type of a file; its name does not.
  EXPECT_EQ(begun({{.from = file("weights", safetensors_of(state_dict())), .layers = kLayers}}), expected);
}

TEST_F(WarmStartFileTest, TheLogNamesWhatIsNotUsed) {
  const std::string path = npz(state_dict());
  Estimator estimator = make();
  estimator.warm_start({.from = path, .layers = kLayers}).train(sentences, {.steps = 1});
  EXPECT_EQ(
      place_.log.count('I', "warm start: 7 of 7 variables start from file " + path + "; nothing starts from extra.weight"),
      1);
}

TEST_F(WarmStartFileTest, EvaluationBeginsFromTheFileToo) {
  Estimator estimator = make();
  estimator.warm_start({.from = npz(state_dict()), .layers = kLayers});
  const double loss = estimator.evaluate(sentences, {.steps = 1}).at("loss");
  Place other;
  Estimator fresh = other.estimator(word_model, {.random_seed = 8});
  EXPECT_NE(loss, fresh.evaluate(sentences, {.steps = 1}).at("loss"));
}

TEST_F(WarmStartFileTest, NamesThatAreEqualNeedNoMap) {
  const std::string path = npz({{"out/kernel", kKernel}, {"out/bias", kBias}});
  Bits expected = begun({});
  expected["out/kernel"] = bits_of(kKernel);
  expected["out/bias"] = bits_of(kBias);
  EXPECT_EQ(begun({{.from = path, .variables = "out/.*"}}), expected);
}

TEST_F(WarmStartFileTest, NoneChoosesWhatLayersAndNamesSay) {
  Bits expected = begun({});
  expected["words/table"] = bits_of(kTable);
  expected["out/bias"] = bits_of(kScale);
  EXPECT_EQ(begun({{.from = npz(state_dict()),
                    .variables = std::nullopt,
                    .layers = {{"words", from_pytorch::embedding("emb")}},
                    .names = {{"out/bias", "bn.weight"}}}}),
            expected);
}

TEST_F(WarmStartFileTest, ANameGoesBeforeTheLayer) {
  Bits expected = begun({});
  expected["out/kernel"] = bits_of(Tensor::of<float>({3, 3}, {60, 63, 66, 61, 64, 67, 62, 65, 68}));
  expected["out/bias"] = bits_of(kBias);
  EXPECT_EQ(begun({{.from = npz(state_dict()),
                    .variables = std::nullopt,
                    .layers = {{"out", from_pytorch::linear("fc")}},
                    .names = {{"out/kernel", SourceTensor("fc.weight").transposed({1, 0})}}}}),
            expected);
}

TEST_F(WarmStartFileTest, OtherLayoutsWorkForCheckpointsToo) {
  Bits expected = begun({});
  const std::string table = old_bits().at("words/table");
  expected["words/table"] =
      row_of_bits(table, 4) + row_of_bits(table, 3) + row_of_bits(table, 2) + row_of_bits(table, 1) + row_of_bits(table, 0);
  EXPECT_EQ(begun({{.from = from(),
                    .variables = std::nullopt,
                    .names = {{"words/table", SourceTensor("words/table").parts(5, {4, 3, 2, 1, 0})}}}}),
            expected);
}

TEST_F(WarmStartFileTest, RowsMoveWithTheirTokens) {
  Bits expected = begun({});
  const std::string fresh = expected.at("words/table"), table = bits_of(kTable);
  expected["words/table"] =
      row_of_bits(table, 1) + row_of_bits(fresh, 1) + row_of_bits(table, 0) + row_of_bits(fresh, 3) + row_of_bits(fresh, 4);
  EXPECT_EQ(
      begun({{.from = npz(state_dict()),
              .variables = std::nullopt,
              .names = {{"words/table", "emb.weight"}},
              .vocabularies = {{"words/table", {.old_tokens = {"cat", "dog"}, .new_tokens = {"dog", "emu", "cat"}}}}}}),
      expected);
}

/// A table may be divided among servers, and each part is read by itself.
TEST_F(WarmStartFileTest, APartOfAVariableIsReadByItsRows) {
  const std::string path = npz({{"plain", floats({5, 2}, 0)}, {"turned", floats({2, 5}, 0)}});
  VirtualWorld world(1);
  Environment& env = world.add_task({.storage = make_file_storage()});
  Graph graph;
  graph.variable("plain", {5, 2});
  graph.variable("turned", {5, 2});
  const WarmStart start{.from = path, .names = {{"turned", SourceTensor("turned").transposed({1, 0})}}};
  const auto source = value_or_raise(WarmStartSource::open(env, start, graph, {}, Mode::kTrain));
  const auto rows = [&](const std::string& name) {
    std::vector<float> values(4);
    const cluster::Segment segment{
        .variable = {.name = name, .shape = {5, 2}}, .row_begin = 2, .row_end = 4, .bytes = values.size() * sizeof(float)};
    value_or_raise(source->read(segment, 0, std::as_writable_bytes(std::span(values))));
    return values;
  };
  EXPECT_THAT(rows("plain"), ::testing::ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(rows("turned"), ::testing::ElementsAre(2, 7, 3, 8));
}

/// The loss would become NaN, and nothing would say why.
TEST_F(WarmStartFileTest, ValuesThatAreNotFiniteAreTold) {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor plain = Tensor::of<float>({3, 2}, {1, nan, 2, 3, -infinity, 4});
  const std::string arrays = npz({{"plain", plain}, {"good", floats({2}, 0)}});
  const std::string header = R"({"wide":{"dtype":"F64","shape":[2],"data_offsets":[0,16]}})";
  const uint64_t length = header.size();
  const double wide[] = {1e300, 1};
  const std::string tensors = file("wide.safetensors", std::string(reinterpret_cast<const char*>(&length), sizeof length) +
                                                           header + std::string(reinterpret_cast<const char*>(wide), 16));
  Log log;
  VirtualWorld world(1);
  Environment& env = world.add_task({.sink = log.sink(), .storage = make_file_storage()});
  const auto read = [&](const WarmStart& start, const std::string& name, const Shape& shape, int64_t begin, int64_t end) {
    Graph graph;
    graph.variable(name, shape);
    const auto source = value_or_raise(WarmStartSource::open(env, start, graph, {}, Mode::kTrain));
    std::vector<float> values(size_t(shape.elements() / shape[0] * (end - begin)));
    const cluster::Segment segment{.variable = {.name = name, .shape = shape},
                                   .row_begin = begin,
                                   .row_end = end,
                                   .bytes = values.size() * sizeof(float)};
    value_or_raise(source->read(segment, 0, std::as_writable_bytes(std::span(values))));
  };
  const WarmStart turned{.from = arrays, .names = {{"turned", SourceTensor("plain").transposed({1, 0})}}};
  read({.from = arrays}, "good", {2}, 0, 2);
  EXPECT_THAT(log.all('W'), ::testing::IsEmpty());
  read({.from = arrays}, "plain", {3, 2}, 0, 3);
  read({.from = arrays}, "plain", {3, 2}, 1, 3);
  read(turned, "turned", {2, 3}, 0, 2);
  read({.from = tensors}, "wide", {2}, 0, 2);
  const std::string why = " (NaN, infinity, or beyond float32)";
  EXPECT_THAT(log.all('W'),
              ::testing::ElementsAre(
                  "warm start of variable plain: 2 values of plain in file " + arrays + " are not finite numbers" + why,
                  "warm start of variable plain: 1 value of plain in file " + arrays + " is no finite number" + why +
                      ", in rows 1 to 2",
                  "warm start of variable turned: 2 values of plain.transposed({1, 0}) in file " + arrays +
                      " are not finite numbers" + why,
                  "warm start of variable wide: 1 value of wide in file " + tensors + " is no finite number" + why));
}

TEST_F(WarmStartFileTest, AnIndexLeadsToSeveralFiles) {
  file("a.safetensors", safetensors_of({{"out/kernel", kKernel}, {"not in the index", kBias}}));
  file("b.safetensors", safetensors_of({{"out/bias", kBias}}));
  const auto index = [this](const std::string& weight_map) {
    return file("model.safetensors.index.json", R"({"metadata":{"total_size":48},"weight_map":)" + weight_map + "}");
  };
  Bits expected = begun({});
  expected["out/kernel"] = bits_of(kKernel);
  expected["out/bias"] = bits_of(kBias);
  const std::string path = index(R"({"out/kernel":"a.safetensors","out/bias":"b.safetensors"})");
  EXPECT_EQ(begun({{.from = path, .variables = "out/.*"}}), expected);
  index(R"({"out/kernel":"c.safetensors"})");
  EXPECT_THAT(refused({.from = path}, {}, ErrorKind::kNotFound), HasSubstr("c.safetensors"));
  index(R"({"out/kernel":"b.safetensors"})");
  EXPECT_THAT(refused({.from = path}, {}, ErrorKind::kDataLoss), HasSubstr("b.safetensors has no tensor out/kernel"));
  index(R"({"out/kernel":"../b.safetensors"})");
  EXPECT_THAT(refused({.from = path}, {}, ErrorKind::kDataLoss), HasSubstr("stand beside their index"));
}

// Refused warm starts.

TEST_F(WarmStartFileTest, AllMissingNamesAreInOneSentence) {
  const std::string path = npz(state_dict());
  EXPECT_THAT(refused({.from = path, .layers = {{"out", from_pytorch::linear("fc")}}}),
              AllOf(HasSubstr("file " + path +
                              " has no tensor words/table, from which words/table is to start, no tensor "
                              "batch_norm/scale, from which batch_norm/scale is to start, no tensor batch_norm/shift"),
                    HasSubstr("there are: bn.bias, "), HasSubstr("WarmStart::layers"), Not(HasSubstr("out/kernel"))));
}

TEST_F(WarmStartFileTest, OtherShapesAreNamedWithTheOrderOfAxesThatFits) {
  const Params four{{"classes", 4}};
  const WarmStart start{.from = npz({{"out/kernel", floats({3, 4}, 0)}, {"out/bias", floats({4}, 0)}}),
                        .variables = "out/.*"};
  EXPECT_THAT(
      refused(start, four),
      AllOf(HasSubstr("variable out/kernel is float32 [4, 3] in the model, and float32 [3, 4] in file " + start.from),
            HasSubstr("with its axes in another order it would fit: out/kernel.transposed({1, 0})")));
  EXPECT_THAT(refused(start), AllOf(HasSubstr("[3, 3] in the model"), Not(HasSubstr("another order"))));
  const WarmStart ids{.from = npz({{"out/bias", Tensor::of<int64_t>({3}, {1, 2, 3})}}), .variables = "out/bias"};
  EXPECT_THAT(refused(ids), HasSubstr("variable out/bias is float32 [3] in the model, and int64 [3] in file"));
}

TEST_F(WarmStartFileTest, AStepThatDoesNotFitIsNamed) {
  const std::string path = npz(state_dict());
  const auto with = [&](const SourceTensor& source) {
    return refused({.from = path, .variables = std::nullopt, .names = {{"out/kernel", source}}});
  };
  const SourceTensor weight("fc.weight");
  EXPECT_THAT(
      with(weight.transposed({1, 0, 2})),
      AllOf(HasSubstr("variable out/kernel in file " + path),
            HasSubstr("fc.weight: transposed({1, 0, 2}) does not fit float32 [3, 3]"), HasSubstr("0 to 1 in any order")));
  EXPECT_THAT(with(weight.transposed({0, 0})), HasSubstr("0 to 1 in any order"));
  EXPECT_THAT(with(weight.reshaped({0, 2, -1})), HasSubstr("9 elements do not make up [3, 2, 1]"));
  EXPECT_THAT(with(weight.reshaped({-1, -1})), HasSubstr("-1 stands there twice"));
  EXPECT_THAT(with(weight.reshaped({3, 3, 0})), HasSubstr("it has no axis 2"));
  EXPECT_THAT(with(weight.reshaped({-2, 3})), HasSubstr("reshaped({-2, 3})"));
  EXPECT_THAT(with(weight.parts(2, {0})), HasSubstr("axis 0 cannot be cut into 2 equal parts"));
  EXPECT_THAT(with(weight.parts(3, {3})), HasSubstr("there is no part 3"));
  EXPECT_THAT(with(weight.followed_by("fc.bias")), HasSubstr("the other one is float32 [3]"));
  EXPECT_THAT(with(weight.plus("fc.bias")), HasSubstr("only float32 of one shape are added"));
  EXPECT_THAT(with(weight.plus("fc.bia")), HasSubstr("has no tensor fc.bia, from which out/kernel is to start"));
}

TEST_F(WarmStartFileTest, LayersThatDifferAreRefused) {
  const std::string path = npz(state_dict());
  EXPECT_THAT(
      refused({.from = path, .variables = std::nullopt, .layers = {{"logits", from_pytorch::linear("fc")}}}),
      AllOf(HasSubstr("layers: the model has no variable of such a layer named logits (logits/bias, logits/kernel)"),
            HasSubstr("there are: words/table, ")));
  // The layer has a bias in the file, and none in the model.
  EXPECT_THAT(
      refused(
          {.from = path, .variables = std::nullopt, .layers = {{"words", {{"table", "emb.weight"}, {"bias", "fc.bias"}}}}}),
      HasSubstr("has tensor fc.bias, and the model has no variable words/bias for it"));
  // Neither layer has a bias.
  EXPECT_NO_THROW(begun(
      {{.from = path, .variables = std::nullopt, .layers = {{"words", {{"table", "emb.weight"}, {"bias", "emb.bias"}}}}}}));
}

TEST_F(WarmStartFileTest, DamageIsDataLossNamingTheFile) {
  const std::string safetensors = safetensors_of(state_dict());
  const std::string path = file("w.safetensors", safetensors.substr(0, safetensors.size() - 1));
  EXPECT_THAT(refused({.from = path, .layers = kLayers}, {}, ErrorKind::kDataLoss),
              AllOf(HasSubstr("warm start from " + path), HasSubstr("offset")));
  const std::string archive = npz(state_dict());
  std::string flipped = read_file(archive);
  flipped[flipped.find("NUMPY") + 200] ^= 1;
  write_file(archive, flipped);
  EXPECT_THAT(refused({.from = archive, .layers = kLayers}, {}, ErrorKind::kDataLoss), HasSubstr(archive));
}

TEST_F(WarmStartFileTest, OtherFormatsAreNamedWithWhatToDo) {
  const auto of = [this](const std::string& beginning) {
    return refused({.from = file("w", beginning)}, {}, ErrorKind::kFailedPrecondition);
  };
  EXPECT_THAT(of(std::string("PK\3\4") + std::string(26, '\0') + "archive/data.pkl"),
              AllOf(HasSubstr("torch.save"), HasSubstr("numpy.savez(")));
  EXPECT_THAT(of("\x80\x02\x8a\x0al"), HasSubstr("torch.save"));
  EXPECT_THAT(of("\x89HDF\r\n\x1a\n"), AllOf(HasSubstr("Keras"), HasSubstr("weight.path")));
  EXPECT_THAT(of(read_file(from() + "/model.ckpt-4.index")), HasSubstr("named without \".index\""));
  EXPECT_THAT(of("some text"), HasSubstr("no safetensors or NPZ file"));
  EXPECT_THAT(of(""), HasSubstr("no safetensors or NPZ file"));
}

TEST_F(WarmStartFileTest, AnUnknownTypeIsNamedWhereItIsWanted) {
  const std::string header = R"({"out/bias":{"dtype":"F8_E4M3","shape":[3],"data_offsets":[0,3]}})";
  const uint64_t length = header.size();
  const std::string path =
      file("w.safetensors", std::string(reinterpret_cast<const char*>(&length), sizeof length) + header + "abc");
  EXPECT_THAT(refused({.from = path, .variables = "out/bias"}, {}, ErrorKind::kFailedPrecondition),
              AllOf(HasSubstr(path), HasSubstr("tensor out/bias is of type F8_E4M3")));
}

}  // namespace
}  // namespace shoal::testing
