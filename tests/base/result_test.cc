// SPDX-License-Identifier: Apache-2.0
// Result keeps its value or error in storage of its own: what is made is destroyed once, whatever takes its place.
#include "shoal/base/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "shoal/base/boxed.h"
#include "shoal/base/hidden.h"

namespace shoal {
namespace {

/// Counts how many of its kind live.
struct Counted {
  explicit Counted(int& count) : living(&count) { ++*living; }
  Counted(const Counted& other) : living(other.living) { ++*living; }
  ~Counted() { --*living; }
  int* living;
};

TEST(Result, DestroysWhatItMade) {
  int living = 0;
  {
    Result<Counted> value = Counted(living);
    EXPECT_EQ(living, 1);
    const Result<Counted> copy = value;
    EXPECT_EQ(living, 2);
    const Result<Counted> moved = std::move(value);
    EXPECT_EQ(living, 3);  // What was moved from still has a value, as before.
  }
  EXPECT_EQ(living, 0);
}

TEST(Result, ChangesSidesByAssignment) {
  int living = 0;
  Result<Counted> result = not_found("nothing yet");
  result = Counted(living);
  EXPECT_TRUE(result.has_value());
  EXPECT_EQ(living, 1);
  result = unavailable("gone");
  EXPECT_EQ(result.error().message(), "gone");
  EXPECT_EQ(living, 0);
  Result<Counted> other = Counted(living);
  result = other;
  EXPECT_EQ(living, 2);
  result = std::move(other);
  EXPECT_EQ(living, 2);
}

TEST(Result, SurvivesItsOwnAssignment) {
  Result<std::vector<std::string>> result = std::vector<std::string>{"a", "b"};
  const auto& same = result;
  result = same;
  EXPECT_EQ(result->size(), 2u);
  result = invalid_argument("no");
  result = same;
  EXPECT_EQ(result.error().message(), "no");
}

TEST(Result, CopiesAndMovesAsItsValueDoes) {
  static_assert(std::is_copy_constructible_v<Result<std::string>>);
  static_assert(std::is_nothrow_move_constructible_v<Result<std::string>>);
  static_assert(std::is_nothrow_move_assignable_v<Result<std::string>>);
  static_assert(!std::is_copy_constructible_v<Result<std::unique_ptr<int>>>);
  static_assert(!std::is_default_constructible_v<Result<std::string>>);
  Result<std::unique_ptr<int>> number = std::make_unique<int>(7);
  Result<std::unique_ptr<int>> taken = std::move(number);
  EXPECT_EQ(**taken, 7);
}

TEST(Hidden, OwnsOneObject) {
  int living = 0;
  {
    Hidden<Counted> one(new Counted(living));
    Hidden<Counted> none;
    EXPECT_FALSE(none);
    none = std::move(one);
    EXPECT_TRUE(none);
    EXPECT_EQ(none->living, &living);
    EXPECT_EQ(living, 1);
    const Hidden<Counted> last = std::move(none);
    EXPECT_EQ((*last).living, &living);
  }
  EXPECT_EQ(living, 0);
}

TEST(Boxed, ReadsAsWhatItWasMadeFrom) {
  const Boxed<std::string> unset;
  EXPECT_EQ(*unset, "");
  const Boxed<std::string> text = "made from a literal";
  const Boxed<std::string> copy = text;
  EXPECT_EQ(copy->size(), 19u);
  EXPECT_EQ(&*copy, &*text);
  const std::string& read = copy;
  EXPECT_EQ(read, "made from a literal");
  static_assert(!std::is_convertible_v<std::vector<int>, Boxed<std::string>>);
}

}  // namespace
}  // namespace shoal
