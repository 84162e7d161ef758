// SPDX-License-Identifier: Apache-2.0
// Requests to the endpoint for monitoring systems, as it reads them from a connection: one after another, each answered. Nothing of a
// request is in an answer, and without the secret none has a number in it.
#include <boost/asio/buffer.hpp>

#include "http_exchange.h"
#include "metrics_session.h"
#include "shoal/base/check.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace shoal;
  using namespace shoal::monitor;
  fuzz::Input input(data, size);
  const bool open = input.take<uint8_t>() % 2 == 0;
  constexpr std::string_view kSecret = "shoal-metrics-secret";
  MeterRegistry registry;
  registry.add({.role = "worker", .index = 1})->step({.global_step = 1, .examples = 1, .loss = 1, .time = {}});
  const TaskHealth health(registry, std::chrono::seconds(60));
  CachedPage page(registry, "1");
  const AnswerSource source{
      .page = page, .health = health, .bearer = open ? "" : std::string(kSecret), .addresses_only = open};
  std::string_view text = input.text();
  while (!text.empty()) {
    HttpParser parser;
    parser.header_limit(kHeadBytesMax);
    boost::system::error_code error;
    const size_t taken = parser.put(boost::asio::buffer(text.data(), text.size()), error);
    if (error == boost::beast::http::error::need_more) break;
    HttpAnswer answer = error ? refusal(status_of(error)) : answer_to(head_of(parser), source, SteadyTime());
    SHOAL_CHECK(answer.body.size() < 100'000);
    if (!open && answer.status == 200) SHOAL_CHECK(text.find(kSecret) != std::string_view::npos);
    SHOAL_CHECK(answer.body.find(kSecret) == std::string::npos);
    const HttpResponse response = response_of(std::move(answer), parser);
    fuzz::touch(response.body());
    if (!response.keep_alive()) break;
    text.remove_prefix(taken);
    if (taken == 0) break;
  }
  return 0;
}
