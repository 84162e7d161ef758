// SPDX-License-Identifier: Apache-2.0
#include "holding_peer.h"

#include <vector>

#include "shoal/base/production.h"
#include "two_tasks.h"

namespace shoal::transport {

int holding_peer(const char* endpoint) {
  const auto to = parse_endpoint(endpoint);
  if (!to) return 2;
  const auto env = make_production_environment({.task = "child", .transports = built_in_transports()});
  const auto holds = [&]() -> Task<Result<void>> {
    SHOAL_CO_TRY(Transport* const transport, env->transport(to->scheme));
    const LinkOptions options{.receive_bytes_max = uint64_t(1) << 30};
    SHOAL_CO_TRY(const std::unique_ptr<Connection> link,
                 co_await transport->connect(*to, options, env->after(std::chrono::seconds(30))));
    Message large = weights_of(*env, kHeldBytes, 1);
    SHOAL_CO_TRY_VOID(co_await link->send(std::move(large), env->after(std::chrono::seconds(30))));
    std::vector<Message> held;
    while (true) {
      SHOAL_CO_TRY(Message message, co_await link->receive(env->after(std::chrono::seconds(60))));
      Message word = numbered(message.head.sequence);
      held.push_back(std::move(message));
      SHOAL_CO_TRY_VOID(co_await link->send(std::move(word), env->after(std::chrono::seconds(60))));
    }
  };
  return env->run(holds()) ? 0 : 1;
}

}  // namespace shoal::transport
