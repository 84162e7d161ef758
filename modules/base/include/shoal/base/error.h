// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Failures as values. docs/errors.md lists their kinds.
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

namespace shoal {

template <class T>
class Result;

/// The kinds of failure that users, tools and peers tell apart. The numbers are sent over the network and never change.
enum class ErrorKind : uint8_t {
  kInvalidArgument = 1,
  kTypeMismatch = 2,
  kFailedPrecondition = 3,
  kNotFound = 4,
  kDataLoss = 5,
  kUnavailable = 6,
  kDeadlineExceeded = 7,
  kEndOfInput = 8,  ///< The input has ended. Inside a training loop that is no failure.
  /// RunConfigOptions::stop ended a wait, or the task ended early so that it can be started again later (RunConfig's
  /// on_sigterm).
  kCancelled = 9,
  kNanLoss = 10,
  kInternal = 11,
};

/// "InvalidArgument", "DataLoss", ...
std::string_view to_string(ErrorKind kind);

/// The exit status of a task that ended early on request, to be started again. A shell reports the same for SIGTERM.
inline constexpr int kGaveWayStatus = 143;

/// The process exit status for a run that ended with `kind`: 2 wrong usage or configuration (InvalidArgument,
/// TypeMismatch, FailedPrecondition, NotFound), 3 NanLoss, 4 DataLoss, 5 DeadlineExceeded, 143 Cancelled (a task that is
/// to be started again), 1 anything else.
int exit_status(ErrorKind kind);
/// True if exit_status(kind) is 2, 3 or 4: the task would fail the same way again, so launchers do not restart it.
bool is_permanent(ErrorKind kind);
/// True for the exit statuses 2, 3 and 4, of which is_permanent() speaks.
bool is_permanent_status(int64_t status);

/// One failure: its kind, and a sentence that says what was wrong, where, and what to do.
///
/// An Error is a pointer and a kind, so that it costs little to move, and a result that holds none costs nothing to make.
/// After a move only the kind is left.
class [[nodiscard]] Error {
 public:
  Error(ErrorKind kind, std::string message);
  Error(const Error& other);
  Error(Error&& other) noexcept : details_(std::exchange(other.details_, nullptr)), kind_(other.kind_) {}
  Error& operator=(Error other) noexcept {
    std::swap(details_, other.details_);
    kind_ = other.kind_;
    return *this;
  }
  ~Error() {
    if (details_) release();
  }

  ErrorKind kind() const { return kind_; }
  const std::string& message() const;
  /// The same error with "`context`: " before its sentence. Each layer may add its own context on the way up.
  Error with_context(std::string_view context) &&;
  Error with_context(std::string_view context) const&;

  /// The exception from the user's code that caused this error, or null. raise() throws this exception unchanged, unless it
  /// is a plain shoal::Exception: then raise() throws a new one with this error's sentence, which has the context of all
  /// layers.
  const std::exception_ptr& cause() const;
  Error with_cause(std::exception_ptr cause) &&;

  /// The tensor element that this error is about. `tensor` is the address of the tensor's elements; null: no element. Code
  /// that knows where rows were read compares this address with those of its tensors. If it finds the tensor, it adds the
  /// row's origin to the error (a file and a line, say). Do not read from the address: the memory may be gone.
  struct Place {
    const void* tensor = nullptr;
    int64_t element = 0;
  };
  const Place& place() const;
  Error with_place(Place place) &&;

  /// The errno of the system call that failed; 0 if the error has another cause. It distinguishes errors of the same kind:
  /// a full disk and an unreachable file server are both kUnavailable.
  int system_error() const;
  /// Returns this error with `number` as system_error(). with_context() keeps it.
  Error with_system_error(int number) &&;

  friend bool operator==(const Error& a, const Error& b);  ///< Compares kind and message only.

 private:
  friend class Result<void>;
  friend Error end_of_input();
  friend Error cancelled();
  struct Details;

  Error() = default;                               // No error: for a Result<void> that succeeded.
  explicit Error(ErrorKind kind) : kind_(kind) {}  // One whose sentence follows from its kind.
  void release();
  Details& details();  // Those of this error, which are made if it has none.

  Details* details_ = nullptr;     // Null: nothing but the kind.
  ErrorKind kind_ = ErrorKind(0);  // 0: no error.
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

/// The exception that the public calls throw (model building, RunConfig, Estimator, train_and_evaluate). It carries an
/// Error.
class Exception : public std::exception {
 public:
  explicit Exception(Error error) : error_(std::move(error)) {}
  const Error& error() const { return error_; }
  ErrorKind kind() const { return error_.kind(); }
  const char* what() const noexcept override { return error_.message().c_str(); }

 private:
  Error error_;
};

/// The only function that throws. It throws error.cause() if that is the user's own exception, else Exception(error). Built
/// without exceptions, it ends the process with the error's exit status (error_border.h).
[[noreturn]] void raise(Error error);
/// If `exception` is the last exception of a user's own type that raise() threw on this thread, returns the error that
/// raise() got: its sentence has context that the exception lacks. Else returns null. The pointer is valid until this
/// thread's next raise().
const Error* raised_as(const std::exception_ptr& exception);

}  // namespace shoal
