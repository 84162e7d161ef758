// SPDX-License-Identifier: Apache-2.0
#include "job/rendezvous/own_port.h"

#include <optional>

#include "shoal/cluster/listen.h"
#include "shoal/cluster/quiet_ports.h"

namespace shoal::cluster {
namespace {

constexpr int kTriesMax = 100;

struct BindTo {
  std::string host;
  std::optional<uint16_t> port;
};

/// The parsed value of --bind; nothing without it.
Result<std::optional<BindTo>> bind_of(const RendezvousOptions& options) {
  if (!options.bind) return std::optional<BindTo>();
  if (const auto both = parse_host_port(*options.bind)) return std::optional(BindTo{both->host, both->port});
  if (const auto host = parse_host_port(*options.bind + ":1")) return std::optional(BindTo{host->host, {}});
  return invalid_argument("--bind: \"" + *options.bind +
                          "\" is neither host nor host:port; an IPv6 address stands in brackets, as [::1]");
}

std::string port_part(const std::string& address) { return address.substr(address.rfind(':') + 1); }

}  // namespace

std::string host_part(const std::string& address) { return address.substr(0, address.rfind(':')); }

Result<std::string> bound_address(const RendezvousOptions& options, const std::string& address) {
  SHOAL_TRY(const std::optional<BindTo> bind, bind_of(options));
  return bind ? bind->host + ":" + port_part(address) : address;
}

Task<Result<OwnPort>> take_port(Environment& env, const RendezvousOptions& options, SeatOffer offer, Deadline deadline) {
  OwnPort own;
  const bool serves_nobody = seat_of(options.place.plan, options.place.rank).role == kEvaluatorRole;
  if (serves_nobody) co_return own;
  SHOAL_CO_TRY(const std::optional<BindTo> bind, bind_of(options));
  const std::string listen_host = bind ? bind->host : offer.host;
  const bool chosen = !offer.address.empty() || (bind && bind->port);
  for (int i = 0;; ++i) {
    std::string port = std::to_string(kQuietPortFirst + env.entropy() % kQuietPorts);
    if (bind && bind->port) port = std::to_string(*bind->port);
    if (!offer.address.empty() && !(bind && bind->port)) port = port_part(offer.address);
    own.address = offer.address.empty() ? offer.host + ":" + port : offer.address;
    const transport::Endpoint at{options.task_scheme, listen_host + ":" + port};
    auto listening = listen(env, at, options.link, deadline);
    auto listener = co_await std::move(listening);
    if (listener) {
      own.listener = std::move(*listener);
      co_return own;
    }
    const bool taken = listener.error().kind() == ErrorKind::kUnavailable;
    if (!taken) co_return std::move(listener).error();
    if (chosen || i + 1 == kTriesMax) {
      co_return std::move(listener).error().with_context(
          "this task's own port (others find it at " + own.address +
          "; where that is no address of this host, --bind has the one to listen on, and SHOAL_HOST the one for others)");
    }
  }
}

}  // namespace shoal::cluster
