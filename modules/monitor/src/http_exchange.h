// SPDX-License-Identifier: Apache-2.0
#pragma once
/// From Beast's requests to ours, and back to its responses.
#include <utility>  // Boost 1.74's Asio forgets it.

#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "metrics_answer.h"

namespace shoal::monitor {

using HttpParser = boost::beast::http::request_parser<boost::beast::http::empty_body>;
using HttpResponse = boost::beast::http::response<boost::beast::http::string_body>;

/// Views into `parser`, whose head is read.
RequestHead head_of(const HttpParser& parser);
/// The response to the request in `parser`, or, where it is none, to what came in its place.
HttpResponse response_of(HttpAnswer answer, const HttpParser& parser);
/// The status that says what is wrong with a head that could not be read.
int status_of(const boost::system::error_code& error);

}  // namespace shoal::monitor
