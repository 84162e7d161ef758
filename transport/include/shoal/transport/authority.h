// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Making what certificate.h is about: a CA per cluster, and a certificate per task. FailedPrecondition in a build without
/// TLS, from both.
#include "shoal/transport/certificate.h"

namespace shoal::transport {

/// A fresh CA: an ECDSA key on P-256 and a certificate that says that it signs those of tasks, and no further CAs.
Result<KeyPair> make_authority(const Validity& validity);

/// A fresh key of that kind for `task`, and its certificate: for both sides of a TLS connection, not to sign others with.
/// It ends when that of the CA does, if that is sooner. InvalidArgument: `authority` is no key pair, or `task` cannot be
/// written (see parse_task_uri()). FailedPrecondition: the CA's certificate is not one of a CA, or ends before
/// `validity` begins.
Result<KeyPair> make_task_certificate(const KeyPair& authority, const PeerIdentity& task, const Validity& validity);

}  // namespace shoal::transport
