// SPDX-License-Identifier: Apache-2.0
#include "shoal/search/space.h"

#include <algorithm>
#include <span>

#include "shoal/base/double_math.h"
#include "shoal/base/format.h"
#include "shoal/base/names_text.h"
#include "shoal/base/number_text.h"
#include "shoal/json/events.h"

namespace shoal::tuning {
namespace {

constexpr size_t kParametersMax = 1'000;

/// Returns value number `point` of `points` values that are spread evenly over the scale.
double point_of_range(double low, double high, bool logarithmic, int64_t point, int64_t points) {
  if (point == 0 || points == 1) return low;
  if (point == points - 1) return high;
  const double part = double(point) / double(points - 1);
  const double value =
      logarithmic ? double_exp(double_log(low) + (double_log(high) - double_log(low)) * part) : low + (high - low) * part;
  return std::clamp(number_from<double>(formatted("%.6g", value)).value_or(value), low, high);
}

int64_t whole_point(const Parameter& parameter, int64_t point) {
  const double value =
      point_of_range(double(parameter.least), double(parameter.largest), parameter.logarithmic, point, parameter.points);
  if (value >= double(parameter.largest)) return parameter.largest;
  return std::clamp(int64_t(value + (value < 0 ? -0.5 : 0.5)), parameter.least, parameter.largest);
}

/// Returns the values that a grid takes for `parameter` or, if `all`, every value that a grid or a random draw may give.
/// Nothing if there are more than `count_max`.
std::optional<std::vector<Value>> values_of(const Parameter& parameter, size_t count_max, bool all) {
  std::vector<Value> values;
  if (parameter.kind == Parameter::Kind::kChoice) {
    values.assign(parameter.choices.begin(), parameter.choices.end());
  } else if (parameter.points > 0 && !all) {
    for (int64_t i = 0; i < parameter.points; ++i) {
      if (parameter.kind == Parameter::Kind::kInteger) {
        values.emplace_back(whole_point(parameter, i));
      } else {
        values.emplace_back(point_of_range(parameter.low, parameter.high, parameter.logarithmic, i, parameter.points));
      }
      if (i > 0 && values.back() == values[values.size() - 2]) values.pop_back();
    }
  } else if (parameter.kind == Parameter::Kind::kInteger) {
    if (uint64_t(parameter.largest) - uint64_t(parameter.least) >= count_max) return std::nullopt;
    for (int64_t value = parameter.least;; ++value) {
      values.emplace_back(value);
      if (value == parameter.largest) break;
    }
  } else {
    return std::nullopt;
  }
  return values;
}

/// Walks through combinations of values of the parameters. If `all` is false, stores the combinations of a grid search. If
/// `all` is true, only counts the combinations that a grid or a random draw may give.
class Combinations {
 public:
  Combinations(const std::vector<Parameter>& parameters, size_t count_max, bool all)
      : parameters_(parameters), count_max_(count_max), all_(all), values_(parameters.size()) {}

  /// Returns false if there are more than `count_max` combinations.
  bool walk() { return walk_from(0); }
  size_t count() const { return count_; }
  std::vector<Assignment>& found() { return found_; }

 private:
  bool walk_from(size_t index) {
    if (index == parameters_.size()) {
      if (count_ == count_max_) return false;
      ++count_;
      if (!all_) found_.push_back(current_);
      return true;
    }
    const Parameter& parameter = parameters_[index];
    if (!Space::is_active(parameter, current_)) return walk_from(index + 1);
    std::optional<std::vector<Value>>& values = values_[index];
    if (!values) values = values_of(parameter, count_max_, all_);
    if (!values) return false;
    for (const Value& value : *values) {
      current_.emplace_back(parameter.name, value);
      const bool fits = walk_from(index + 1);
      current_.pop_back();
      if (!fits) return false;
    }
    return true;
  }

  const std::vector<Parameter>& parameters_;
  const size_t count_max_;
  const bool all_;
  std::vector<std::optional<std::vector<Value>>> values_;  // Values of each parameter, computed when first needed.
  size_t count_ = 0;
  Assignment current_;
  std::vector<Assignment> found_;
};

/// True if a trial may have the value `text` for `parameter`.
bool can_be(const Parameter& parameter, const std::string& text) {
  if (parameter.kind == Parameter::Kind::kChoice)
    return std::ranges::find(parameter.choices, text) != parameter.choices.end();
  if (parameter.kind == Parameter::Kind::kReal) return false;
  const std::optional<int64_t> number = number_from<int64_t>(text);
  return number && *number >= parameter.least && *number <= parameter.largest;
}

Result<void> check_condition(const Parameter& parameter, std::span<const Parameter> before) {
  if (!parameter.condition) return {};
  const Condition& condition = *parameter.condition;
  const auto other = std::ranges::find(before, condition.name, &Parameter::name);
  if (other == before.end()) {
    return invalid_argument(parameter.name + ": the condition names the parameter " + condition.name +
                            ", which is not given before this one; give it, and before " + parameter.name);
  }
  for (const std::string& value : condition.values) {
    if (can_be(*other, value)) continue;
    return invalid_argument(parameter.name + ": the condition asks for " + condition.name + "=" + value + ", which " +
                            condition.name + " never is; its values are " + text_of(*other));
  }
  return {};
}

/// Collects the members of a JSON object whose values are texts or numbers.
class SpaceMembers : public json::Events {
 public:
  std::vector<std::string> texts;

  Result<void> null() override { return no_text(); }
  Result<void> boolean(bool) override { return no_text(); }
  Result<void> number(std::string_view text) override { return add(text); }
  Result<void> string(std::string& text) override { return add(text); }
  Result<void> begin_list() override { return no_text(); }
  Result<void> end_list() override { return {}; }
  Result<void> begin_object() override { return depth_++ == 0 ? Result<void>() : no_text(); }
  Result<void> key(std::string_view text) override { return key_ = text, Result<void>(); }
  Result<void> end_object() override { return {}; }

 private:
  Result<void> add(std::string_view text) {
    if (depth_ == 0) return no_text();
    if (texts.size() == kParametersMax) return invalid_argument("there are more than 1,000 parameters");
    texts.push_back(key_ + "=" + std::string(text));
    return {};
  }
  Result<void> no_text() {
    return data_loss(depth_ == 0 ? "no JSON object of names and values, as {\"learning-rate\": \"1e-4..1e-1:log\"}"
                                 : key_ + ": its values are no text; write them as for --param, as \"1e-4..1e-1:log\"");
  }
  int depth_ = 0;
  std::string key_;
};

}  // namespace

std::string text_of(double number) { return shortest_text(number); }

std::string text_of(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* whole = std::get_if<int64_t>(&value)) return std::to_string(*whole);
  return text_of(std::get<double>(value));
}

std::string text_of(const Assignment& assignment) {
  return comma_separated(assignment, [](const auto& entry) { return entry.first + " " + text_of(entry.second); });
}

Result<Space> Space::create(std::vector<Parameter> parameters) {
  if (parameters.empty()) {
    return invalid_argument(
        "there is no parameter to search; give one by --param, as in --param learning-rate=1e-4..1e-1:log");
  }
  if (parameters.size() > kParametersMax) return invalid_argument("there are more than 1,000 parameters");
  for (size_t i = 0; i < parameters.size(); ++i) {
    const auto before = std::span(parameters).first(i);
    if (std::ranges::find(before, parameters[i].name, &Parameter::name) != before.end()) {
      return invalid_argument("the parameter " + parameters[i].name + " is given twice; leave one out");
    }
    SHOAL_TRY_VOID(check_condition(parameters[i], before));
  }
  Space space;
  space.parameters_ = std::move(parameters);
  return space;
}

Result<Space> Space::from_json(std::string_view text, std::string_view where) {
  SpaceMembers members;
  if (auto read = json::read_events(text, 2, members); !read) return std::move(read).error().with_context(where);
  std::vector<Parameter> parameters;
  for (const std::string& member : members.texts) {
    auto parameter = parse_parameter(member);
    if (!parameter) return std::move(parameter).error().with_context(where);
    parameters.push_back(*std::move(parameter));
  }
  auto space = create(std::move(parameters));
  if (!space) return std::move(space).error().with_context(where);
  return space;
}

bool Space::is_active(const Parameter& parameter, const Assignment& before) {
  if (!parameter.condition) return true;
  for (const auto& [name, value] : before) {
    if (name != parameter.condition->name) continue;
    return std::ranges::find(parameter.condition->values, text_of(value)) != parameter.condition->values.end();
  }
  return false;
}

Result<std::vector<Assignment>> Space::grid(size_t count_max) const {
  for (const Parameter& parameter : parameters_) {
    if (parameter.kind != Parameter::Kind::kReal || parameter.points > 0) continue;
    return invalid_argument(parameter.name +
                            ": a grid needs to know how many values of a range of real numbers it takes; write " +
                            text_of(Parameter{.name = parameter.name,
                                              .kind = parameter.kind,
                                              .low = parameter.low,
                                              .high = parameter.high,
                                              .logarithmic = parameter.logarithmic,
                                              .points = 4}) +
                            " for 4");
  }
  Combinations combinations(parameters_, count_max, false);
  if (!combinations.walk()) {
    return invalid_argument("the grid has more than " + std::to_string(count_max) +
                            " combinations; give fewer values, or fewer points of a range, as in units=16..256:int:log:4");
  }
  return std::move(combinations.found());
}

std::optional<size_t> Space::count(size_t count_max) const {
  Combinations combinations(parameters_, count_max, true);
  return combinations.walk() ? std::optional(combinations.count()) : std::nullopt;
}

}  // namespace shoal::tuning
