// SPDX-License-Identifier: Apache-2.0
#include "metrics_session.h"

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#if SHOAL_MONITOR_TLS
#include <boost/asio/ssl/context.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#endif

#include <optional>

#include "http_exchange.h"

namespace shoal::monitor {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using HttpError = boost::system::error_code;

/// A session over a stream of Beast: plain TCP or TLS.
template <class Stream>
class StreamSession final : public MetricsSession, public std::enable_shared_from_this<StreamSession<Stream>> {
 public:
  template <class... More>
  explicit StreamSession(SessionCalls calls, More&&... more)
      : calls_(std::move(calls)), stream_(std::forward<More>(more)...), buffer_(kHeadBytesMax + kAheadBytes) {}

  void start() override {
    lowest().expires_after(kRequestTimeout);
#if SHOAL_MONITOR_TLS
    if constexpr (!std::is_same_v<Stream, beast::tcp_stream>) {
      stream_.async_handshake(asio::ssl::stream_base::server, [session = self()](HttpError error) {
        if (error || session->closed()) return session->close();
        session->wait_for_request(kRequestTimeout);
      });
      return;
    }
#endif
    wait_for_request(kRequestTimeout);
  }
  void close() override {
    HttpError ignored;
    lowest().socket().close(ignored);
    if (const auto ended = std::exchange(calls_.ended, nullptr)) ended();
  }
  bool idle() const override { return idle_; }

 private:
  static constexpr size_t kAheadBytes = 1024;  // For bytes of the next requests that arrive before the last answer is sent.
  using Self = std::shared_ptr<StreamSession>;

  /// True after close(). Handlers of operations that had finished before close() still run.
  bool closed() const { return !calls_.ended; }
  Self self() { return this->shared_from_this(); }
  beast::tcp_stream& lowest() { return beast::get_lowest_layer(stream_); }

  /// Waits up to `patience` for the first byte of a request. All other bytes of the request's head must then come within
  /// kRequestTimeout.
  void wait_for_request(std::chrono::seconds patience) {
    parser_.emplace();
    parser_->header_limit(kHeadBytesMax);
    if (buffer_.size() > 0) return read_head();
    idle_ = true;
    lowest().expires_after(patience);
    stream_.async_read_some(buffer_.prepare(kAheadBytes), [session = self()](HttpError error, size_t bytes) {
      session->idle_ = false;
      if (error || session->closed()) return session->close();
      session->buffer_.commit(bytes);
      session->read_head();
    });
  }

  void read_head() {
    lowest().expires_after(kRequestTimeout);
    beast::http::async_read_header(stream_, buffer_, *parser_, [session = self()](HttpError error, size_t) {
      if (session->closed()) return;
      if (!error) return session->answer(session->calls_.answer(head_of(*session->parser_)));
      const bool gone = error == beast::http::error::end_of_stream || error == asio::error::operation_aborted ||
                        error == beast::error::timeout || error.category() == asio::error::get_system_category();
      if (gone) return session->close();
      session->answer(refusal(status_of(error)));
    });
  }

  void answer(HttpAnswer answer) {
    response_.emplace(response_of(std::move(answer), *parser_));
    lowest().expires_after(kRequestTimeout);
    beast::http::async_write(stream_, *response_, [session = self()](HttpError error, size_t) {
      if (error || session->closed()) return session->close();
      if (session->response_->keep_alive()) return session->wait_for_request(kIdleTimeout);
      HttpError ignored;
      session->lowest().socket().shutdown(asio::socket_base::shutdown_send, ignored);
      session->lowest().expires_after(kLingerTimeout);
      session->linger();
    });
  }

  /// Reads on for a while: closing a socket with unread bytes resets the connection, and the peer may then lose the answer.
  void linger() {
    lowest().async_read_some(asio::buffer(unread_), [session = self()](HttpError error, size_t bytes) {
      session->unread_bytes_ += bytes;
      if (error || session->closed() || session->unread_bytes_ > kLingerBytesMax) return session->close();
      session->linger();
    });
  }

  SessionCalls calls_;
  Stream stream_;
  beast::flat_buffer buffer_;
  std::optional<HttpParser> parser_;
  std::optional<HttpResponse> response_;
  std::array<char, 1024> unread_;
  size_t unread_bytes_ = 0;
  bool idle_ = false;
};

}  // namespace

std::shared_ptr<MetricsSession> make_plain_session(asio::ip::tcp::socket socket, SessionCalls calls) {
  return std::make_shared<StreamSession<beast::tcp_stream>>(std::move(calls), std::move(socket));
}

#if SHOAL_MONITOR_TLS
std::shared_ptr<MetricsSession> make_tls_session(asio::ip::tcp::socket socket, asio::ssl::context& context,
                                                 SessionCalls calls) {
  return std::make_shared<StreamSession<beast::ssl_stream<beast::tcp_stream>>>(std::move(calls), std::move(socket),
                                                                               context);
}
#endif

}  // namespace shoal::monitor
