// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Converts Beast's requests to RequestHead, and HttpAnswer to Beast's responses.
#include <utility>  // Boost 1.74's Asio lacks this include.

#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "metrics_answer.h"

namespace shoal::monitor {

using HttpParser = boost::beast::http::request_parser<boost::beast::http::empty_body>;
using HttpResponse = boost::beast::http::response<boost::beast::http::string_body>;

/// Returns the facts about a request. They are views into `parser`, which must have read all of the request's header
/// fields.
RequestHead head_of(const HttpParser& parser);
/// Makes the response to the request in `parser`, or to malformed bytes in place of a request.
HttpResponse response_of(HttpAnswer answer, const HttpParser& parser);
/// Returns the HTTP status that answers a request whose header fields could not be read because of `error`.
int status_of(const boost::system::error_code& error);

}  // namespace shoal::monitor
