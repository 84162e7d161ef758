// SPDX-License-Identifier: Apache-2.0
// push_pull_bench over ps-lite: a scheduler, a server that adds dense values to its own, and a worker, by ZeroMQ over TCP.
// A push and the answer to it are one request (ZPushPull), values are passed without a copy, and the server answers with
// the memory of its own value: all that ps-lite offers for speed.
//
//   push_pull_pslite [--bytes 4096,65536] [--seconds 1]       writes a line of JSON for each size
#include <arpa/inet.h>
#include <ps/ps.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <unordered_map>
#include <vector>

#include "push_pull_peer.h"

namespace shoal::bench {
namespace {

/// A port of 127.0.0.1 that nobody has now.
int free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  const bool good = ::bind(socket, reinterpret_cast<sockaddr*>(&address), length) == 0 &&
                    ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length) == 0;
  ::close(socket);
  if (good) return ntohs(address.sin_port);
  std::perror("push_pull_pslite: a port");
  std::exit(1);
}

/// One value per key, a size per key.
class Sums {
 public:
  void operator()(const ps::KVMeta& request, const ps::KVPairs<float>& pushed, ps::KVServer<float>* server) {
    const ps::Key key = pushed.keys[0];
    ps::SArray<float>& value = values_[key];
    if (value.size() != pushed.vals.size()) value = ps::SArray<float>(pushed.vals.size(), 0.0f);
    float* const to = value.data();
    const float* const from = pushed.vals.data();
    for (size_t i = 0; i < value.size(); ++i) to[i] += from[i];
    ps::KVPairs<float> answer;
    answer.keys = pushed.keys;
    answer.vals = value;
    server->Response(request, answer);
  }

 private:
  std::unordered_map<ps::Key, ps::SArray<float>> values_;
};

void serve(const char* role) {
  ::setenv("DMLC_ROLE", role, 1);
  ps::Start(0);
  if (ps::IsServer()) {
    auto* const server = new ps::KVServer<float>(0);
    server->set_request_handle(
        [sums = Sums()](const auto& request, const auto& pushed, auto* at) mutable { sums(request, pushed, at); });
    ps::RegisterExitCallback([server] { delete server; });
  }
  ps::Finalize(0, true);
}

pid_t start(const char* role) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  serve(role);
  ::_exit(0);
}

Latencies rounds(ps::KVWorker<float>& worker, ps::Key key, size_t count, double seconds) {
  const ps::SArray<ps::Key> keys{key};
  ps::SArray<float> value(count, 1.0f), sum(count, 0.0f);
  const Latencies taken = timed_rounds(seconds, [&] { worker.Wait(worker.ZPushPull(keys, value, &sum)); });
  const float rounds = float(taken.count());
  if (sum[0] == rounds && sum[count - 1] == rounds) return taken;
  std::fprintf(stderr, "push_pull_pslite: the answer is not the sum\n");
  std::exit(1);
}

Result<void> work(const PeerOptions& options) {
  ::setenv("DMLC_PS_ROOT_URI", "127.0.0.1", 1);
  ::setenv("DMLC_PS_ROOT_PORT", std::to_string(free_port()).c_str(), 1);
  ::setenv("DMLC_NODE_HOST", "127.0.0.1", 1);
  ::setenv("DMLC_NUM_SERVER", "1", 1);
  ::setenv("DMLC_NUM_WORKER", "1", 1);
  const pid_t scheduler = start("scheduler"), server = start("server");
  ::setenv("DMLC_ROLE", "worker", 1);
  ps::Start(0);
  {
    ps::KVWorker<float> worker(0, 0);
    ps::Key key = 0;
    for (const int64_t bytes : options.bytes) {
      const size_t count = size_t(bytes) / sizeof(float);
      rounds(worker, key++, count, 0.05);
      print_line("ps-lite", bytes, rounds(worker, key++, count, options.seconds));
    }
    ps::Finalize(0, true);
  }
  for (const pid_t child : {scheduler, server}) ::waitpid(child, nullptr, 0);
  return {};
}

}  // namespace
}  // namespace shoal::bench

int main(int argc, char** argv) {
  return shoal::bench::push_pull_main("push_pull_pslite", "ps-lite", argc, argv, &shoal::bench::work);
}
