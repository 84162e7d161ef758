// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Addresses of shm: any name, which becomes the name of a socket in Linux's abstract namespace, with the user's id.
#include <sys/socket.h>
#include <sys/un.h>

#include "shoal/transport/transport.h"

namespace shoal::transport::shm {

/// The socket "\0shoal/<user id>/<address>". It has no file, so nothing is left of it when its process is killed.
struct SocketName {
  sockaddr_un address{};
  socklen_t bytes = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

/// Returns the name of the socket for an address. Any text of up to 80 characters is an address; InvalidArgument for other
/// texts. Addresses from TF_CONFIG have the form "host:port". A host name is not resolved. FailedPrecondition for a
/// numeric host that is not an address of this machine.
Result<SocketName> socket_name(const Endpoint& endpoint);

}  // namespace shoal::transport::shm
