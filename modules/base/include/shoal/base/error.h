// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What went wrong, as a value. docs/errors.md has the kinds.
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

namespace shoal {

/// The kinds of failure that users, tools and peers tell apart. The numbers travel on the wire and never change.
enum class ErrorKind : uint8_t {
  kInvalidArgument = 1,
  kTypeMismatch = 2,
  kFailedPrecondition = 3,
  kNotFound = 4,
  kDataLoss = 5,
  kUnavailable = 6,
  kDeadlineExceeded = 7,
  kEndOfInput = 8,  ///< The input has ended, which is not a failure inside a training loop.
  kCancelled = 9,   ///< A stop ended a wait: that of RunConfigOptions::stop, or of a task that gives way (on_sigterm).
  kNanLoss = 10,
  kInternal = 11,
};

/// "InvalidArgument", "DataLoss", ...
std::string_view to_string(ErrorKind kind);

/// The exit status of a task that gave way, and is to be started again: what a shell says of a SIGTERM.
inline constexpr int kGaveWayStatus = 143;

/// The process exit status for a run that ended with `kind`: 2 wrong usage or configuration (InvalidArgument,
/// TypeMismatch, FailedPrecondition, NotFound), 3 NanLoss, 4 DataLoss, 5 DeadlineExceeded, 143 Cancelled (a task that gave
/// way), 1 anything else.
int exit_status(ErrorKind kind);
/// True for the statuses 2, 3 and 4: no launcher starts such a task again, since it would meet the same.
bool is_permanent(ErrorKind kind);

/// One failure: a kind, and a sentence that says what was wrong, where, and what to do.
class [[nodiscard]] Error {
 public:
  Error(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)) {}

  ErrorKind kind() const { return kind_; }
  const std::string& message() const { return message_; }
  /// The same error with "`context`: " before its sentence; each layer may add where it was.
  Error with_context(std::string_view context) &&;
  Error with_context(std::string_view context) const&;

  /// The exception of the user's own code that this error stands for, or null. raise() throws that one, unchanged; an Exception
  /// that Shoal raised there it throws with the sentence of this error, to which layers have added where it was.
  const std::exception_ptr& cause() const { return cause_; }
  Error with_cause(std::exception_ptr cause) &&;

  /// The element of a tensor that this error is about, by the address of the tensor's elements; null: of no one. Whoever made
  /// the tensor can tell where its rows come from. The address is compared alone: the memory may be gone.
  struct Place {
    const void* tensor = nullptr;
    int64_t element = 0;
  };
  const Place& place() const { return place_; }
  Error with_place(Place place) &&;

  friend bool operator==(const Error& a, const Error& b);  ///< Of one kind, and of one message.

 private:
  ErrorKind kind_;
  std::string message_;
  std::exception_ptr cause_;
  Place place_;
};

// Short makers, one per kind: `return invalid_argument("...")` in a function that returns Result<T>.
Error invalid_argument(std::string message);
Error type_mismatch(std::string message);
Error failed_precondition(std::string message);
Error not_found(std::string message);
Error data_loss(std::string message);
Error unavailable(std::string message);
Error deadline_exceeded(std::string message);
Error end_of_input();
Error cancelled();
Error nan_loss(std::string message);
Error internal_error(std::string message);

/// What the public calls throw (model building, RunConfig, Estimator, train_and_evaluate). Carries the same Error.
class Exception : public std::exception {
 public:
  explicit Exception(Error error) : error_(std::move(error)) {}
  const Error& error() const { return error_; }
  ErrorKind kind() const { return error_.kind(); }
  const char* what() const noexcept override { return error_.message().c_str(); }

 private:
  Error error_;
};

/// The one place that throws: error.cause(), or, where that is none or an Exception of Shoal's own, Exception(error). With
/// -fno-exceptions it prints the error and aborts.
[[noreturn]] void raise(Error error);
/// The error with this cause that raise() got on this thread, if it is the last one with a cause there: it tells more than the
/// exception of the user's, which came out unchanged. Else null. The pointer is good until the next raise() of this thread.
const Error* raised_as(const std::exception_ptr& exception);

}  // namespace shoal
