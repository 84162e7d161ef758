// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "shoal/base/environment.h"
#include "shoal/base/exhaustion.h"

namespace shoal {
namespace {

[[maybe_unused]] constexpr std::string_view kOutermost =
    "the program";  // Names the place in errors of user code if no call_user() within the program names a more exact one.

}  // namespace

Error current_exception_to_error(std::string_view where) {
#if defined(__cpp_exceptions)
  const std::exception_ptr cause = std::current_exception();
  if (const Error* known = raised_as(cause)) return *known;
  if (std::optional<Error> error = exhaustion_of_current_exception(where)) return std::move(*error).with_cause(cause);
  const std::string place(where);
  try {
    throw;
  } catch (const Exception& exception) {
    Error error = exception.error();  // Errors of this class name the place, except TypeMismatch, which gets `where`.
    if (error.kind() == ErrorKind::kTypeMismatch && where != kOutermost) error = std::move(error).with_context(where);
    return std::move(error).with_cause(cause);
  } catch (const std::exception& exception) {
    return internal_error(place + " threw an exception: " + exception.what()).with_cause(cause);
  } catch (...) {
    return internal_error(place + " threw an exception that is no std::exception").with_cause(cause);
  }
#else
  return internal_error(std::string(where) + " failed");
#endif
}

}  // namespace shoal
