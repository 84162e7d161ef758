// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Calls functions of users from stages, and adds to their errors which function failed for which element.
#include <string>
#include <string_view>
#include <utility>

#include "stage.h"

namespace shoal::data {

/// Adds to an `error` of a user's function which one it is (`what`: "the function of map"), if that is not told yet, and
/// `where` the element was. An exception's kind becomes InvalidArgument if it is a std::logic_error, as those of std::stof() and
/// at() are: the same element would give it again. A shoal::Exception tells all this itself from now on; any other exception of
/// the user's stays what it is.
Error in_user_function(Error error, std::string_view what, const std::string& where);

/// Which element of a stage's input one is, counted from 0; after a `resumed` start it is counted from there.
struct ElementNumber {
  int64_t number = 0;
  bool resumed = false;
};

/// Where an element was read, by the record and the row of tensors that its Item has: "jan.csv, line 12", or "row 3 of the
/// tensors"; else its number in the input of `stage` ("map").
std::string place_of_element(const StageContext& context, RecordId record, int64_t row_of_tensors, std::string_view stage,
                             ElementNumber number);

/// fn(), which returns a Result; `where` makes the text of the place only if there is an error.
template <class Fn, class Where>
auto call_user_function(std::string_view what, Fn&& fn, Where&& where) -> std::invoke_result_t<Fn> {
  auto called = call_user(what, std::forward<Fn>(fn));
  if (!called) return in_user_function(std::move(called).error(), what, where());
  if (!*called) return in_user_function(std::move(*called).error(), what, where());
  return *std::move(called);
}

}  // namespace shoal::data
