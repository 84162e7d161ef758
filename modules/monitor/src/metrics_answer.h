// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Answers an HTTP request whose header fields have been read: checks the authorization and chooses the page.
#include <string>
#include <string_view>
#include <vector>

#include "cached_page.h"
#include "task_health.h"

namespace shoal::monitor {

struct RequestHead {
  std::string_view method;                        ///< "GET".
  std::string_view target;                        ///< "/metrics?x=1".
  std::vector<std::string_view> authorization{};  ///< The values of all headers named Authorization.
  std::vector<std::string_view> hosts{};          ///< The values of all headers named Host.
  bool has_body = false;                          ///< The request's header announces a body.
};

struct HttpAnswer {
  int status = 200;
  std::string_view type = "text/plain; charset=utf-8";
  std::string body = {};
  std::string_view allow = {};         ///< The header field Allow; empty: none.
  std::string_view authenticate = {};  ///< The header field WWW-Authenticate; empty: none.
  bool closes = false;                 ///< The connection is closed after this answer.
};

/// What answer_to() reads to answer a request, and the rules for who may ask.
struct AnswerSource {
  CachedPage& page;
  const TaskHealth& health;
  std::string bearer;  ///< Empty: no token is required.
  /// True: refuses any Host with a domain name, which a hostile web page could use to read this endpoint (DNS rebinding).
  bool addresses_only = false;
};

/// Answers a request. Never throws, whatever the head contains, and repeats nothing of the head.
HttpAnswer answer_to(const RequestHead& head, const AnswerSource& source, SteadyTime now);
/// Returns the answer for a status of 400 or more.
HttpAnswer refusal(int status);

/// Whether the value of a field Host is an IP address or localhost, with or without a port.
bool is_host_without_domain(std::string_view host);

/// True if both texts are equal. The time depends on the length of `given` alone.
bool is_same_secret(std::string_view given, std::string_view secret);

}  // namespace shoal::monitor
