// SPDX-License-Identifier: Apache-2.0
#include "stream/core.h"

#include "shoal/base/check.h"
#include "shoal/base/event_loop.h"

namespace shoal::transport::stream {
namespace {

asio::io_context& loop_of(Environment& environment) {
  asio::io_context* const io = event_loop(environment);
  SHOAL_CHECK(io);  // Environments in virtual time have no event loop; do not give them transports over sockets.
  return *io;
}

}  // namespace

Core::Core(Environment& environment)
    : env(environment), io(loop_of(environment)), postbox(std::make_shared<Postbox>(environment)) {}

void Core::shut_down() {
  const SteadyTime deadline = env.after(std::chrono::seconds(1));
  open_ = false;
  for (const auto& [key, weak] : std::exchange(holders_, {})) {
    if (const auto holder = weak.lock()) holder->shut_down(deadline);
  }
  postbox->close();
}

}  // namespace shoal::transport::stream
