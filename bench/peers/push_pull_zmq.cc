// SPDX-License-Identifier: Apache-2.0
// push_pull_bench over bare ZeroMQ, in C++: what a parameter server on top of it (ps-lite) could reach at best, without its
// key ranges, its threads between socket and handler, or its copies of values.
//
//   push_pull_zmq [--bytes 4096,65536] [--seconds 1]       writes a line of JSON for each size
#include <sys/wait.h>
#include <unistd.h>
#include <zmq.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "push_pull_peer.h"
#include "touch.h"

namespace shoal::bench {
namespace {

constexpr int kPatienceMs = 60'000;

void check(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "push_pull_zmq: %s: %s\n", what, zmq_strerror(zmq_errno()));
  std::exit(1);
}

struct Closer {
  void operator()(void* socket) const { zmq_close(socket); }
};
struct Terminator {
  void operator()(void* context) const { zmq_ctx_term(context); }
};
using Context = std::unique_ptr<void, Terminator>;
using Socket = std::unique_ptr<void, Closer>;

Socket make_socket(void* context) {
  Socket socket(zmq_socket(context, ZMQ_PAIR));
  check(socket != nullptr, "socket");
  for (int option : {ZMQ_RCVTIMEO, ZMQ_SNDTIMEO}) zmq_setsockopt(socket.get(), option, &kPatienceMs, sizeof kPatienceMs);
  return socket;
}

/// Adds what comes to its own value, and sends that. An empty message ends it.
void serve(int address_to) {
  const Context context(zmq_ctx_new());
  const Socket socket = make_socket(context.get());
  check(zmq_bind(socket.get(), "tcp://127.0.0.1:*") == 0, "bind");
  char endpoint[128];
  size_t length = sizeof endpoint;
  check(zmq_getsockopt(socket.get(), ZMQ_LAST_ENDPOINT, endpoint, &length) == 0, "endpoint");
  if (::write(address_to, endpoint, length) < 0) return;
  ::close(address_to);
  std::vector<float> value;
  for (;;) {
    zmq_msg_t push;
    zmq_msg_init(&push);
    check(zmq_msg_recv(&push, socket.get(), 0) >= 0, "receive");
    const size_t bytes = zmq_msg_size(&push), count = bytes / sizeof(float);
    if (bytes == 0) break;
    const auto* const pushed = static_cast<const float*>(zmq_msg_data(&push));
    if (value.size() != count) value.assign(count, 0);
    zmq_msg_t sum;
    check(zmq_msg_init_size(&sum, bytes) == 0, "message");
    for (size_t i = 0; i < count; ++i) value[i] += pushed[i];
    std::memcpy(zmq_msg_data(&sum), value.data(), bytes);
    zmq_msg_close(&push);
    check(zmq_msg_send(&sum, socket.get(), 0) >= 0, "send");
  }
}

Latencies rounds(void* socket, std::vector<float>& value, double seconds) {
  return timed_rounds(seconds, [&] {
    zmq_msg_t push;
    const size_t bytes = value.size() * sizeof(float);
    const auto keep_it = [](void*, void*) {};
    check(zmq_msg_init_data(&push, value.data(), bytes, keep_it, nullptr) == 0, "message");
    check(zmq_msg_send(&push, socket, 0) >= 0, "send");
    zmq_msg_t sum;
    zmq_msg_init(&sum);
    check(zmq_msg_recv(&sum, socket, 0) >= 0, "receive");
    check(zmq_msg_size(&sum) == bytes, "answer of another size");
    zmq_msg_close(&sum);
  });
}

Result<void> work(const PeerOptions& options) {
  int ends[2];
  check(::pipe(ends) == 0, "pipe");
  const pid_t child = ::fork();
  if (child == 0) {
    serve(ends[1]);
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string endpoint;
  for (char letter; ::read(ends[0], &letter, 1) == 1 && letter != '\0';) endpoint += letter;
  ::close(ends[0]);
  const Context context(zmq_ctx_new());
  const Socket socket = make_socket(context.get());
  check(zmq_connect(socket.get(), endpoint.c_str()) == 0, "connect");
  for (const int64_t bytes : options.bytes) {
    std::vector<float> value(size_t(bytes) / sizeof(float), 1.0f);
    rounds(socket.get(), value, 0.05);
    print_line("zeromq", bytes, rounds(socket.get(), value, options.seconds));
  }
  check(zmq_send(socket.get(), nullptr, 0, 0) == 0, "send");
  ::waitpid(child, nullptr, 0);
  return {};
}

}  // namespace
}  // namespace shoal::bench

int main(int argc, char** argv) {
  return shoal::bench::push_pull_main("push_pull_zmq", "bare ZeroMQ", argc, argv, &shoal::bench::work);
}
