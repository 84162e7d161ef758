// SPDX-License-Identifier: Apache-2.0
#include "tls_bio.h"

#include <sys/socket.h>

#include <cerrno>
#include <new>

namespace shoal::transport::tcp {
namespace {

error_code system_error(int code) { return {code, boost::system::system_category()}; }
bool is_only_busy(int code) { return code == EAGAIN || code == EWOULDBLOCK; }

}  // namespace

void TlsPipe::send() {
  while (unsent() && !write_error_) {
    const ssize_t bytes = ::send(socket_, unsent_.data() + sent_, unsent_.size() - sent_, MSG_NOSIGNAL);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0 && is_only_busy(errno)) return;
    if (bytes < 0) {
      write_error_ = system_error(errno);
    } else {
      sent_ += size_t(bytes);
    }
  }
  unsent_.clear();
  sent_ = 0;
}

/// The functions that OpenSSL calls to write to and read from a pipe.
struct TlsBioCalls {
  static TlsPipe& pipe_of(BIO* bio) { return *static_cast<TlsPipe*>(BIO_get_data(bio)); }

  static int write(BIO* bio, const char* data, size_t size, size_t* written) {
    TlsPipe& pipe = pipe_of(bio);
    try {  // OpenSSL is written in C: no exception may pass through it.
      pipe.unsent_.insert(pipe.unsent_.end(), data, data + size);
    } catch (const std::bad_alloc&) {
      pipe.write_error_ = system_error(ENOMEM);
      return -1;
    }
    *written = size;
    return 1;
  }

  static int read(BIO* bio, char* into, size_t size, size_t* got) {
    TlsPipe& pipe = pipe_of(bio);
    BIO_clear_retry_flags(bio);
    *got = 0;
    ssize_t bytes = -1;
    do {
      bytes = ::recv(pipe.socket_, into, size, 0);
    } while (bytes < 0 && errno == EINTR);
    if (bytes > 0) return *got = size_t(bytes), 1;
    if (bytes < 0 && is_only_busy(errno)) {
      BIO_set_retry_read(bio);
    } else {
      pipe.read_error_ = bytes == 0 ? error_code(asio::error::eof) : system_error(errno);
    }
    return bytes == 0 ? 0 : -1;
  }

  static long control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }
};

std::unique_ptr<BIO_METHOD, FreeBio> make_bio_method() {
  std::unique_ptr<BIO_METHOD, FreeBio> method(BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "shoal"));
  if (method && BIO_meth_set_write_ex(method.get(), &TlsBioCalls::write) &&
      BIO_meth_set_read_ex(method.get(), &TlsBioCalls::read) && BIO_meth_set_ctrl(method.get(), &TlsBioCalls::control))
    return method;
  return nullptr;
}

std::unique_ptr<BIO, FreeBio> make_bio(const BIO_METHOD& method, TlsPipe& pipe) {
  std::unique_ptr<BIO, FreeBio> bio(BIO_new(&method));
  if (!bio) return nullptr;
  BIO_set_data(bio.get(), &pipe);
  BIO_set_init(bio.get(), 1);
  return bio;
}

}  // namespace shoal::transport::tcp
