// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A search space: the parameters of a search, and the values that each parameter may have.
///
///   learning-rate=1e-4..1e-1:log          a real number, drawn evenly on a logarithmic scale
///   dropout=0..0.5                        a real number, drawn evenly
///   units=16..256:int:log                 a whole number
///   activation=relu|tanh|gelu             one of these texts
///   hidden-units=64,32|128,64             texts may have commas
///   momentum=0.8..0.99 if optimizer=sgd   only in trials whose optimizer is sgd
///   learning-rate=1e-4..1e-1:log:4        a grid takes 4 points of the range, both ends included
///   optimizer=adam                        a single value: a constant
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "shoal/base/result.h"

namespace shoal::tuning {

using Value = std::variant<int64_t, double, std::string>;

/// Returns the value as text for a command line. A number has the fewest digits that read back to the same number.
std::string text_of(const Value& value);
std::string text_of(double number);

/// The parameters of one trial with their values, in the order of the space. A parameter whose condition does not hold is
/// absent.
using Assignment = std::vector<std::pair<std::string, Value>>;

/// Returns a text such as "learning-rate 0.01, optimizer adam".
std::string text_of(const Assignment& assignment);

/// A parameter with this condition has a value only in trials in which the parameter `name` has one of `values`.
struct Condition {
  std::string name;
  std::vector<std::string> values;
};

struct Parameter {
  enum class Kind : uint8_t { kReal, kInteger, kChoice };
  std::string name;
  Kind kind = Kind::kChoice;
  double low = 0, high = 0;        ///< The range of kReal, ends included.
  int64_t least = 0, largest = 0;  ///< The range of kInteger, ends included.
  bool logarithmic = false;        ///< True: values are drawn evenly on a logarithmic scale; the range is above 0.
  int64_t points = 0;              ///< How many values a grid takes. 0: each integer (kInteger); for kReal, no grid.
  std::vector<std::string> choices{};
  std::optional<Condition> condition{};
};

/// Reads "NAME=SPEC" or "NAME=SPEC if OTHER=VALUE|VALUE". InvalidArgument names the parameter and the place, and says what
/// to write.
Result<Parameter> parse_parameter(std::string_view text);

/// Returns a text from which parse_parameter() reads the same parameter.
std::string text_of(const Parameter& parameter);

class Space {
 public:
  /// Refuses with InvalidArgument a space without parameters or with more than 1,000, a name that occurs twice, and a
  /// condition that names no earlier parameter, or a value that the named parameter never has.
  static Result<Space> create(std::vector<Parameter> parameters);
  /// Reads a JSON object whose members are names and specs: {"learning-rate": "1e-4..1e-1:log", "optimizer": "sgd|adam"}.
  /// Error sentences begin with `where`. DataLoss if `text` is no such object; also the errors of parse_parameter() and
  /// create().
  static Result<Space> from_json(std::string_view text, std::string_view where);

  const std::vector<Parameter>& parameters() const { return parameters_; }
  /// True if `parameter` has a value in a trial whose earlier parameters have the values `before`.
  static bool is_active(const Parameter& parameter, const Assignment& before);
  /// Returns all combinations of the values that a grid takes, in order: the last parameter varies fastest. InvalidArgument
  /// for a range of real numbers without a count of points, and for more than `count_max` combinations.
  Result<std::vector<Assignment>> grid(size_t count_max) const;
  /// Returns the number of different trials; nothing if there are more than `count_max`, or infinitely many.
  std::optional<size_t> count(size_t count_max) const;

 private:
  std::vector<Parameter> parameters_;
};

}  // namespace shoal::tuning
