#include <optional>

#include "shoal/base/environment.h"
#include "shoal/base/exhaustion.h"

namespace shoal {

Error current_exception_to_error(std::string_view where) {
#if defined(__cpp_exceptions)
  const std::exception_ptr cause = std::current_exception();
  if (std::optional<Error> error = exhaustion_of_current_exception(where)) return std::move(*error).with_cause(cause);
  const std::string place(where);
  try {
    throw;
  } catch (const Exception& exception) {
    return Error(exception.error()).with_cause(cause);  // Its sentence says where already.
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
