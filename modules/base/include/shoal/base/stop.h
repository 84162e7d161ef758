// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Requests to end a wait early. A StopSource makes the request, its StopTokens see it; both are cheap to copy and
/// thread-safe.
#include <cstdint>
#include <memory>

#include "shoal/base/function.h"
#include "shoal/base/time.h"

namespace shoal {

struct StopState;

/// One request to stop may reach a process as several signals: a service manager signals all processes of a service, and a
/// launcher among these processes passes its own signal on to the others. So all signals within this time after the first
/// one count as one request.
inline constexpr Duration kOneStopRequest = std::chrono::milliseconds(500);

class StopToken {
 public:
  StopToken() = default;  ///< A token that never gets a request to stop.
  bool stop_requested() const;
  bool stop_possible() const { return bool(state_); }

 private:
  friend class StopSource;
  friend class StopCallback;
  explicit StopToken(std::shared_ptr<StopState> state);
  std::shared_ptr<StopState> state_;
};

class StopSource {
 public:
  StopSource();
  /// Makes a source that also stops when `parent` stops.
  explicit StopSource(StopToken parent);
  ~StopSource();
  StopToken token() const;
  /// Runs the registered callbacks on the calling thread; later calls do nothing. Returns true for the first call.
  bool request_stop() const;
  bool stop_requested() const;

 private:
  std::shared_ptr<StopState> state_;
  std::shared_ptr<class StopCallback> parent_;
};

/// Runs `callback` once when the token stops, or at once if it has stopped already. After the destructor has returned the
/// callback neither runs nor will run.
class StopCallback {
 public:
  StopCallback(const StopToken& token, Work callback);
  ~StopCallback();
  StopCallback(const StopCallback&) = delete;
  StopCallback& operator=(const StopCallback&) = delete;

 private:
  std::shared_ptr<StopState> state_;
  uint64_t id_ = 0;
};

}  // namespace shoal
