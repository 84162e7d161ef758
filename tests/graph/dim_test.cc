// SPDX-License-Identifier: Apache-2.0
#include "shoal/graph/dim.h"

#include <gtest/gtest.h>

namespace shoal {
namespace {

TEST(Dim, SymbolEqualsOnlyItself) {
  EXPECT_EQ(Dim::symbol("batch"), Dim::symbol("batch"));
  EXPECT_NE(Dim::symbol("batch"), Dim::symbol("time"));
  EXPECT_NE(Dim::symbol("batch"), Dim(0));
  EXPECT_EQ(Dim(3), Dim(int64_t{3}));
}

// Model functions and shape rules of users ask.
TEST(DimShape, WhatItDoesNotHaveIsRefused) {
  const DimShape shape{Dim::symbol("batch"), 3};
  const auto refusal = [](const auto& call) -> std::string {
    try {
      call();
    } catch (const Exception& exception) {
      EXPECT_EQ(exception.kind(), ErrorKind::kInvalidArgument);
      return exception.what();
    }
    return "accepted";
  };
  EXPECT_EQ(shape[1].size(), 3);
  EXPECT_EQ(refusal([&] { static_cast<void>(shape[0].size()); }).substr(0, 55),
            "the size \"batch\" of a shape varies, so it has no number");
  const std::string sentence = "; it has 2 axes, counted from 0";
  EXPECT_EQ(refusal([&] { static_cast<void>(shape[2]); }), "the shape [batch, 3] has no axis 2" + sentence);
  EXPECT_EQ(refusal([&] { static_cast<void>(shape[-1]); }), "the shape [batch, 3] has no axis -1" + sentence);
  EXPECT_EQ(refusal([] { static_cast<void>(Dim::symbol("")); }).substr(0, 13), "a symbol has ");
}

TEST(DimShape, PrintsSymbolsAndNumbers) {
  EXPECT_EQ(to_string(DimShape{Dim::symbol("batch"), 28, 1}), "[batch, 28, 1]");
  EXPECT_EQ(to_string(DimShape{}), "[]");
}

TEST(DimShape, ResolvesEverySymbol) {
  const DimShape shape{Dim::symbol("batch"), 3, Dim::symbol("time")};
  EXPECT_FALSE(shape.is_fixed());
  EXPECT_EQ(shape.resolve({{"batch", 32}, {"time", 5}, {"unused", 1}}).value(), (Shape{32, 3, 5}));
  EXPECT_EQ(DimShape(Shape{2, 3}).resolve({}).value(), (Shape{2, 3}));
}

TEST(DimShape, NamesTheSymbolWithoutSize) {
  const auto result = DimShape{Dim::symbol("batch"), 3}.resolve({{"time", 5}});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error(), invalid_argument("shape [batch, 3]: no size is given for the symbol \"batch\""));
  EXPECT_FALSE((DimShape{Dim::symbol("batch")}.resolve({{"batch", -1}})));
}

}  // namespace
}  // namespace shoal
