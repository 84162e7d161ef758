// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Calls functions of users from stages. Their errors get the function's name and the element for which it failed.
#include <string>
#include <string_view>
#include <utility>

#include "stage.h"

namespace shoal::data {

/// Returns `error`, an error of a user's function, with two additions to its message: `what`, the name of the function
/// ("the function of map"), unless the message begins with it; and `where`, which says where the element was read.
/// If the function threw a std::logic_error (std::stof() and at() throw such errors), the new error is InvalidArgument: the
/// same element would cause it again. If it threw a shoal::Exception, that exception gets the new message, too. The user's
/// other exceptions stay as they were thrown.
Error in_user_function(Error error, std::string_view what, const std::string& where);

/// The number of an element in a stage's input. Counted from 0, or if `resumed`, from the position at which a resume began.
struct ElementNumber {
  int64_t number = 0;
  bool resumed = false;
};

/// Returns text that tells the user which element it was. If `record` is known, that is the place in a file: "jan.csv, line
/// 12". Else it is "row 3 of the tensors" if `row_of_tensors` is not -1, and otherwise the number of the element in the
/// input of `stage` ("map").
std::string place_of_element(const StageContext& context, RecordId record, int64_t row_of_tensors, std::string_view stage,
                             ElementNumber number);

/// Calls fn(), which returns a Result. Only if there is an error, calls `where`, which makes the text that says where the
/// element was read.
template <class Fn, class Where>
auto call_user_function(std::string_view what, Fn&& fn, Where&& where) -> std::invoke_result_t<Fn> {
  auto called = call_user(what, std::forward<Fn>(fn));
  if (!called) return in_user_function(std::move(called).error(), what, where());
  if (!*called) return in_user_function(std::move(*called).error(), what, where());
  return *std::move(called);
}

}  // namespace shoal::data
