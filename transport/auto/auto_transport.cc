// SPDX-License-Identifier: Apache-2.0
/// auto: shared memory between processes of one user on one machine, tcp between all others. Two tasks first connect over
/// tcp and then agree on which of the two to use. So the job's secret token, which the handshake of tcp checks, protects
/// this transport, too. To find out whether they are on one machine, they try to connect through shared memory.
#include "shoal/transport/accept_queue.h"

#include <array>
#include <charconv>

#include "acceptance.h"
#include "connection.h"

namespace shoal::transport {
namespace automatic {
namespace {

constexpr std::string_view kScheme = "auto";

Endpoint by(std::string_view scheme, const Endpoint& endpoint) { return {std::string(scheme), endpoint.address}; }

Result<void> check_scheme(const Endpoint& endpoint) {
  if (endpoint.scheme == kScheme) return {};
  return invalid_argument(to_string(endpoint) + ": this is not an address of auto");
}

Endpoint fresh_rendezvous(Environment& env) {
  std::string address(kRendezvous);
  for (size_t digits = 0; digits < kRendezvousDigits; digits += 16) {
    std::array<char, 16> text;
    text.fill('0');
    std::array<char, 16> number;
    const auto end = std::to_chars(number.data(), number.data() + number.size(), env.entropy(), 16).ptr;
    std::copy_backward(number.data(), end, text.data() + text.size());
    address.append(text.data(), text.size());
  }
  return {"shm", std::move(address)};
}

Error other_transport(const Endpoint& to, const std::string& said = {}) {
  return failed_precondition(
      to_string(to) +
      ": the task there was started with another --transport than auto; start all tasks of a job with "
      "the same transport" +
      (said.empty() ? "" : " (it said: " + said + ")"));
}

/// Converts the error of a listener that does not answer the first message. A listener that uses only tcp closes the
/// connection with an error about that message, which would mislead the user, so another error replaces it. Other errors
/// (the listener has ended or is full) are passed on.
Error unanswered(Error why, const Endpoint& to) {
  switch (why.kind()) {
    case ErrorKind::kInvalidArgument:
    case ErrorKind::kTypeMismatch:
    case ErrorKind::kFailedPrecondition:
    case ErrorKind::kDataLoss: return other_transport(to, why.message());
    default: return why;
  }
}

/// Reads the listener's answer: the address for a connection over shared memory, or "" if the listener offers none.
Result<std::string> rendezvous_in(const Message& answer, const Endpoint& to) {
  const Result<Control> control = read_control(answer);
  if (!control || control->verb != kVerb) return other_transport(to);
  std::string place(control->text);
  if (place.empty() || is_rendezvous(place)) return place;
  return failed_precondition(to_string(to) +
                             ": offers shared memory at an address that is not valid: is it another version of Shoal?");
}

/// Connects over shared memory. Unavailable or FailedPrecondition says why that is impossible.
Task<Result<std::unique_ptr<Connection>>> connect_by_shm(Environment& env, std::string place, LinkOptions options,
                                                         Deadline deadline) {
  SHOAL_CO_TRY(Transport* const shm, env.transport("shm"));
  auto connecting = shm->connect({"shm", std::move(place)}, std::move(options), deadline);
  co_return co_await std::move(connecting);
}

Task<Result<std::unique_ptr<Connection>>> connect_from(std::shared_ptr<Postbox> home, Endpoint to, LinkOptions options,
                                                       Deadline deadline) {
  SHOAL_CO_TRY_VOID(check_scheme(to));
  Environment* const env = home->environment();
  if (!env) co_return cancelled();
  SHOAL_CO_TRY(Transport* const tcp, env->transport("tcp"));
  auto connecting = tcp->connect(by("tcp", to), options, deadline);
  SHOAL_CO_TRY(std::unique_ptr<Connection> link, co_await std::move(connecting));

  const Deadline agreed_by = std::min(deadline, env->after(options.handshake_timeout));
  Message question = make_control(env->buffers(), kVerb);
  SHOAL_CO_TRY_VOID(co_await link->send(std::move(question), agreed_by));
  Result<Message> answer = co_await link->receive(agreed_by);
  if (!answer && answer.error().kind() == ErrorKind::kDeadlineExceeded && agreed_by < deadline)
    co_return unavailable(to_string(to) + ": a process listens there but does not answer as auto does");
  if (!answer) co_return unanswered(std::move(answer).error(), to);
  SHOAL_CO_TRY(std::string place, rendezvous_in(*answer, to));

  std::unique_ptr<Connection> nearer;
  if (!place.empty()) {
    auto connecting_by_shm = connect_by_shm(*env, std::move(place), options, agreed_by);
    Result<std::unique_ptr<Connection>> connected = co_await std::move(connecting_by_shm);
    if (connected) nearer = std::move(*connected);
    if (!connected) env->log().debug(to_string(to) + ": uses tcp, since " + connected.error().message());
  }
  Message choice = make_control(env->buffers(), kVerb, nearer ? kByShm : kByTcp);
  Result<void> told = co_await link->send(std::move(choice), agreed_by);
  if (!told && !nearer) co_return std::move(told).error();
  co_return make_connection(nearer ? std::move(nearer) : std::move(link), std::move(to));
}

class AutoTransport final : public Transport {
 public:
  explicit AutoTransport(Environment& env) : env_(env), postbox_(std::make_shared<Postbox>(env)) {}
  ~AutoTransport() override { postbox_->close(); }
  Reach reach() const override { return Reach::kNetwork; }
  bool shares_memory() const override { return false; }  // Some peers share memory, but not all.

  Result<std::unique_ptr<Listener>> listen(Endpoint at, LinkOptions options) override {
    SHOAL_TRY_VOID(check_scheme(at));
    SHOAL_TRY(Transport* const tcp, env_.transport("tcp"));
    // A peer that still negotiates has a connection, too, which must not count towards the limit that the task has set.
    LinkOptions roomier = options;
    roomier.connections_max += kNegotiationsMax;
    SHOAL_TRY(auto by_tcp, tcp->listen(by("tcp", at), roomier));
    auto acceptance = std::make_shared<Acceptance>(postbox_, std::move(options), std::move(by_tcp), listen_by_shm(roomier));
    acceptance->start();
    return std::make_unique<ListenerHandle<Acceptance>>(std::move(acceptance));
  }
  Task<Result<std::unique_ptr<Connection>>> connect(Endpoint to, LinkOptions options, Deadline deadline) override {
    return connect_from(postbox_, std::move(to), std::move(options), deadline);
  }
  /// The sum of the statistics of tcp and shm, including connections that were not made by auto.
  TransportStats stats() const override {
    TransportStats sum;
    for (const char* const scheme : {"tcp", "shm"}) {
      const Result<Transport*> transport = env_.transport(scheme);
      if (!transport) continue;
      const TransportStats one = (*transport)->stats();
      sum.messages_sent += one.messages_sent;
      sum.messages_received += one.messages_received;
      sum.bytes_sent += one.bytes_sent;
      sum.bytes_received += one.bytes_received;
      sum.bytes_copied += one.bytes_copied;
    }
    return sum;
  }

 private:
  static constexpr int kNegotiationsMax = 64;

  /// Null if there is no shared memory: peers then use tcp. Also null if certificates are used: all admitted peers know the
  /// address of the shm listener, so a connection there would not prove which of them it comes from.
  std::unique_ptr<Listener> listen_by_shm(const LinkOptions& options) {
    if (options.credential && std::holds_alternative<Certificate>(*options.credential)) return nullptr;
    const Result<Transport*> shm = env_.transport("shm");
    if (!shm) return nullptr;
    auto listener = (*shm)->listen(fresh_rendezvous(env_), options);
    if (listener) return std::move(*listener);
    env_.log().debug("auto: uses only tcp, since " + listener.error().message());
    return nullptr;
  }

  Environment& env_;
  const std::shared_ptr<Postbox> postbox_;
};

}  // namespace
}  // namespace automatic

std::unique_ptr<Transport> make_auto_transport(Environment& env) { return std::make_unique<automatic::AutoTransport>(env); }

}  // namespace shoal::transport
