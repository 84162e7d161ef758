// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Reads JSON piece by piece, without storing all of it in a value: for outside texts of which a program needs a small
/// part, or whose numbers it needs as they are written.
#include <string>
#include <string_view>

#include "shoal/base/result.h"

namespace shoal::json {

/// Receives the pieces of a text in their order. An error that a function returns ends the reading.
class Events {
 public:
  virtual ~Events() = default;
  virtual Result<void> null() = 0;
  virtual Result<void> boolean(bool value) = 0;
  /// A number as it is written, save that a whole number that int64 or uint64 holds comes in its plain digits ("0" for
  /// "-0").
  virtual Result<void> number(std::string_view text) = 0;
  /// A string, in UTF-8, which may be moved away.
  virtual Result<void> string(std::string& text) = 0;
  virtual Result<void> begin_list() = 0;
  virtual Result<void> end_list() = 0;
  virtual Result<void> begin_object() = 0;
  /// The key of a member; its value comes next.
  virtual Result<void> key(std::string_view text) = 0;
  virtual Result<void> end_object() = 0;
};

/// Reads `text`, which must be one JSON value (RFC 8259, without a byte order mark), and gives its pieces to `events`.
/// DataLoss, with the place in bytes from the start, if `text` is something else, if it has a number beyond the range of
/// double, if lists and objects nest more than `depth_max` deep, and, at the end of an object, if that has a key twice.
/// Otherwise the error of `events`. The stack that it takes does not grow with the text.
Result<void> read_events(std::string_view text, int depth_max, Events& events);

}  // namespace shoal::json
