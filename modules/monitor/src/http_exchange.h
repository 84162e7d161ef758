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

/// Returns views into `parser`, which must have read a head.
RequestHead head_of(const HttpParser& parser);
/// Makes the response to the request in `parser`, or to malformed bytes in place of a request.
HttpResponse response_of(HttpAnswer answer, const HttpParser& parser);
/// Returns the HTTP status for an error of reading a head.
int status_of(const boost::system::error_code& error);

}  // namespace shoal::monitor
