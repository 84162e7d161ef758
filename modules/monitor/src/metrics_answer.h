// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What the endpoint answers to a request whose head has been read: who may ask, which pages there are.
#include <string>
#include <string_view>
#include <vector>

#include "cached_page.h"
#include "task_health.h"

namespace shoal::monitor {

struct RequestHead {
  std::string_view method;                        ///< "GET".
  std::string_view target;                        ///< "/metrics?x=1".
  std::vector<std::string_view> authorization{};  ///< The values of all fields Authorization.
  bool has_body = false;                          ///< The head announces one.
};

struct HttpAnswer {
  int status = 200;
  std::string_view type = "text/plain; charset=utf-8";
  std::string body = {};
  std::string_view allow = {};         ///< The field Allow; empty: none.
  std::string_view authenticate = {};  ///< The field WWW-Authenticate; empty: none.
  bool closes = false;                 ///< The connection ends with this answer.
};

/// What requests are about.
struct AnswerSource {
  CachedPage& page;
  const TaskHealth& health;
  std::string bearer;  ///< Empty: anyone may ask.
};

/// Never throws for what the head holds. The answer repeats nothing of it.
HttpAnswer answer_to(const RequestHead& head, const AnswerSource& source, SteadyTime now);
/// The answer to what is no request: a status of 400 or more.
HttpAnswer refusal(int status);

/// Whether both are the same, in a time that depends on the length of `given` alone.
bool is_same_secret(std::string_view given, std::string_view secret);

}  // namespace shoal::monitor
