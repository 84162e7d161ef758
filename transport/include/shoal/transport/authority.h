// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Makes certificates: of a CA for each cluster, of each task (certificate.h reads them), and of monitoring systems.
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
  Validity validity;  ///< The requested period, which ends early if the CA's certificate expires sooner.
};
/// Makes a key and a certificate for a monitoring system: valid for clients only, without the name of a task or server.
/// Monitoring endpoints (scrape_access.h) accept it, tasks refuse it. Errors: those of make_task_certificate().
Result<WatcherCertificate> make_watcher_certificate(const KeyPair& authority, const Validity& validity);

}  // namespace shoal::transport
