// Numbers and tensors as printed JSON.
#include "shoal/json/values.h"

#include <gtest/gtest.h>

#include <limits>

namespace shoal::json {
namespace {

TEST(Values, NumbersHaveTheFewestDigitsOfTheirType) {
  EXPECT_EQ(number_json(0.1f).dump(), "0.1");
  EXPECT_EQ(number_json(0.1).dump(), "0.1");
  EXPECT_EQ(number_json(double(0.1f)).dump(), "0.10000000149011612");
  EXPECT_EQ(number_json(-std::numeric_limits<float>::infinity()), "-Infinity");
  EXPECT_EQ(number_json(std::nan("")), "NaN");
}

TEST(Values, TensorsAreListsInLists) {
  const Tensor tensor = Tensor::of<int64_t>({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(values_json(tensor).dump(), "[[1,2],[3,4]]");
  EXPECT_EQ(row_json(tensor, 1).dump(), "[3,4]");
  EXPECT_EQ(element_json(tensor, 2).dump(), "3");
  EXPECT_EQ(values_json(Tensor::scalar<float>(0.5f)).dump(), "0.5");
  EXPECT_EQ(values_json(Tensor::of_strings({2}, {"a", "b"})).dump(), R"(["a","b"])");
  EXPECT_EQ(values_json(Tensor(DType::kFloat32, Shape{0, 2})).dump(), "[]");
}

TEST(Values, HalfFloatsAreShownAsNumbers) {
  Tensor halves(DType::kFloat16, Shape{3}), brains(DType::kBFloat16, Shape{1});
  const uint16_t stored[3] = {to_float16(0.5f), to_float16(65504), 0x7c00}, brain = to_bfloat16(-2);
  std::memcpy(halves.mutable_view().data, stored, sizeof stored);
  std::memcpy(brains.mutable_view().data, &brain, sizeof brain);
  EXPECT_EQ(values_json(halves).dump(), R"([0.5,65504.0,"Infinity"])");
  EXPECT_EQ(values_json(brains).dump(), "[-2.0]");
}

}  // namespace
}  // namespace shoal::json
