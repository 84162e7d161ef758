// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Reads JSON piece by piece, without storing all of it in a value: for outside texts of which a program needs a small
/// part, or whose numbers it needs as they are written.
#include <string>
#include <string_view>

#include "shoal/base/result.h"

namespace shoal::json {

/// Its functions receive the parts of a JSON text (strings, numbers, keys, ...) in the order of the text. If one of them
/// returns an error, reading ends.
class Events {
 public:
  virtual ~Events() = default;
  virtual Result<void> null() = 0;
  virtual Result<void> boolean(bool value) = 0;
  /// Receives a number as the text has it. A whole number that int64 or uint64 can hold arrives in plain digits ("0" for
  /// "-0").
  virtual Result<void> number(std::string_view text) = 0;
  /// Receives a string in UTF-8. The function may move the string out of `text`.
  virtual Result<void> string(std::string& text) = 0;
  virtual Result<void> begin_list() = 0;
  virtual Result<void> end_list() = 0;
  virtual Result<void> begin_object() = 0;
  /// Receives the key of a member. The value of this member comes next.
  virtual Result<void> key(std::string_view text) = 0;
  virtual Result<void> end_object() = 0;
};

/// Reads `text`, which must be one JSON value (RFC 8259, without a byte order mark), and calls a function of `events` for
/// each string, number, key and so on. DataLoss, with the position in bytes from the start, if `text` is something else, if
/// it has a number beyond the range of double, if lists and objects nest more than `depth_max` deep, or if an object has a
/// key twice (noticed at the object's end). If a function of `events` returns an error, reading ends with that error. The
/// use of the stack does not grow with the length of the text.
Result<void> read_events(std::string_view text, int depth_max, Events& events);

}  // namespace shoal::json
