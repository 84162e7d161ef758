// SPDX-License-Identifier: Apache-2.0
// Files that are damaged, or ask for what is not known here: an error that says what, and never a crash.
#include <gmock/gmock.h>

#include "onnx_runtime.h"
#include "shoal/convert/onnx_model.h"
#include "tiny_onnx.h"

namespace shoal::convert {
namespace {

using ::testing::HasSubstr;

/// y = x x' + ids, with a few more nodes.
TinyFile product_file() {
  TinyFile file;
  file.inputs = {tiny_port("x", kTinyFloat, {"n", "3"}), tiny_port("ids", kTinyInt64, {"n", "1"})};
  file.outputs = {tiny_port("y", kTinyFloat, {"n", "n"})};
  file.constants = {tiny_constant("two", {2}, {0, 1}), tiny_constant("one", {}, {1})};
  file.nodes = {
      tiny_node("Gemm", {"x", "x"}, {"square"}, {tiny_int("transB", 1)}), tiny_node("Add", {"ids", "one"}, {"more"}),
      tiny_node("Cast", {"more"}, {"reals"}, {tiny_int("to", kTinyFloat)}), tiny_node("Add", {"square", "reals"}, {"y"})};
  return file;
}

Tensors product_inputs() {
  return {{"x", Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6})}, {"ids", Tensor::of<int64_t>({2, 1}, {10, 20})}};
}

std::string error_of(const TinyFile& file, const Tensors& inputs = product_inputs(), const OnnxLimits& limits = {}) {
  const Result<OnnxModel> model = OnnxModel::parse(file.bytes(), limits);
  if (!model) return std::string(to_string(model.error().kind())) + ": " + model.error().message();
  const Result<Tensors> outputs = model->run(inputs);
  return outputs ? "" : std::string(to_string(outputs.error().kind())) + ": " + outputs.error().message();
}

TEST(OnnxModel, ComputesAFileAndSaysWhatItTakes) {
  const OnnxModel model = value_or_raise(OnnxModel::parse(product_file().bytes()));
  ASSERT_EQ(model.inputs().size(), 2u);
  EXPECT_EQ(model.inputs()[0].name, "x");
  EXPECT_EQ(model.inputs()[0].dtype, DType::kFloat32);
  ASSERT_EQ(model.inputs()[0].dims.size(), 2u);
  EXPECT_EQ(model.inputs()[0].dims[0].symbol, "n");
  EXPECT_EQ(model.inputs()[0].dims[1].size, 3);
  ASSERT_EQ(model.outputs().size(), 1u);
  EXPECT_EQ(model.outputs()[0].name, "y");
  const Tensors outputs = value_or_raise(model.run(product_inputs()));
  EXPECT_THAT(outputs.at("y").as<float>(), ::testing::ElementsAre(14 + 11, 32 + 11, 32 + 21, 77 + 21));
}

TEST(OnnxModel, EveryPrefixAndEveryFlippedBitIsAnErrorOrAResult) {
  const std::string bytes = product_file().bytes();
  for (size_t size = 0; size < bytes.size(); ++size) {
    const Result<OnnxModel> model = OnnxModel::parse(bytes.substr(0, size));
    ASSERT_FALSE(model) << size;
    ASSERT_EQ(model.error().kind(), ErrorKind::kDataLoss) << size;
    ASSERT_THAT(model.error().message(), HasSubstr("byte ")) << size;
  }
  int results = 0;
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string changed = bytes;
    changed[bit / 8] = char(changed[bit / 8] ^ (1 << bit % 8));
    const Result<OnnxModel> model = OnnxModel::parse(changed, {.elements_max = 1000, .work_max = 100'000});
    if (model) results += model->run(product_inputs()).has_value();
  }
  EXPECT_GT(results, 0);  // Bits of names of nodes change nothing.
}

TEST(OnnxModel, DamageIsNamedByItsPlace) {
  TinyFile file = product_file();
  file.constants[0] = tiny_constant("two", {3}, {0, 1});
  EXPECT_THAT(error_of(file), HasSubstr("in the graph: constant 0 \"two\": there are 2 elements, and the shape [3] has 3"));
  file = product_file();
  file.nodes[1].number(4, 1);  // The op is a text.
  EXPECT_THAT(error_of(file), ::testing::AllOf(HasSubstr("DataLoss: byte "), HasSubstr("graph: node 1")));
}

TEST(OnnxModel, WhatIsNotKnownIsNamed) {
  TinyFile file = product_file();
  file.nodes[1] = tiny_node("Einsum", {"ids", "one"}, {"more"});
  EXPECT_EQ(error_of(file), "InvalidArgument: node 1, Einsum \"the_Einsum\": op Einsum is not known here");
  file.nodes[1] = tiny_node("Scaler", {"ids"}, {"more"}, {}, "ai.onnx.ml");
  EXPECT_THAT(error_of(file), HasSubstr("op Scaler of domain \"ai.onnx.ml\" is not known here"));
  file.nodes[1] = tiny_node("Add", {"ids", "one"}, {"more"}, {}, "com.example");
  EXPECT_THAT(error_of(file), HasSubstr("the file does not say the opset of domain \"com.example\""));
  file = product_file();
  file.nodes[0] = tiny_node("Gemm", {"x", "x"}, {"square"}, {tiny_int("transC", 1)});
  EXPECT_THAT(error_of(file), HasSubstr("attribute \"transC\" is not known here"));
  file.nodes[0] = tiny_node("LSTM", {"x", "x", "x"}, {"square"}, {tiny_int("layout", 1)});
  EXPECT_THAT(error_of(file), HasSubstr("attribute \"layout\" is 1; known here is 0"));
  file = product_file();
  file.opset = 18;
  EXPECT_THAT(error_of(file), HasSubstr("opset 18; known here is opset 17"));
  file = product_file();
  file.inputs[0] = tiny_port("x", 11, {"n", "3"});
  EXPECT_THAT(error_of(file), HasSubstr("input 0: type: tensor of the ONNX file has elements of type 11 of ONNX"));
}

TEST(OnnxModel, NamesStandForOneThingThatIsMadeBefore) {
  TinyFile file = product_file();
  file.nodes[1] = tiny_node("Add", {"ids", "y"}, {"more"});  // A circle.
  EXPECT_THAT(error_of(file), HasSubstr("node 1, Add \"the_Add\": it reads \"y\", which nothing before it makes"));
  file = product_file();
  file.nodes[1] = tiny_node("Add", {"ids", "one"}, {"x"});
  EXPECT_THAT(error_of(file), HasSubstr("the name \"x\" stands for two values"));
  file = product_file();
  file.outputs.push_back(tiny_port("z", kTinyFloat, {}));
  EXPECT_THAT(error_of(file), HasSubstr("output \"z\" of the ONNX file is made by nothing"));
  file = product_file();
  file.nodes[1] = tiny_node("Add", {"ids"}, {"more"});
  EXPECT_THAT(error_of(file), HasSubstr("input 1 is missing"));
}

TEST(OnnxModel, InputsAreAsTheFileSays) {
  const TinyFile file = product_file();
  Tensors inputs = product_inputs();
  inputs.erase("ids");
  EXPECT_EQ(error_of(file, inputs), "InvalidArgument: input \"ids\" of the ONNX file is not given");
  inputs["ids"] = Tensor::of<int32_t>({2, 1}, {1, 2});
  EXPECT_THAT(error_of(file, inputs), HasSubstr("is int32, and the file says int64"));
  inputs["ids"] = Tensor::of<int64_t>({1, 1}, {1});
  EXPECT_THAT(error_of(file, inputs), HasSubstr("\"ids\" of the ONNX file has the shape [1, 1], and the file says [n, 1]"));
  inputs = product_inputs();
  inputs["x"] = Tensor::of<float>({2, 2}, {1, 2, 3, 4});
  EXPECT_THAT(error_of(file, inputs), HasSubstr("\"x\" of the ONNX file has the shape [2, 2], and the file says [n, 3]"));
  inputs = product_inputs();
  inputs["z"] = Tensor::scalar(1.0f);
  EXPECT_THAT(error_of(file, inputs), HasSubstr("the ONNX file has no input \"z\", which is given"));
}

TEST(OnnxModel, OutputsAreAsTheFileSays) {
  TinyFile file = product_file();
  file.outputs[0] = tiny_port("y", kTinyInt64, {"n", "n"});
  EXPECT_THAT(error_of(file), HasSubstr("output \"y\" of the ONNX file is float32, and the file says int64"));
  file.outputs[0] = tiny_port("y", kTinyFloat, {"n", "4"});
  EXPECT_THAT(error_of(file), HasSubstr("has the shape [2, 2], and the file says [n, 4]"));
}

TEST(OnnxModel, ErrorsOfARunNameTheNode) {
  TinyFile file = product_file();
  file.nodes[0] = tiny_node("Gemm", {"x", "x"}, {"square"});
  EXPECT_EQ(error_of(file),
            "InvalidArgument: node 0, Gemm \"the_Gemm\": the shapes [2, 3] and [2, 3] are not those of a product");
  file = product_file();
  file.nodes[1] = tiny_node("Gather", {"ids", "two"}, {"more"}, {tiny_int("axis", 1)});
  EXPECT_THAT(error_of(file), HasSubstr("node 1, Gather \"the_Gather\": position 1 is none of 1"));
}

TEST(OnnxModel, LimitsHoldBeforeMemoryIsTaken) {
  TinyFile file = product_file();
  EXPECT_THAT(error_of(file, product_inputs(), {.nodes_max = 3}), HasSubstr("more than 3 nodes, which is the limit"));
  EXPECT_THAT(error_of(file, product_inputs(), {.elements_max = 1}), HasSubstr("elements, and the limit is 1"));
  EXPECT_THAT(error_of(file, product_inputs(), {.work_max = 20}), HasSubstr("more work than the limit allows"));
  file.constants[0] = tiny_constant("two", {2}, {1 << 20, 1 << 20});
  file.nodes[0] = tiny_node("ConstantOfShape", {"two"}, {"square"});
  EXPECT_THAT(error_of(file), HasSubstr("a tensor would have the shape [1048576, 1048576], and the limit is"));
}

TEST(OnnxModel, ReadsWhatOtherWritersWrite) {
  const TinyFile file = tiny_text_file();
  const OnnxModel model = value_or_raise(OnnxModel::parse(file.bytes()));
  const Tensors outputs = value_or_raise(model.run({{"town", Tensor::of_strings({3}, {"Ulm", "Rome", "Bonn"})}}));
  EXPECT_THAT(outputs.at("row").as<float>(), ::testing::ElementsAre(5, 6, 1, 2, 3, 4));
}

}  // namespace
}  // namespace shoal::convert
