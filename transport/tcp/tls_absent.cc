// SPDX-License-Identifier: Apache-2.0
// Takes the place of tls_openssl.cc where the build has no OpenSSL.
#include "tls.h"

namespace shoal::transport::tcp {

Result<std::shared_ptr<TlsContext>> make_tls_context(const Credential&, const TlsOptions&) {
  return failed_precondition(
      "this build cannot encrypt, and a token asks for it: build with -DSHOAL_TLS=ON (needs libssl-dev), "
      "or leave the token out (SHOAL_TOKEN, --token-file)");  // A certificate cannot even be read.
}

}  // namespace shoal::transport::tcp
