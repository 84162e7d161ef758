// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Makes the certificates that certificate.h reads: a CA for each cluster, and a certificate for each task; and those of monitoring systems.
/// In a build without TLS all functions return FailedPrecondition.
#include "shoal/transport/certificate.h"

namespace shoal::transport {

/// Makes a CA: an ECDSA key on P-256, and a certificate that allows it to sign certificates of tasks, but not of further
/// CAs.
Result<KeyPair> make_authority(const Validity& validity);

/// Makes an ECDSA key on P-256 for `task`, and its certificate, which is valid for both sides of a TLS connection and
/// cannot sign others. The certificate expires with the CA's, if that is sooner. InvalidArgument: `authority` is no key
/// pair, or `task` cannot be written (see parse_task_uri()). FailedPrecondition: the CA's certificate is not one of a CA,
/// or expires before `validity` begins.
Result<KeyPair> make_task_certificate(const KeyPair& authority, const PeerIdentity& task, const Validity& validity);

struct WatcherCertificate {
  KeyPair own;
  Validity validity;  ///< As long as was asked for, or as long as the CA's.
};
/// The same for a monitoring system: the certificate is for the client's side alone, and names neither a task nor a server. Endpoints for
/// monitoring (scrape_access.h) take it, and tasks refuse it. Errors: those of make_task_certificate().
Result<WatcherCertificate> make_watcher_certificate(const KeyPair& authority, const Validity& validity);

}  // namespace shoal::transport
