// SPDX-License-Identifier: Apache-2.0
#include "control.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "rings.h"
#include "shoal/base/exhaustion.h"

namespace shoal::transport::shm {

Sent send_datagram(int socket, std::span<const std::byte> bytes, int descriptor) {
  iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  alignas(cmsghdr) char ancillary[CMSG_SPACE(sizeof(int))] = {};
  if (descriptor >= 0) {
    header.msg_control = ancillary;
    header.msg_controllen = sizeof ancillary;
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(rights), &descriptor, sizeof descriptor);
  }
  while (true) {
    if (::sendmsg(socket, &header, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return Sent::kDone;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return Sent::kSocketFull;
    if (errno != EINTR) return Sent::kFailed;
  }
}

namespace {

// Takes over the first descriptor that the datagram carried, and closes all others.
File take_file(msghdr& header) {
  File first;
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
      File file(descriptor);
      if (!first) first = std::move(file);
    }
  }
  return first;
}

}  // namespace

Datagram receive_datagram(int socket) {
  Datagram datagram;
  iovec part{datagram.data.data(), datagram.data.size()};
  // A datagram may carry descriptors of files. There is room for one; the operating system closes the others.
  alignas(cmsghdr) char ancillary[CMSG_SPACE(sizeof(int))];
  // If a peer has hung up without reading all of our datagrams, one call of recvmsg() fails. The next calls still return
  // what the peer had sent.
  for (int attempt = 0; attempt < 3; ++attempt) {
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = ancillary;
    header.msg_controllen = sizeof ancillary;
    const ssize_t count = ::recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (count >= 0) {
      // Even an empty datagram, which means that the peer has hung up, may carry a descriptor that has to be closed.
      datagram.file = take_file(header);
      datagram.kind = count > 0 ? Datagram::Kind::kData : Datagram::Kind::kEnd;
      datagram.bytes = (header.msg_flags & MSG_TRUNC) ? 0 : size_t(count);
      return datagram;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) return datagram;
    if (errno != EINTR && errno != ECONNRESET) break;
  }
  datagram.kind = Datagram::Kind::kEnd;
  return datagram;
}

Result<pid_t> check_same_user(int socket) {
  ucred peer{};
  socklen_t bytes = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0)
    return unavailable(std::string("the process at the other end cannot be identified: ") + system_error_text(errno));
  if (peer.uid != ::geteuid())
    return failed_precondition("process " + std::to_string(peer.pid) + " there belongs to user " +
                               std::to_string(peer.uid) + ", but this one to user " + std::to_string(::geteuid()) +
                               "; shm is for processes of one user, use --transport tcp");
  return peer.pid;
}

void Doorbell::notify(uint32_t what) {
  std::atomic<uint32_t>& wants = rings_->their_wants();
  if ((wants.load() & what) == 0) return;
  std::lock_guard lock(mutex_);
  if (socket_ < 0 || wants.exchange(0) == 0) return;
  const Notice notice;
  // A failure does not matter: if the socket is full, the datagrams in it wake the peer just as well.
  (void)send_datagram(socket_, std::as_bytes(std::span(&notice, 1)).first(kRingBytes));
}

void Doorbell::close() {
  std::lock_guard lock(mutex_);
  socket_ = -1;
}

}  // namespace shoal::transport::shm
