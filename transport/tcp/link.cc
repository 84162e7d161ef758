// SPDX-License-Identifier: Apache-2.0
#include "link.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

namespace shoal::transport::tcp {
namespace {

/// Turns on TCP's keep-alive probes. A host that lost its power sends nothing, so without probes its connection would look
/// alive until the next deadline.
void notice_dead_hosts(int socket) {
  constexpr int kOn = 1, kIdleSecs = 10, kIntervalSecs = 5, kProbes = 3;
  setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &kOn, sizeof kOn);
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &kIdleSecs, sizeof kIdleSecs);
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &kIntervalSecs, sizeof kIntervalSecs);
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &kProbes, sizeof kProbes);
}

}  // namespace

Preamble preamble_of(const LinkOptions& options, bool checksum) {
  return {.checksum = checksum, .heartbeat = std::chrono::milliseconds(heartbeat_ms(options))};
}

LinkTerms agree(const Preamble& ours, const Preamble& theirs) {
  return {.checksum = ours.checksum || theirs.checksum, .heartbeat = {ours.heartbeat, theirs.heartbeat}};
}

Link::Link(std::shared_ptr<stream::Core> core, Stream stream, Endpoint peer, const LinkOptions& options,
           const LinkTerms& terms, std::shared_ptr<void> slot)
    : stream::Link(std::move(core), {std::move(peer), stream.identity(), terms.heartbeat}, options, std::move(slot)),
      stream_(std::move(stream)),
      checksum_(terms.checksum) {}

void Link::begin() {
  notice_dead_hosts(stream_->socket().native_handle());
  flush();
  read_on();  // Reads what arrived together with the last bytes of the handshake.
}

void Link::look_for_heartbeat(SteadyTime now) {
  if (stalled_) heartbeat_.restart_silence(now);  // Reading is paused, so the peer cannot be heard.
  if (heartbeat_.is_silent(now)) read();
}

void Link::send_heartbeat() {
  if (nothing_to_write() && outgoing_.empty()) batch_.add_heartbeat();
  flush();
}

// ---- closing --------------------------------------------------------------------------------------------------------

void Link::stop_reading() {
  in_ = ReadState();
  if (!waits_readable_ && state_ != State::kClosed) discard_input();
}

void Link::release() {
  if (stream_) stream_->close();
  batch_.clear();
  in_ = ReadState();
}

void Link::flush_until(SteadyTime deadline) {
  while (state_ == State::kFlushing && stream_) {
    load_batch();
    const Progress progress = nothing_to_write() ? Progress::kDone : write_some();
    if (progress == Progress::kDone || progress == Progress::kFailed) break;
    if (progress == Progress::kAgain) continue;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - core_->env.now());
    pollfd writable{stream_->socket().native_handle(), POLLOUT, 0};
    if (left.count() <= 0 || ::poll(&writable, 1, int(left.count())) <= 0) break;
  }
  // Reads and drops the input: closing a socket with unread input sends a reset, which may overtake the bytes just written.
  error_code error;
  if (stream_ && state_ != State::kClosed) {
    stream_->end_writing();
    std::array<std::byte, 16384> scratch;
    for (int i = 0; i < 4096 && !error; ++i) stream_->socket().read_some(asio::buffer(scratch), error);
  }
}

void Link::shut_down(SteadyTime deadline) {
  stream::Link::shut_down(deadline);
  stream_.reset();  // The socket must not outlive its event loop.
}

}  // namespace shoal::transport::tcp
