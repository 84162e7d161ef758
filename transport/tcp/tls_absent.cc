// SPDX-License-Identifier: Apache-2.0
// Replaces tls_openssl.cc in a build without OpenSSL.
#include "tls.h"

namespace shoal::transport::tcp {

Result<std::shared_ptr<TlsContext>> make_tls_context(const Credential&, const TlsOptions&) {
  return failed_precondition(
      "this build cannot encrypt, which a token requires: build with -DSHOAL_TLS=ON (needs libssl-dev), "
      // The error names only tokens, since a task with certificates fails earlier: this build cannot read certificates.
      "or leave the token out (SHOAL_TOKEN, --token-file)");
}

}  // namespace shoal::transport::tcp
