// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Calls functions of users from stages. Their errors get the function's name and the element for which it failed.
#include <string>
#include <string_view>
#include <utility>

#include "stage.h"

namespace shoal::data {

/// Adds the name of a user's function (`what`: "the function of map") to its error `error`, unless the error begins with
/// that name, and adds the place `where` the element was read. A std::logic_error, as std::stof() and
/// at() throw, becomes InvalidArgument: the same element would throw it again. A shoal::Exception gets the new message
/// itself; any other exception of the user stays as it is.
Error in_user_function(Error error, std::string_view what, const std::string& where);

/// The number of an element in a stage's input. Counted from 0, or if `resumed`, from the position at which a resume began.
struct ElementNumber {
  int64_t number = 0;
  bool resumed = false;
};

/// Returns where an element was read, by its Item's record and row of tensors: "jan.csv, line 12", or "row 3 of the
/// tensors"; else the element's number in the input of `stage` ("map").
std::string place_of_element(const StageContext& context, RecordId record, int64_t row_of_tensors, std::string_view stage,
                             ElementNumber number);

/// Calls fn(), which returns a Result; `where` makes the text of the place only if there is an error.
template <class Fn, class Where>
auto call_user_function(std::string_view what, Fn&& fn, Where&& where) -> std::invoke_result_t<Fn> {
  auto called = call_user(what, std::forward<Fn>(fn));
  if (!called) return in_user_function(std::move(called).error(), what, where());
  if (!*called) return in_user_function(std::move(*called).error(), what, where());
  return *std::move(called);
}

}  // namespace shoal::data
