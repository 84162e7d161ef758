#include "json_out.h"

#include <cmath>

namespace shoal::cli {

Json number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

Json unix_seconds(WallTime time) {
  // Nanoseconds do not fit into a double, microseconds do.
  return double(time.time_since_epoch() / std::chrono::microseconds(1)) / 1e6;
}

void print_line(std::ostream& out, const Json& json) {
  out << json.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
}

}  // namespace shoal::cli
