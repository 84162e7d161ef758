// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The transports of one environment, each made when it is first asked for.
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "shoal/base/production.h"

namespace shoal {

/// Thread-safe.
class Transports {
 public:
  explicit Transports(TransportTable table) : table_(std::move(table)) {}

  /// NotFound names the schemes there are. FailedPrecondition where the transport's function gives none; the error of what
  /// that function throws.
  Result<transport::Transport*> get(std::string_view scheme, Environment& env);
  /// Destroys them.
  void clear();

 private:
  const TransportTable table_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<transport::Transport>, std::less<>> made_;  // Guarded by mutex_.
};

}  // namespace shoal
