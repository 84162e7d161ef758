// SPDX-License-Identifier: Apache-2.0
#include "user_call.h"

#include <stdexcept>
#include <typeinfo>

namespace shoal::data {
namespace {

std::string joined(const std::string& where, std::string_view sentence) {
  return where.empty() ? std::string(sentence) : where + ": " + std::string(sentence);
}

}  // namespace

Error in_user_function(Error error, std::string_view what, const std::string& where) {
  const std::exception_ptr cause = error.cause();
  const bool tells_what = error.message().starts_with(what);
  const std::string sentence = joined(where, tells_what ? error.message() : std::string(what) + ": " + error.message());
  Error placed(error.kind(), sentence);
#if defined(__cpp_exceptions)
  if (!cause) return placed;
  try {
    std::rethrow_exception(cause);
  } catch (const Exception& exception) {
    if (typeid(exception) != typeid(Exception)) return std::move(placed).with_cause(cause);
    return Error(placed).with_cause(std::make_exception_ptr(Exception(placed)));
  } catch (const std::logic_error&) {
    // Only kInternal, the kind for exceptions that are not known better, is replaced. Any other kind stays.
    const bool unknown = error.kind() == ErrorKind::kInternal;
    return Error(unknown ? ErrorKind::kInvalidArgument : error.kind(), sentence).with_cause(cause);
  } catch (...) {
    return std::move(placed).with_cause(cause);
  }
#else
  return placed;
#endif
}

std::string place_of_element(const StageContext& context, RecordId record, int64_t row_of_tensors, std::string_view stage,
                             ElementNumber number) {
  if (std::string read_at = context.place_of(record); !read_at.empty()) return read_at;
  if (row_of_tensors >= 0) return "row " + std::to_string(row_of_tensors) + " of the tensors";
  return "element " + std::to_string(number.number) + " of the input of " + std::string(stage) + " (counted from 0" +
         (number.resumed ? ", where the input was resumed)" : ")");
}

}  // namespace shoal::data
