// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Objects that all connections, listeners and attempts to connect of one environment share.
#include <memory>

#include "net.h"
#include "stream/core.h"
#include "tls.h"

namespace shoal::transport::tcp {

class Core : public stream::Core {
 public:
  using stream::Core::Core;

  /// The context of all connections with `credential`; null without one. FailedPrecondition in a build without TLS.
  Result<std::shared_ptr<TlsContext>> tls(const std::shared_ptr<const Credential>& credential) {
    if (credential && credential != tls_credential_) {
      SHOAL_TRY(tls_, make_tls_context(*credential));
      tls_credential_ = credential;
    }
    return credential ? tls_ : nullptr;
  }

 private:
  // The credential from which tls_ was made. One is enough, since all connections of a task use the same credential.
  std::shared_ptr<const Credential> tls_credential_;
  std::shared_ptr<TlsContext> tls_;
};

}  // namespace shoal::transport::tcp
