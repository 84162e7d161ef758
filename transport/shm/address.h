// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Addresses of shm: any name, which stands for a socket in Linux's abstract namespace, one per user.
#include <sys/socket.h>
#include <sys/un.h>

#include "shoal/transport/transport.h"

namespace shoal::transport::shm {

/// The socket "\0shoal/<user id>/<address>". It has no file, so nothing is left of it when its owner is killed.
struct SocketName {
  sockaddr_un address{};
  socklen_t bytes = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

/// An address is any text of up to 80 characters. TF_CONFIG has "host:port" there: a host that is a number must be of this
/// machine, else FailedPrecondition; a host name is taken for a name. InvalidArgument if the text is no address.
Result<SocketName> socket_name(const Endpoint& endpoint);

}  // namespace shoal::transport::shm
