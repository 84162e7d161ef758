// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/tensor.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace shoal {
namespace {

void expect_raises(ErrorKind kind, const std::string& part, const std::function<void()>& call) {
  try {
    call();
    ADD_FAILURE() << "nothing was raised; expected: " << part;
  } catch (const Exception& raised) {
    EXPECT_EQ(raised.kind(), kind) << raised.what();
    EXPECT_NE(std::string(raised.what()).find(part), std::string::npos) << raised.what();
  }
}

TEST(DType, NamesAndSizesGoBothWays) {
  const std::tuple<DType, std::string_view, size_t> rows[] = {
      {DType::kFloat32, "float32", 4}, {DType::kInt32, "int32", 4},  {DType::kInt64, "int64", 8},
      {DType::kUInt8, "uint8", 1},     {DType::kBool, "bool", 1},    {DType::kBFloat16, "bfloat16", 2},
      {DType::kFloat16, "float16", 2}, {DType::kString, "string", 0}};
  for (const auto& [dtype, name, bytes] : rows) {
    EXPECT_EQ(to_string(dtype), name);
    EXPECT_EQ(size_of(dtype), bytes) << name;
    EXPECT_EQ(dtype_from_string(name), dtype);
  }
  EXPECT_EQ(dtype_from_string("float64"), std::nullopt);
  EXPECT_EQ(dtype_from_string(""), std::nullopt);
}

TEST(DTypeDeathTest, ANumberThatIsNoTypeIsRefused) {
  EXPECT_DEATH(static_cast<void>(size_of(DType(0))), "broken invariant");
  EXPECT_DEATH(static_cast<void>(size_of(DType(9))), "broken invariant");
}

TEST(Shape, CountsElements) {
  EXPECT_EQ(Shape{}.elements(), 1);
  EXPECT_EQ((Shape{2, 3, 4}).elements(), 24);
  EXPECT_EQ((Shape{5, 0, 4}).elements(), 0);
  EXPECT_EQ(Shape{}.rank(), 0);
}

TEST(Shape, ComparesPrintsAndChanges) {
  EXPECT_EQ(to_string(Shape{32, 28, 28, 1}), "[32, 28, 28, 1]");
  EXPECT_EQ(to_string(Shape{}), "[]");
  EXPECT_EQ((Shape{2, 3}), (Shape{2, 3}));
  EXPECT_NE((Shape{2, 3}), (Shape{2, 3, 1}));
  EXPECT_NE((Shape{2, 3}), (Shape{3, 2}));
  EXPECT_EQ((Shape{2, 3}).with(1, 7), (Shape{2, 7}));
}

TEST(Shape, CheckedRefusesWhatDoesNotFit) {
  using Dims = std::vector<int64_t>;
  constexpr int64_t kBig = int64_t(1) << 32;
  EXPECT_EQ(Shape::checked(Dims{3, 4}).value(), (Shape{3, 4}));
  EXPECT_EQ(Shape::checked(Dims(8, 1)).value().rank(), 8);
  EXPECT_EQ(Shape::checked(Dims(9, 1)).error().kind(), ErrorKind::kInvalidArgument);
  EXPECT_EQ(Shape::checked(Dims{3, -1}).error().message(), "dimension 1 of a shape is -1, but sizes are at least 0");
  EXPECT_EQ(Shape::checked(Dims{kBig, kBig}).error().kind(), ErrorKind::kInvalidArgument);
  EXPECT_EQ(Shape::checked(Dims{0, kBig, kBig}).error().kind(), ErrorKind::kInvalidArgument);
  EXPECT_EQ(Shape::checked(Dims{std::numeric_limits<int64_t>::max()}).value().elements(),
            std::numeric_limits<int64_t>::max());
}

TEST(Shape, TooManyDimensionsOrNegativeOnesInTheProgramItselfAreRaised) {
  expect_raises(ErrorKind::kInvalidArgument, "has 9", [] { Shape({1, 1, 1, 1, 1, 1, 1, 1, 1}); });
  expect_raises(ErrorKind::kInvalidArgument, "dimension 1 of a shape is -1", [] { Shape({2, -1}); });
}

TEST(Tensor, HoldsValues) {
  const Tensor tensor = Tensor::of<float>({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(tensor.dtype(), DType::kFloat32);
  EXPECT_EQ(tensor.bytes(), 16u);
  EXPECT_EQ(std::vector<float>(tensor.as<float>().begin(), tensor.as<float>().end()), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.view().data) % kBufferAlignment, 0u);
  EXPECT_EQ(Tensor::scalar<int64_t>(7).as<int64_t>()[0], 7);
  EXPECT_EQ(Tensor().elements(), 0);
  const Tensor zeros = Tensor::zeros(DType::kUInt8, {100});
  for (uint8_t value : zeros.as<uint8_t>()) EXPECT_EQ(value, 0);
}

TEST(Tensor, CopiesShareAndMayNotBeWritten) {
  Tensor a = Tensor::of<int32_t>({3}, {1, 2, 3});
  EXPECT_TRUE(a.unique());
  {
    const Tensor b = a;
    EXPECT_FALSE(a.unique());
    EXPECT_EQ(a.view().data, b.view().data);
    expect_raises(ErrorKind::kFailedPrecondition, "clone()", [&] { static_cast<void>(a.mutable_view()); });
  }
  EXPECT_TRUE(a.unique());
  Tensor c = a.clone();
  c.mutable_as<int32_t>()[0] = 9;
  EXPECT_EQ(a.as<int32_t>()[0], 1);
  EXPECT_EQ(c.as<int32_t>()[0], 9);
}

TEST(Tensor, ReshapedSharesTheElements) {
  const Tensor a = Tensor::of<int32_t>({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor b = a.reshaped({3, 2});
  EXPECT_EQ(b.shape(), (Shape{3, 2}));
  EXPECT_EQ(b.view().data, a.view().data);
  expect_raises(ErrorKind::kInvalidArgument, "[4, 2] has 8 elements, but there are 6 values", [&] {
    static_cast<void>(a.reshaped({4, 2}));
  });
}

TEST(Tensor, LiesInABufferFromAnOffset) {
  Ref<Buffer> buffer = Buffer::allocate(64);
  for (size_t i = 0; i < 16; ++i) reinterpret_cast<int32_t*>(buffer->data())[i] = int32_t(i);
  const Tensor tensor(DType::kInt32, {4}, buffer, 32);
  EXPECT_EQ(tensor.as<int32_t>()[0], 8);
  EXPECT_EQ(tensor.as<int32_t>()[3], 11);
  EXPECT_DEATH(Tensor(DType::kInt32, {4}, buffer, 52), "broken invariant");
}

TEST(Tensor, TheWrongElementTypeIsRefused) {
  const Tensor tensor = Tensor::of<float>({1}, {1});
  expect_raises(ErrorKind::kTypeMismatch, "float32, not int32", [&] { static_cast<void>(tensor.as<int32_t>()); });
  expect_raises(ErrorKind::kTypeMismatch, "float32, not string", [&] { static_cast<void>(tensor.strings()); });
  Tensor own = tensor.clone();
  expect_raises(ErrorKind::kTypeMismatch, "float32, not int64", [&] { static_cast<void>(own.mutable_as<int64_t>()); });
  expect_raises(ErrorKind::kTypeMismatch, "not string", [&] { static_cast<void>(own.mutable_strings()); });
  Tensor names = Tensor::of_strings({1}, {"a"});
  expect_raises(ErrorKind::kTypeMismatch, "strings()", [&] { static_cast<void>(names.as<float>()); });
  expect_raises(ErrorKind::kTypeMismatch, "mutable_strings()", [&] { static_cast<void>(names.mutable_view()); });
}

// Kernels, hooks and metrics of users are given views.
TEST(TensorView, TheWrongElementTypeIsRefused) {
  Tensor tensor = Tensor::of<float>({2, 1}, {1, 2});
  const TensorView view = tensor.view();
  const std::string sentence =
      "a tensor of the shape [2, 1] has elements of type float32, not int64; read it as float32, or";
  expect_raises(ErrorKind::kTypeMismatch, sentence, [&] { static_cast<void>(view.as<int64_t>()); });
  const MutableTensorView writable = tensor.mutable_view();
  expect_raises(ErrorKind::kTypeMismatch, "float32, not bool", [&] { static_cast<void>(writable.as<bool>()); });
}

TEST(Tensor, OfMoreBytesThanCanBeCountedIsRefused) {
  constexpr int64_t kMany = int64_t(1) << 40;
  expect_raises(ErrorKind::kInvalidArgument, "[1099511627776, 1099511627776] and the type float32 has more bytes than", [] {
    static_cast<void>(Tensor(DType::kFloat32, {kMany, kMany}));
  });
  expect_raises(ErrorKind::kInvalidArgument, "more bytes than",
                [] { static_cast<void>(Tensor(DType::kInt64, {int64_t(1) << 61})); });
}

TEST(Shape, WithAnAxisThatItLacksIsRefused) {
  EXPECT_EQ((Shape{2, 3}.with(1, 5)), (Shape{2, 5}));
  expect_raises(ErrorKind::kInvalidArgument, "cannot change the size of axis 2: the shape [2, 3] has 2 axes", [] {
    static_cast<void>(Shape{2, 3}.with(2, 5));
  });
  expect_raises(ErrorKind::kInvalidArgument, "axis -1", [] { static_cast<void>(Shape{2, 3}.with(-1, 5)); });
  expect_raises(ErrorKind::kInvalidArgument, "dimension 1 of a shape is -5", [] {
    static_cast<void>(Shape{2, 3}.with(1, -5));
  });
}

TEST(Tensor, TheWrongNumberOfValuesIsRefused) {
  expect_raises(ErrorKind::kInvalidArgument, "[2, 2] has 4 elements, but there are 3 values", [] {
    static_cast<void>(Tensor::of<float>({2, 2}, {1, 2, 3}));
  });
  expect_raises(ErrorKind::kInvalidArgument, "[2] has 2 elements, but there are 1 values",
                [] { static_cast<void>(Tensor::of_strings({2}, {"a"})); });
}

TEST(Tensor, StringsLiveApart) {
  Tensor names = Tensor::of_strings({2}, {"a", "bc"});
  EXPECT_EQ(names.dtype(), DType::kString);
  EXPECT_EQ(names.strings()[1], "bc");
  Tensor copy = names.clone();
  copy.mutable_strings()[0] = "z";
  EXPECT_EQ(names.strings()[0], "a");
  EXPECT_EQ(Tensor(DType::kString, {3}).strings().size(), 3u);
  expect_raises(ErrorKind::kTypeMismatch, "strings()", [&] { static_cast<void>(names.view()); });
}

}  // namespace
}  // namespace shoal
