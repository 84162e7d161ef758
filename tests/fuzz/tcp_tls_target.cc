// SPDX-License-Identifier: Apache-2.0
// TLS as tcp uses it. The first byte of the input says who hears the rest: a listener, who connects to one, or a listener
// after a good handshake.
#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "known_token.h"
#include "shoal/base/check.h"
#include "target.h"
#include "tls.h"

namespace shoal::transport::tcp {
namespace {

struct Pair {
  Pair() { SHOAL_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0); }
  ~Pair() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
  int ends[2];
};

TlsContext& context() {
  static const std::shared_ptr<TlsContext> made = [] {
    const Result<Token> token = Token::parse(fuzz::kKnownToken);
    SHOAL_CHECK(token);
    Result<std::shared_ptr<TlsContext>> context = make_tls_context(*token);
    SHOAL_CHECK(context);
    return std::move(*context);
  }();
  return *made;
}

/// Reads until something ends it, or there is no more for now.
error_code read_all(TlsSession& session) {
  std::array<std::byte, 4096> into;
  error_code error;
  while (!error) fuzz::touch(std::span(into).first(session.read_some(asio::buffer(into), error)));
  return error;
}

void say_hello(TlsSession& session) {
  const std::array<asio::const_buffer, 1> word{asio::buffer("hello", 5)};
  error_code error;
  session.write_some(word, error);
}

void hear(uint8_t how, std::span<const std::byte> bytes) {
  const Pair pair;
  const bool connects = how % 3 == 1, handshake = how % 3 == 2;
  const auto session = context().start(connects ? TlsSide::kClient : TlsSide::kServer, pair.ends[0]);
  if (connects) say_hello(*session);
  if (handshake) {
    const auto peer = context().start(TlsSide::kClient, pair.ends[1]);
    for (int i = 0; i < 2; ++i) {
      say_hello(*peer);
      (void)read_all(*session);
    }
    SHOAL_CHECK(session->failure() == TlsFailure::kNone);
  }
  (void)::send(pair.ends[1], bytes.data(), bytes.size(), MSG_NOSIGNAL);
  ::shutdown(pair.ends[1], SHUT_WR);
  SHOAL_CHECK(read_all(*session));
  say_hello(*session);
  fuzz::touch(session->failure_text());
  session->finish();
}

}  // namespace
}  // namespace shoal::transport::tcp

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  shoal::fuzz::Input input(data, size);
  const auto how = input.take<uint8_t>();
  shoal::transport::tcp::hear(how, input.take_bytes(input.size()));
  return 0;
}
