// SPDX-License-Identifier: Apache-2.0
// Replaces certificate_openssl.cc, authority_openssl.cc and scrape_access_openssl.cc in a build without OpenSSL.
#include "shoal/transport/authority.h"
#include "shoal/transport/scrape_access.h"

namespace shoal::transport {
namespace {

Error no_certificates() {
  return failed_precondition("this build has no TLS, and so no certificates: build with -DSHOAL_TLS=ON (needs libssl-dev)");
}

}  // namespace

Result<Certificate> Certificate::parse(const KeyPair&, std::string_view) { return no_certificates(); }
Result<PeerIdentity> owner_of_certificate(std::string_view) { return no_certificates(); }
Result<KeyPair> make_authority(const Validity&) { return no_certificates(); }
Result<KeyPair> make_task_certificate(const KeyPair&, const PeerIdentity&, const Validity&) { return no_certificates(); }
Result<WatcherCertificate> make_watcher_certificate(const KeyPair&, const Validity&) { return no_certificates(); }
Result<ScrapeAccess> scrape_access(const Credential&) { return no_certificates(); }

}  // namespace shoal::transport
