// SPDX-License-Identifier: Apache-2.0
#include "stream.h"

namespace shoal::transport::tcp {
namespace {

/// A sequence of buffers in the form that Asio takes.
template <class Buffer>
struct Sequence {
  std::span<const Buffer> buffers;
  const Buffer* begin() const { return buffers.data(); }
  const Buffer* end() const { return buffers.data() + buffers.size(); }
};

/// Whether the peer is on this machine.
bool is_near(const Socket& socket) {
  error_code error;
  const SocketAddress there = socket.remote_endpoint(error);
  if (error) return false;
  const SocketAddress here = socket.local_endpoint(error);
  return !error && (is_loopback(there) || there.address() == here.address());
}

// The size of the send buffer for a peer on this machine. Sent bytes are copied into the kernel, and the peer copies them
// from there. That is fast if they are still in the processor's cache, but by default the kernel buffers megabytes. With
// this size (which the kernel doubles), sending a megabyte there and back takes 0.3 ms instead of 0.55. For other peers
// the kernel chooses the size of the buffer.
constexpr int kNearSendBufferBytes = 512 << 10;

}  // namespace

Stream::Stream(Socket socket) : socket_(std::move(socket)) {
  error_code ignored;
  socket_.non_blocking(true, ignored);
  socket_.set_option(asio::ip::tcp::no_delay(true),
                     ignored);  // Set before the handshake, whose parts would otherwise wait 40 ms for each other.
  if (is_near(socket_)) socket_.set_option(asio::socket_base::send_buffer_size(kNearSendBufferBytes), ignored);
}

Stream::Stream(Socket socket, TlsContext& tls, TlsSide side, std::optional<PeerIdentity> expected_peer)
    : Stream(std::move(socket)) {
  tls_ = tls.start(side, socket_.native_handle(), std::move(expected_peer));
}

size_t Stream::read_some(std::span<const asio::mutable_buffer> into, error_code& error) {
  if (tls_) return tls_->read_some(into.front(), error);
  return socket_.read_some(Sequence<asio::mutable_buffer>{into}, error);
}

size_t Stream::write_some(std::span<const asio::const_buffer> parts, error_code& error) {
  if (tls_) return tls_->write_some(parts, error);
  return socket_.write_some(Sequence<asio::const_buffer>{parts}, error);
}

void Stream::end_writing() {
  if (tls_) tls_->finish();
  error_code ignored;
  socket_.shutdown(Socket::shutdown_send, ignored);
}

void Stream::close() {
  error_code ignored;
  socket_.close(ignored);
}

std::string Stream::describe(const error_code& error) const {
  if (failure() == TlsFailure::kNone) return error.message();
  return (failure() == TlsFailure::kBroken ? "bytes were changed on their way (TLS: " : "the TLS handshake failed (") +
         tls_->failure_text() + ")";
}

}  // namespace shoal::transport::tcp
