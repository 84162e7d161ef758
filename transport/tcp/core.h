#pragma once
/// What the connections, listeners and attempts of one environment share.
#include <memory>

#include "net.h"
#include "shoal/transport/loop_core.h"
#include "tls.h"

namespace shoal::transport::tcp {

class Core : public LoopCore {
 public:
  Core(Environment& environment, asio::io_context& context) : LoopCore(environment), io(context) {}

  /// What connections with `token` share; null without one. FailedPrecondition in a build that has no TLS.
  Result<std::shared_ptr<TlsContext>> tls(const std::shared_ptr<const Token>& token) {
    if (token && token != tls_token_) {
      SHOAL_TRY(tls_, make_tls_context(*token));
      tls_token_ = token;
    }
    return token ? tls_ : nullptr;
  }
  asio::io_context& io;  // while open()

 private:
  std::shared_ptr<const Token> tls_token_;  // a task has one
  std::shared_ptr<TlsContext> tls_;
};

}  // namespace shoal::transport::tcp
