// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A search space: the parameters of a search, and the values that each may have.
///
///   learning-rate=1e-4..1e-1:log          a real number, drawn evenly on a logarithmic scale
///   dropout=0..0.5                        a real number, drawn evenly
///   units=16..256:int:log                 a whole number
///   activation=relu|tanh|gelu             one of these texts
///   hidden-units=64,32|128,64             texts may have commas
///   momentum=0.8..0.99 if optimizer=sgd   only in trials whose optimizer is sgd
///   learning-rate=1e-4..1e-1:log:4        a grid takes 4 points of it, the ends among them
///   optimizer=adam                        one value alone: a constant
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

/// The value as a command line has it. A number has the fewest digits that read back the same.
std::string text_of(const Value& value);
std::string text_of(double number);

/// The parameters of one trial with their values, in the order of the space. A parameter whose condition does not hold is not there.
using Assignment = std::vector<std::pair<std::string, Value>>;

/// "learning-rate 0.01, optimizer adam".
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
  int64_t points = 0;              ///< How many values of the range a grid takes. 0: all of kInteger, and none of kReal.
  std::vector<std::string> choices{};
  std::optional<Condition> condition{};
};

/// Reads "NAME=SPEC" or "NAME=SPEC if OTHER=VALUE|VALUE". InvalidArgument with the parameter, the place, and what to write.
Result<Parameter> parse_parameter(std::string_view text);

/// The text that parse_parameter() reads back to the same.
std::string text_of(const Parameter& parameter);

class Space {
 public:
  /// InvalidArgument for a space without parameters or with more than 1,000, for a name that is there twice, and for a condition that
  /// names no parameter before its own, or a value that this parameter never has.
  static Result<Space> create(std::vector<Parameter> parameters);
  /// Reads a JSON object whose members are names and specs: {"learning-rate": "1e-4..1e-1:log", "optimizer": "sgd|adam"}. `where`
  /// stands before each sentence. DataLoss for what is no such object; the errors of parse_parameter() and create().
  static Result<Space> from_json(std::string_view text, std::string_view where);

  const std::vector<Parameter>& parameters() const { return parameters_; }
  /// Whether `parameter` has a value in a trial whose parameters before it are `before`.
  static bool is_active(const Parameter& parameter, const Assignment& before);
  /// All combinations of the values that a grid takes, in order: the last parameter varies fastest. InvalidArgument for a range of real
  /// numbers without a count of points, and for more than `count_max` combinations.
  Result<std::vector<Assignment>> grid(size_t count_max) const;
  /// How many trials differ from each other. Nothing: more than `count_max`, or infinitely many.
  std::optional<size_t> count(size_t count_max) const;

 private:
  std::vector<Parameter> parameters_;
};

}  // namespace shoal::tuning
