// SPDX-License-Identifier: Apache-2.0
#include "shoal/monitor/metrics_endpoint.h"

#include <string.h>  // explicit_bzero()
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <cerrno>
#include <list>
#include <thread>

#include "metrics_session.h"
#include "shoal/base/check.h"
#if SHOAL_MONITOR_TLS
#include "metrics_tls.h"
#endif

namespace shoal::monitor {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using NetError = boost::system::error_code;

constexpr size_t kConnectionsMax = 128;
// The pause after accept() fails, for example for lack of free descriptors.
constexpr auto kAcceptPause = std::chrono::milliseconds(200);
constexpr auto kLookEvery = std::chrono::seconds(5);

/// A socket that does not yet belong to an object of Asio.
class NewSocket {
 public:
  explicit NewSocket(int descriptor) : descriptor_(descriptor) {}
  ~NewSocket() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  NewSocket(const NewSocket&) = delete;
  NewSocket& operator=(const NewSocket&) = delete;

  bool is_open() const { return descriptor_ >= 0; }
  /// Moves the socket to `owner`, an acceptor or a socket of Asio. If that fails, this object still owns the socket.
  template <class Owner>
  bool give_to(Owner& owner, const tcp& protocol, NetError& error) {
    owner.assign(protocol, descriptor_, error);
    if (error) return false;
    descriptor_ = -1;
    return true;
  }

 private:
  int descriptor_;
};

SteadyTime steady_now() { return SteadyTime(std::chrono::steady_clock::now().time_since_epoch()); }

class Endpoint final : public MetricsEndpoint {
 public:
  explicit Endpoint(MetricsEndpointOptions options)
      : health_(registry_, options.health_deadline),
        look_every_(std::min<Duration>(kLookEvery, options.health_deadline / 4)),
        page_(registry_, std::move(options.version)),
        source_{.page = page_, .health = health_, .bearer = {}},
        address_(std::move(options.address)) {}
  ~Endpoint() override {
    io_.stop();
    if (thread_.joinable()) thread_.join();
    explicit_bzero(source_.bearer.data(), source_.bearer.size());
  }

  Result<void> open(const std::function<Result<MetricsGate>()>& gate);
  MeterRegistry& registry() override { return registry_; }
  const MetricsAddress& address() const override { return address_; }

 private:
  Result<void> set_up_gate(const std::function<Result<MetricsGate>()>& gate);
  Result<void> listen();
  void run();
  void accept();
  void pause();
  void take(NewSocket& socket);
  std::shared_ptr<MetricsSession> make_session(tcp::socket socket, SessionCalls calls);
  void make_room();
  void look();

  // Once the endpoint's thread runs, only this thread uses these members, except for the registry.
  MeterRegistry registry_;
  TaskHealth health_;
  const Duration look_every_;
  CachedPage page_;
  AnswerSource source_;
  MetricsAddress address_;
  asio::io_context io_{1};
  tcp::acceptor acceptor_{io_};
  asio::steady_timer look_timer_{io_}, accept_timer_{io_};
#if SHOAL_MONITOR_TLS
  std::shared_ptr<asio::ssl::context> tls_;
#endif
  bool looks_ = false, accepts_ = false;                 // looks_: look() waits. accepts_: accept() or pause() waits.
  std::list<std::shared_ptr<MetricsSession>> sessions_;  // The least recently used session is first.
  std::thread thread_;
};

Result<void> Endpoint::open(const std::function<Result<MetricsGate>()>& gate) {
  SHOAL_TRY_VOID(set_up_gate(gate));
  SHOAL_TRY_VOID(listen());
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& error) {
    return unavailable("metrics " + to_string(address_) + ": the system gives no thread: " + error.code().message());
  }
  return {};
}

Result<void> Endpoint::set_up_gate(const std::function<Result<MetricsGate>()>& gate) {
  source_.addresses_only = is_loopback(address_);
  if (source_.addresses_only) return {};
  SHOAL_CHECK(gate);
  SHOAL_TRY(const MetricsGate made, gate());
  SHOAL_CHECK(!made.bearer.empty() || !made.authorities.empty());
#if SHOAL_MONITOR_TLS
  SHOAL_TRY(tls_, make_metrics_tls(made));
  source_.bearer = made.bearer;
  return {};
#else
  return failed_precondition(
      "metrics " + to_string(address_) +
      ": is beyond this machine, and this build has no TLS: build with -DSHOAL_TLS=ON (needs libssl-dev), or "
      "give a port of this machine alone");
#endif
}

Result<void> Endpoint::listen() {
  NetError error;
  const auto failed = [&](const char* what) {
    const bool taken = error == asio::error::address_in_use;
    return unavailable(
        "metrics " + to_string(address_) + ": " + what + ": " + error.message() +
        (taken ? "; another program, or another task, listens at this port: give another one, or 0 for one that is free"
               : ""));
  };
  const auto host = asio::ip::make_address(address_.host, error);
  if (error) return failed("no address");
  const tcp::endpoint at(host, address_.port);
  NewSocket socket(::socket(at.protocol().family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP));
  if (!socket.is_open()) {
    error.assign(errno, asio::error::get_system_category());
    return failed("no socket");
  }
  if (!socket.give_to(acceptor_, at.protocol(), error)) return failed("no socket");
  acceptor_.set_option(asio::socket_base::reuse_address(true), error);
  if (acceptor_.bind(at, error); error) return failed("cannot listen there");
  if (acceptor_.listen(asio::socket_base::max_listen_connections, error); error) return failed("cannot listen there");
  address_.port = acceptor_.local_endpoint(error).port();
  return {};
}

/// Each handler of the timer and of the acceptor ends by starting its next wait. If it throws before that (memory has run
/// out), the loop below starts the wait instead.
void Endpoint::run() {
  while (!io_.stopped()) {
    try {
      if (!looks_) look();
      if (!accepts_) accept();
      io_.run();
    } catch (const std::exception&) {
    }
  }
  sessions_.clear();
}

void Endpoint::look() {
  look_timer_.expires_after(look_every_);
  look_timer_.async_wait([this](NetError error) {
    looks_ = false;
    if (!error) look();
  });
  looks_ = true;
  health_.look(steady_now());
}

/// Accepts with SOCK_CLOEXEC, which Asio's own accept does not set: else programs started here would inherit the sockets.
void Endpoint::accept() {
  acceptor_.async_wait(tcp::acceptor::wait_read, [this](NetError error) {
    accepts_ = false;
    if (error) return;
    NewSocket socket(::accept4(acceptor_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.is_open() || errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) {
      accept();
      if (socket.is_open()) take(socket);
      return;
    }
    make_room();
    pause();
  });
  accepts_ = true;
}

void Endpoint::pause() {
  accept_timer_.expires_after(kAcceptPause);
  accept_timer_.async_wait([this](NetError error) {
    accepts_ = false;
    if (!error) accept();
  });
  accepts_ = true;
}

void Endpoint::take(NewSocket& socket) {
  if (sessions_.size() >= kConnectionsMax) make_room();
  tcp::socket connected(io_);
  NetError error;
  const tcp::endpoint own = acceptor_.local_endpoint(error);
  if (error || !socket.give_to(connected, own.protocol(), error)) return;
  connected.set_option(tcp::no_delay(true), error);
  const auto at = sessions_.emplace(sessions_.end());
  SessionCalls calls;
  calls.answer = [this, at](const RequestHead& head) {
    sessions_.splice(sessions_.end(), sessions_, at);
    return answer_to(head, source_, steady_now());
  };
  calls.ended = [this, at] { sessions_.erase(at); };
  try {
    *at = make_session(std::move(connected), std::move(calls));
  } catch (...) {
    sessions_.erase(at);
    throw;
  }
  (*at)->start();
}

std::shared_ptr<MetricsSession> Endpoint::make_session(tcp::socket socket, SessionCalls calls) {
#if SHOAL_MONITOR_TLS
  if (tls_) return make_tls_session(std::move(socket), *tls_, std::move(calls));
#endif
  return make_plain_session(std::move(socket), std::move(calls));
}

/// Closes the connection that has been idle for longest or, if all are busy, the least recently used connection.
void Endpoint::make_room() {
  if (sessions_.empty()) return;
  const auto idle = std::ranges::find_if(sessions_, [](const auto& session) { return session->idle(); });
  const auto session = idle == sessions_.end() ? sessions_.front() : *idle;  // A copy: close() erases the list element.
  session->close();
}

}  // namespace

Result<std::shared_ptr<MetricsEndpoint>> start_metrics_endpoint(MetricsEndpointOptions options) {
  const std::function<Result<MetricsGate>()> gate = std::move(options.gate);
  auto endpoint = std::make_shared<Endpoint>(std::move(options));
  SHOAL_TRY_VOID(endpoint->open(gate));
  return std::shared_ptr<MetricsEndpoint>(std::move(endpoint));
}

}  // namespace shoal::monitor
