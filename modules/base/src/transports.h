// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The transports of one environment, each made when it is first used.
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "shoal/base/production.h"

namespace shoal {

/// Makes the transports and owns them, one for each scheme. Thread-safe.
class Transports {
 public:
  explicit Transports(TransportTable table) : table_(std::move(table)) {}

  /// Returns the transport of `scheme`, and makes it at the first call. Errors: NotFound, which lists the known schemes;
  /// FailedPrecondition if the factory of the transport returns null; the factory's exception, as an error.
  Result<transport::Transport*> get(std::string_view scheme, Environment& env);
  /// Destroys all transports.
  void clear();

 private:
  const TransportTable table_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<transport::Transport>, std::less<>> made_;  // Guarded by mutex_.
};

}  // namespace shoal
