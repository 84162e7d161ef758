// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Objects that all connections, listeners and attempts to connect of one environment share.
#include <utility>  // Boost 1.74's Asio needs it without including it.

#include <boost/asio/posix/stream_descriptor.hpp>

#include <memory>

#include "shared_memory.h"
#include "stream/core.h"

namespace shoal::transport::shm {

namespace asio = boost::asio;
using boost::system::error_code;
/// A socket that the event loop watches until it is readable. Shoal, not Asio, makes all system calls on it.
using Watched = asio::posix::stream_descriptor;

class Core : public stream::Core {
 public:
  explicit Core(Environment& environment) : stream::Core(environment), memory(SharedMemory::of(environment.buffers())) {}

  /// FailedPrecondition if messages cannot be built in memory that peers can read. Internal if the system grants none.
  Result<void> check_memory() const {
    if (!memory) return failed_precondition("shm: the buffers of this environment do not lie in shared memory");
    const Result<void> granted = memory->check();
    if (granted) return {};
    return Error(granted.error().kind(), "shm: " + granted.error().message() + ", or use --transport tcp");
  }

  const std::shared_ptr<SharedMemory> memory;  // Null if the environment's buffers lie outside of shared memory.
};

}  // namespace shoal::transport::shm
