// SPDX-License-Identifier: Apache-2.0
#include "http_exchange.h"

namespace shoal::monitor {
namespace {

namespace http = boost::beast::http;

std::string_view view_of(const boost::beast::string_view& text) { return {text.data(), text.size()}; }

std::vector<std::string_view> values_of(const HttpParser& parser, http::field name) {
  std::vector<std::string_view> values;
  const auto [begin, end] = parser.get().equal_range(name);
  for (auto field = begin; field != end; ++field) values.push_back(view_of(field->value()));
  return values;
}

boost::beast::string_view beast_view(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

RequestHead head_of(const HttpParser& parser) {
  const auto& request = parser.get();
  RequestHead head{.method = view_of(request.method_string()), .target = view_of(request.target())};
  head.authorization = values_of(parser, http::field::authorization);
  head.hosts = values_of(parser, http::field::host);
  const auto length = parser.content_length();
  head.has_body = parser.chunked() || (length && *length > 0);
  return head;
}

HttpResponse response_of(HttpAnswer answer, const HttpParser& parser) {
  const bool read = parser.is_header_done();
  const bool keeps = read && parser.keep_alive() && !answer.closes;
  HttpResponse response(http::int_to_status(unsigned(answer.status)), 11);
  response.set(http::field::content_type, beast_view(answer.type));
  response.set(http::field::cache_control, "no-store");
  if (!answer.allow.empty()) response.set(http::field::allow, beast_view(answer.allow));
  if (!answer.authenticate.empty()) response.set(http::field::www_authenticate, beast_view(answer.authenticate));
  const size_t length = answer.body.size();
  if (!read || parser.get().method() != http::verb::head) response.body() = std::move(answer.body);
  response.content_length(length);
  response.keep_alive(keeps);
  return response;
}

int status_of(const boost::system::error_code& error) {
  if (error == http::error::header_limit || error == http::error::buffer_overflow) return 431;
  return 400;
}

}  // namespace shoal::monitor
