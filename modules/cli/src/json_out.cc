#include "json_out.h"

#include <charconv>
#include <cmath>

namespace shoal::cli {

Json number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

Json number(float value) {
  if (!std::isfinite(value)) return number(double(value));
  char digits[32];
  const auto written = std::to_chars(std::begin(digits), std::end(digits), value);
  double nearest = 0;
  std::from_chars(std::begin(digits), written.ptr, nearest);
  return nearest;
}

Json unix_seconds(WallTime time) {
  // Nanoseconds do not fit into a double, microseconds do.
  return double(time.time_since_epoch() / std::chrono::microseconds(1)) / 1e6;
}

void print_line(std::ostream& out, const Json& json) {
  out << json.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
}

void print(const Context& context, const Json& json) {
  if (!context.terminals.output) return print_line(context.out, json);
  context.out << json.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

}  // namespace shoal::cli
