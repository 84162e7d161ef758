// SPDX-License-Identifier: Apache-2.0
// Params: names to values of a model.
#include "shoal/estimator/params.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/error.h"

namespace shoal {
namespace {

TEST(Params, TakeIntegersOfEveryKind) {
  const std::vector<int> layers(3);
  const Params params{{"size_t", layers.size()},    {"uint8", uint8_t(200)}, {"int16", int16_t(-2)},
                      {"uint32", 4000000000u},      {"long long", -1LL},     {"least", INT64_MIN},
                      {"most", uint64_t(INT64_MAX)}};
  EXPECT_EQ(params.get_int("size_t"), 3);
  EXPECT_EQ(params.get_int("uint8"), 200);
  EXPECT_EQ(params.get_int("int16"), -2);
  EXPECT_EQ(params.get_int("uint32"), 4000000000);
  EXPECT_EQ(params.get_int("long long"), -1);
  EXPECT_EQ(params.get_int("least"), INT64_MIN);
  EXPECT_EQ(params.get_int("most"), INT64_MAX);
}

TEST(Params, KeepNumbersFlagsAndTextsApart) {
  std::string text = "Adam";
  Params params{{"float", 0.5f}, {"double", 1e-3}, {"flag", true}, {"literal", "SGD"}, {"view", std::string_view("Ftrl")}};
  params.set("text", text);
  params.set("units", size_t(7));
  EXPECT_EQ(params.get_real("float"), 0.5);
  EXPECT_EQ(params.get_real("double"), 1e-3);
  EXPECT_TRUE(params.get_bool("flag"));
  EXPECT_EQ(params.get_string("literal"), "SGD");
  EXPECT_EQ(params.get_string("view"), "Ftrl");
  EXPECT_EQ(params.get_string("text"), "Adam");
  EXPECT_EQ(params.get_int("units"), 7);
  EXPECT_THROW(params.get_int("flag"), Exception);
  EXPECT_THROW(params.get_bool("units"), Exception);
}

TEST(Params, HoldLists) {
  Params params{{"units", {64, 32}},
                {"sizes", std::vector<size_t>{7, 9}},
                {"rates", {0.5, 1e-3}},
                {"floats", {0.5f}},
                {"names", {"oak", "pine"}},
                {"none", std::vector<int>()},
                {"words", std::vector<std::string>{"a"}},
                {"one", {"oak"}},
                {"three", {"a", "b", "c"}},
                {"strings", {std::string("a"), std::string("b")}},
                {"views", {std::string_view("a"), std::string_view("b")}}};
  EXPECT_EQ(params.get_ints("units"), (std::vector<int64_t>{64, 32}));
  EXPECT_EQ(params.get_ints("sizes"), (std::vector<int64_t>{7, 9}));
  EXPECT_EQ(params.get_reals("rates"), (std::vector<double>{0.5, 1e-3}));
  EXPECT_EQ(params.get_reals("floats"), std::vector<double>{0.5});
  EXPECT_EQ(params.get_reals("units"), (std::vector<double>{64, 32})) << "integers are reals too";
  EXPECT_EQ(params.get_strings("names"), (std::vector<std::string>{"oak", "pine"}));
  EXPECT_EQ(params.get_strings("words"), std::vector<std::string>{"a"});
  EXPECT_EQ(params.get_strings("one"), std::vector<std::string>{"oak"});
  EXPECT_EQ(params.get_strings("three"), (std::vector<std::string>{"a", "b", "c"}));
  for (const char* name : {"strings", "views"}) {
    EXPECT_EQ(params.get_strings(name), (std::vector<std::string>{"a", "b"})) << name;
  }
  EXPECT_TRUE(params.get_ints("none").empty());
  params.set("units", std::vector<int64_t>{8});
  EXPECT_EQ(params.get_ints("units"), std::vector<int64_t>{8});
  EXPECT_EQ(params.get_ints("missing", {1, 2}), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(params.get_strings("missing", {}), std::vector<std::string>());
  try {
    params.get_ints("rates");
    ADD_FAILURE() << "taken";
  } catch (const Exception& exception) {
    EXPECT_EQ(exception.kind(), ErrorKind::kTypeMismatch);
    EXPECT_STREQ(exception.what(), "param rates is no list of integers");
  }
  EXPECT_THROW(params.get_int("units"), Exception) << "a list of one is no number";
  EXPECT_THROW((Params{{"units", {uint64_t(INT64_MAX) + 1}}}), Exception);
}

TEST(Params, RefuseIntegersThatDoNotFit) {
  try {
    const Params params{{"units", uint64_t(INT64_MAX) + 1}};
    ADD_FAILURE() << "taken as " << params.get_int("units");
  } catch (const Exception& exception) {
    EXPECT_EQ(exception.kind(), ErrorKind::kInvalidArgument);
    EXPECT_STREQ(exception.what(), "param units is 9223372036854775808, and integers go to 9223372036854775807");
  }
}

}  // namespace
}  // namespace shoal
