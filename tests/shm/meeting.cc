// SPDX-License-Identifier: Apache-2.0
#include "meeting.h"

#include <fstream>
#include <sstream>

namespace shoal::transport {

Result<void> Shm::listen(const std::string& address) {
  SHOAL_TRY(listener, tasks.transport(server).listen({"shm", address}, options));
  return {};
}

void Shm::meet(Part served, Part called) {
  ASSERT_TRUE(listener || listen());
  const auto serve = [&]() -> Task<Done> {
    SHOAL_CO_TRY(const Connected link, co_await accept());
    co_return co_await served(*link);
  };
  const auto call = [&]() -> Task<Done> {
    SHOAL_CO_TRY(const Connected link, co_await connect());
    co_return co_await called(*link);
  };
  tasks.run(serve(), call());
}

Task<Done> Shm::until(Environment& env, std::function<bool()> holds) {
  const SteadyTime deadline = tasks.soon(env);
  while (!holds()) {
    if (env.now() > deadline) co_return deadline_exceeded("it did not come about");
    SHOAL_CO_TRY_VOID(co_await env.sleep_for(milliseconds(1)));
  }
  co_return Done();
}

uint64_t Shm::bytes_copied() {
  return tasks.transport(server).stats().bytes_copied + tasks.transport(client).stats().bytes_copied;
}

Task<Done> Shm::wait_for_end(Connection& link, Deadline deadline) {
  while (true) {
    Result<Message> received = co_await link.receive(deadline);
    if (received) continue;
    if (received.error().kind() == ErrorKind::kUnavailable) co_return Done();
    co_return std::move(received).error();
  }
}

size_t mapped(const std::string& what, const std::string& access) {
  std::ifstream maps("/proc/self/maps");
  size_t count = 0;
  for (std::string line; std::getline(maps, line);)
    count += line.find(what) != std::string::npos && line.find(access) != std::string::npos;
  return count;
}

std::string mapping_of(const void* address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    uintptr_t begin = 0, end = 0;
    char dash = 0;
    std::istringstream(line) >> std::hex >> begin >> dash >> end;
    const auto place = reinterpret_cast<uintptr_t>(address);
    if (begin <= place && place < end) return line;
  }
  return "";
}

}  // namespace shoal::transport
