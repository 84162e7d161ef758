// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/error.h"

#include <optional>
#include <typeinfo>

#include "shoal/base/error_border.h"
#include "shoal/base/forever.h"

namespace shoal {

std::string_view to_string(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalidArgument: return "InvalidArgument";
    case ErrorKind::kTypeMismatch: return "TypeMismatch";
    case ErrorKind::kFailedPrecondition: return "FailedPrecondition";
    case ErrorKind::kNotFound: return "NotFound";
    case ErrorKind::kDataLoss: return "DataLoss";
    case ErrorKind::kUnavailable: return "Unavailable";
    case ErrorKind::kDeadlineExceeded: return "DeadlineExceeded";
    case ErrorKind::kEndOfInput: return "EndOfInput";
    case ErrorKind::kCancelled: return "Cancelled";
    case ErrorKind::kNanLoss: return "NanLoss";
    case ErrorKind::kInternal: return "Internal";
  }
  return "Unknown";  // A newer peer sent a kind that this version does not have.
}

int exit_status(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalidArgument:
    case ErrorKind::kTypeMismatch:
    case ErrorKind::kFailedPrecondition:
    case ErrorKind::kNotFound: return 2;
    case ErrorKind::kNanLoss: return 3;
    case ErrorKind::kDataLoss: return 4;
    case ErrorKind::kDeadlineExceeded: return 5;
    case ErrorKind::kCancelled: return kGaveWayStatus;
    default: return 1;
  }
}

bool is_permanent_status(int64_t status) { return status >= 2 && status <= 4; }

bool is_permanent(ErrorKind kind) { return is_permanent_status(exit_status(kind)); }

struct Error::Details {
  std::string message;
  std::exception_ptr cause;
  Place place;
  int system_error = 0;
};

Error::Error(ErrorKind kind, std::string message) : details_(new Details{std::move(message), nullptr, {}}), kind_(kind) {}

Error::Error(const Error& other) : details_(other.details_ ? new Details(*other.details_) : nullptr), kind_(other.kind_) {}

void Error::release() { delete details_; }

Error::Details& Error::details() {
  if (!details_) details_ = new Details{message(), nullptr, {}};
  return *details_;
}

const std::string& Error::message() const {
  static const std::string &end = forever(std::string("end of input")), &cancel = forever(std::string("cancelled")),
                           &none = forever(std::string());
  if (details_) return details_->message;
  return kind_ == ErrorKind::kEndOfInput ? end : kind_ == ErrorKind::kCancelled ? cancel : none;
}

const std::exception_ptr& Error::cause() const {
  static const std::exception_ptr& none = forever(std::exception_ptr());
  return details_ ? details_->cause : none;
}

const Error::Place& Error::place() const {
  static constexpr Place kNone;
  return details_ ? details_->place : kNone;
}

Error Error::with_context(std::string_view context) && {
  std::string& message = details().message;
  message.insert(0, ": ");
  message.insert(0, context);
  return std::move(*this);
}

Error Error::with_context(std::string_view context) const& { return Error(*this).with_context(context); }

Error Error::with_cause(std::exception_ptr cause) && {
  details().cause = std::move(cause);
  return std::move(*this);
}

Error Error::with_place(Place place) && {
  details().place = place;
  return std::move(*this);
}

int Error::system_error() const { return details_ ? details_->system_error : 0; }

Error Error::with_system_error(int number) && {
  details().system_error = number;
  return std::move(*this);
}

Error invalid_argument(std::string message) { return {ErrorKind::kInvalidArgument, std::move(message)}; }
Error type_mismatch(std::string message) { return {ErrorKind::kTypeMismatch, std::move(message)}; }
Error failed_precondition(std::string message) { return {ErrorKind::kFailedPrecondition, std::move(message)}; }
Error not_found(std::string message) { return {ErrorKind::kNotFound, std::move(message)}; }
Error data_loss(std::string message) { return {ErrorKind::kDataLoss, std::move(message)}; }
Error unavailable(std::string message) { return {ErrorKind::kUnavailable, std::move(message)}; }
Error deadline_exceeded(std::string message) { return {ErrorKind::kDeadlineExceeded, std::move(message)}; }
Error end_of_input() { return Error(ErrorKind::kEndOfInput); }
Error cancelled() { return Error(ErrorKind::kCancelled); }
Error nan_loss(std::string message) { return {ErrorKind::kNanLoss, std::move(message)}; }
Error internal_error(std::string message) { return {ErrorKind::kInternal, std::move(message)}; }

#if defined(__cpp_exceptions)
namespace {

/// raise() rethrows a user's own exception unchanged, so that the exception lacks the context that Shoal added to the
/// error. raise() therefore stores the error in `last_raised`, where code that catches the exception on this thread finds
/// it (raised_as()).
thread_local bool last_raised_is_gone = false;  // True after last_raised is destroyed: a user's destructor may still raise.
struct LastRaised {
  std::optional<Error> error;
  ~LastRaised() { last_raised_is_gone = true; }
};
thread_local LastRaised last_raised;

/// Throws the exception of the user's code that caused `error`. A plain shoal::Exception (a tensor was read as another
/// type, say) is replaced by one with the sentence of `error`, which has the context of all layers. Other classes are
/// rethrown as they are.
[[noreturn]] void raise_cause(const Error& error) {
  try {
    std::rethrow_exception(error.cause());
  } catch (const Exception& exception) {
    if (typeid(exception) == typeid(Exception) && exception.error() != error)
      throw Exception(Error(error.kind(), error.message()));
  } catch (...) {
  }
  if (!last_raised_is_gone) last_raised.error = error;
  std::rethrow_exception(error.cause());
}

}  // namespace
#endif

const Error* raised_as(const std::exception_ptr& exception) {
#if defined(__cpp_exceptions)
  if (exception && !last_raised_is_gone && last_raised.error && last_raised.error->cause() == exception)
    return &*last_raised.error;
#endif
  return nullptr;
}

void raise(Error error) {
#if defined(__cpp_exceptions)
  if (error.cause()) raise_cause(error);
  throw Exception(std::move(error));
#else
  ErrorBorder::end_process(error);
#endif
}

bool operator==(const Error& a, const Error& b) { return a.kind() == b.kind() && a.message() == b.message(); }

}  // namespace shoal
