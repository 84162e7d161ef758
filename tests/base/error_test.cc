// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/error.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "shoal/base/environment.h"
#include "shoal/base/result.h"

namespace shoal {
namespace {

TEST(Error, KindsHaveNamesAndExitStatuses) {
  const std::tuple<ErrorKind, std::string_view, int> rows[] = {{ErrorKind::kInvalidArgument, "InvalidArgument", 2},
                                                               {ErrorKind::kTypeMismatch, "TypeMismatch", 2},
                                                               {ErrorKind::kFailedPrecondition, "FailedPrecondition", 2},
                                                               {ErrorKind::kNotFound, "NotFound", 2},
                                                               {ErrorKind::kDataLoss, "DataLoss", 4},
                                                               {ErrorKind::kUnavailable, "Unavailable", 1},
                                                               {ErrorKind::kDeadlineExceeded, "DeadlineExceeded", 5},
                                                               {ErrorKind::kEndOfInput, "EndOfInput", 1},
                                                               {ErrorKind::kCancelled, "Cancelled", 143},
                                                               {ErrorKind::kNanLoss, "NanLoss", 3},
                                                               {ErrorKind::kInternal, "Internal", 1}};
  for (const auto& [kind, name, status] : rows) {
    EXPECT_EQ(to_string(kind), name);
    EXPECT_EQ(exit_status(kind), status) << name;
  }
  EXPECT_EQ(to_string(ErrorKind(200)), "Unknown");
}

TEST(Error, MakersSetTheirKind) {
  EXPECT_EQ(invalid_argument("x").kind(), ErrorKind::kInvalidArgument);
  EXPECT_EQ(type_mismatch("x").kind(), ErrorKind::kTypeMismatch);
  EXPECT_EQ(failed_precondition("x").kind(), ErrorKind::kFailedPrecondition);
  EXPECT_EQ(not_found("x").kind(), ErrorKind::kNotFound);
  EXPECT_EQ(data_loss("x").kind(), ErrorKind::kDataLoss);
  EXPECT_EQ(unavailable("x").kind(), ErrorKind::kUnavailable);
  EXPECT_EQ(deadline_exceeded("x").kind(), ErrorKind::kDeadlineExceeded);
  EXPECT_EQ(end_of_input().kind(), ErrorKind::kEndOfInput);
  EXPECT_EQ(cancelled().kind(), ErrorKind::kCancelled);
  EXPECT_EQ(nan_loss("x").kind(), ErrorKind::kNanLoss);
  EXPECT_EQ(internal_error("x").kind(), ErrorKind::kInternal);
}

TEST(Error, SomeKindsHaveASentenceOfTheirOwn) {
  EXPECT_EQ(end_of_input().message(), "end of input");
  EXPECT_EQ(cancelled().message(), "cancelled");
  EXPECT_EQ(cancelled().with_context("save").message(), "save: cancelled");
  EXPECT_EQ(end_of_input(), Error(ErrorKind::kEndOfInput, "end of input"));
  EXPECT_EQ(end_of_input().cause(), nullptr);
  EXPECT_EQ(end_of_input().place().tensor, nullptr);
}

TEST(Error, KeepsItsKindWhenItIsMoved) {
  Error error = data_loss("gone");
  Error moved = std::move(error);
  EXPECT_EQ(moved.message(), "gone");
  EXPECT_EQ(error.kind(), ErrorKind::kDataLoss);  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(error.message(), "");
  Result<void> result = std::move(moved);
  const Error out = std::move(result).error();
  EXPECT_FALSE(result) << "what was moved from still has an error";
  EXPECT_EQ(out.message(), "gone");
  Error copy = out;
  copy = copy;  // NOLINT(clang-diagnostic-self-assign-overloaded)
  EXPECT_EQ(copy, out);
  copy = not_found("other");
  EXPECT_EQ(copy, not_found("other"));
  EXPECT_EQ(out.message(), "gone");
}

TEST(Error, KeepsCauseAndPlaceInCopies) {
  const auto cause = std::make_exception_ptr(std::out_of_range("row"));
  const int row = 0;
  const Error error = internal_error("x").with_cause(cause).with_place({.tensor = &row, .element = 3});
  const Error copy = error.with_context("layer");
  EXPECT_EQ(copy.cause(), cause);
  EXPECT_EQ(copy.place().tensor, &row);
  EXPECT_EQ(copy.place().element, 3);
  EXPECT_EQ(copy.message(), "layer: x");
}

TEST(Error, ContextComesBeforeTheSentence) {
  const Error error = data_loss("checksum 5d0e, expected 91aa");
  EXPECT_EQ(error.with_context("segment dense/kernel").with_context("shard 1").message(),
            "shard 1: segment dense/kernel: checksum 5d0e, expected 91aa");
  EXPECT_EQ(error.with_context("a").kind(), ErrorKind::kDataLoss);
  EXPECT_EQ(error.message(), "checksum 5d0e, expected 91aa");
}

TEST(Error, RaiseThrowsTheSameError) {
  try {
    raise(not_found("no folder m"));
  } catch (const Exception& exception) {
    EXPECT_EQ(exception.error(), not_found("no folder m"));
    EXPECT_STREQ(exception.what(), "no folder m");
    return;
  }
  FAIL() << "raise() returned";
}

TEST(Error, RaiseThrowsTheUsersOwnExceptionUnchanged) {
  const Result<int> result = call_user("model_fn", []() -> int { throw std::out_of_range("row 7"); });
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind(), ErrorKind::kInternal);
  EXPECT_EQ(result.error().message(), "model_fn threw an exception: row 7");
  EXPECT_THROW(raise(result.error()), std::out_of_range);
}

/// The type and the class of an exception of ours stay, and its sentence says where it was.
TEST(Error, RaiseThrowsAnExceptionOfOursWithWhatLayersHaveAdded) {
  const Result<void> result = call_user("kernel", [] { raise(invalid_argument("x is 0")); });
  ASSERT_FALSE(result);
  try {
    raise(Error(result.error()).with_context("node \"a\""));
  } catch (const Exception& exception) {
    EXPECT_EQ(exception.error(), invalid_argument("node \"a\": x is 0"));
  }
  struct Own : Exception {
    using Exception::Exception;
  };
  const Result<void> own = call_user("hook", [] { throw Own(invalid_argument("mine")); });
  ASSERT_FALSE(own);
  EXPECT_THROW(raise(Error(own.error()).with_context("somewhere")), Own);
}

TEST(CallUser, SaysWhereATensorWasReadAsAnotherType) {
  const Result<void> result = call_user("hook after_step", [] { raise(type_mismatch("float32, not int64")); });
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error(), type_mismatch("hook after_step: float32, not int64"));
  const Result<void> outer = call_user("the program", [&] { raise(result.error()); });
  ASSERT_FALSE(outer);
  EXPECT_EQ(outer.error(), result.error());
}

/// The exception is the user's own, and whoever catches it further out has the whole sentence and the kind all the same.
TEST(CallUser, KnowsAnExceptionThatRaiseThrew) {
  const Error thrown = call_user("the function of map", []() -> int { throw std::out_of_range("row 7"); }).error();
  const Error told = Error(ErrorKind::kInvalidArgument, "jan.csv, line 12: " + thrown.message()).with_cause(thrown.cause());
  const auto call = [&told] { raise(told); };
  EXPECT_EQ(call_user("the program", call).error(), told);
  const auto rethrown = [&call] {
    try {
      call();
    } catch (const std::exception&) {
      throw;
    }
  };
  EXPECT_EQ(call_user("the program", rethrown).error(), told);
  const auto another = [] { throw std::out_of_range("row 7"); };
  EXPECT_EQ(call_user("the program", another).error().message(), "the program threw an exception: row 7");
}

TEST(CallUser, PassesValuesAndVoidThrough) {
  EXPECT_EQ(call_user("f", [] { return 7; }).value(), 7);
  bool called = false;
  EXPECT_TRUE(call_user("f", [&] { called = true; }).has_value());
  EXPECT_TRUE(called);
}

TEST(CallUser, KeepsKindAndSentenceOfOurOwnException) {
  const Result<void> result = call_user("model_fn", [] { raise(invalid_argument("dense: units is 0")); });
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error(), invalid_argument("dense: units is 0"));
}

TEST(CallUser, NamesTheDoorForWhatIsNoStdException) {
  const Result<void> result = call_user("input_fn", [] { throw 7; });
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message(), "input_fn threw an exception that is no std::exception");
  EXPECT_THROW(raise(result.error()), int);
}

Result<int> half(int number) {
  if (number % 2 != 0) return invalid_argument("odd: " + std::to_string(number));
  return number / 2;
}
Result<void> check_even(int number) {
  SHOAL_TRY_VOID(half(number));
  return {};
}
Result<int> quarter(int number) {
  SHOAL_TRY(const int halved, half(number));
  SHOAL_TRY_VOID(check_even(halved));
  return half(halved);
}

TEST(Result, TryPassesValuesAndErrorsOn) {
  EXPECT_EQ(quarter(12).value(), 3);
  EXPECT_EQ(quarter(7).error(), invalid_argument("odd: 7"));
  EXPECT_EQ(quarter(6).error(), invalid_argument("odd: 3"));
  EXPECT_EQ(quarter(6).value_or(-1), -1);
}

TEST(Result, HoldsMoveOnlyAndConvertibleValues) {
  struct Base {
    virtual ~Base() = default;
  };
  struct Derived : Base {};
  Result<std::unique_ptr<Base>> result = std::make_unique<Derived>();
  ASSERT_TRUE(result);
  const std::unique_ptr<Base> moved = std::move(result).value();
  EXPECT_NE(dynamic_cast<Derived*>(moved.get()), nullptr);
  const Result<std::string> text = "literal";
  EXPECT_EQ(text->size(), 7u);
}

TEST(Result, ValueOrRaise) {
  EXPECT_EQ(value_or_raise(half(8)), 4);
  EXPECT_THROW(value_or_raise(half(9)), Exception);
  EXPECT_THROW(value_or_raise(Result<void>(cancelled())), Exception);
}

TEST(ResultDeathTest, TheWrongSideIsABrokenInvariant) {
  const Result<int> bad = internal_error("x");
  EXPECT_DEATH(static_cast<void>(bad.value()), "broken invariant at .*result.h");
  const Result<int> good = 1;
  EXPECT_DEATH(static_cast<void>(good.error()), "broken invariant");
}

}  // namespace
}  // namespace shoal
