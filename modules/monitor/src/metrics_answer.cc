// SPDX-License-Identifier: Apache-2.0
#include "metrics_answer.h"

#include <algorithm>

#include "shoal/monitor/metrics_endpoint.h"

namespace shoal::monitor {
namespace {

constexpr std::string_view kScheme = "bearer ";

std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = char(c - 'A' + 'a');
  }
  return lower;
}

bool begins_with_scheme(std::string_view value) { return in_lower_case(value.substr(0, kScheme.size())) == kScheme; }

bool may_ask(const RequestHead& head, std::string_view bearer) {
  if (bearer.empty()) return true;
  if (head.authorization.size() != 1 || !begins_with_scheme(head.authorization.front())) return false;
  return is_same_secret(head.authorization.front().substr(kScheme.size()), bearer);
}

HttpAnswer health_answer(const AnswerSource& source, SteadyTime now) {
  HealthReport report = source.health.report(now);
  return {.status = report.healthy ? 200 : 503, .body = std::move(report.text)};
}

}  // namespace

bool is_host_without_domain(std::string_view host) {
  const std::string lower = in_lower_case(host);
  const bool may_have_port = lower.find(':') != std::string::npos;
  return parse_metrics_address(lower + ":0").has_value() || (may_have_port && parse_metrics_address(lower).has_value());
}

bool is_same_secret(std::string_view given, std::string_view secret) {
  volatile unsigned char difference = given.size() == secret.size() ? 0 : 1;
  for (size_t i = 0; i < given.size(); ++i) {
    const char expected = secret.empty() ? '\0' : secret[i % secret.size()];
    difference = static_cast<unsigned char>(difference | (given[i] ^ expected));
  }
  return difference == 0;
}

HttpAnswer refusal(int status) {
  switch (status) {
    case 401: return {.status = 401, .body = "401 Unauthorized\n", .authenticate = "Bearer"};
    case 404: return {.status = 404, .body = "404 Not Found: there are /metrics and /healthz\n"};
    case 405: return {.status = 405, .body = "405 Method Not Allowed\n", .allow = "GET, HEAD"};
    case 413: return {.status = 413, .body = "413 Content Too Large: requests have no body here\n", .closes = true};
    case 421:
      return {.status = 421, .body = "421 Misdirected Request: ask by an IP address, or by localhost\n", .closes = true};
    case 431: return {.status = 431, .body = "431 Request Header Fields Too Large\n", .closes = true};
    default: return {.status = 400, .body = "400 Bad Request\n", .closes = true};
  }
}

HttpAnswer answer_to(const RequestHead& head, const AnswerSource& source, SteadyTime now) {
  if (!may_ask(head, source.bearer)) {
    HttpAnswer answer = refusal(401);
    // Nobody reads the body. If the connection stayed open, the body would be taken as the next request.
    answer.closes = head.has_body;
    return answer;
  }
  if (source.addresses_only && !std::ranges::all_of(head.hosts, is_host_without_domain)) return refusal(421);
  if (head.has_body) return refusal(413);
  if (head.method != "GET" && head.method != "HEAD") return refusal(405);
  const std::string_view path = head.target.substr(0, head.target.find('?'));
  if (path == "/metrics") return {.type = kMetricsPageType, .body = source.page.at(now)};
  if (path == "/healthz") return health_answer(source, now);
  return refusal(404);
}

}  // namespace shoal::monitor
