// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Faults of a simulated disk, by script or by chance.
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "shoal/base/time.h"

namespace shoal::testing {

/// The fault that one changing call meets by script.
enum class Fault {
  kNone,
  kError,             ///< One call fails and has no effect.
  kErrorAfterEffect,  ///< One call has its effect and reports failure all the same.
  /// The process is gone: this call (half done) and all changes after it have no effect.
  kCrash,
  kDiskFull,  ///< Nothing can be written from this call on.
};

/// How likely each call meets what, by chance. Each kind draws from a sequence of its own at every call, so that
/// leaving one kind out leaves the others where they were, as far as the calls stay the same.
struct DiskFaults {
  uint64_t seed = 1;
  /// Any call: Unavailable, input/output error. Half of those calls, by chance, have had their effect all the same.
  double error = 0;
  double full = 0;                                     ///< A write: no space left, for this one and some after it.
  double bit_flip = 0;                                 ///< A write: reports success, but one bit of it is turned over.
  double slow = 0;                                     ///< Any call: takes longer (DiskConnection::take_delay).
  int64_t full_writes_max = 20;  ///< At most this many writes find the disk full.
  Duration slow_max = std::chrono::seconds(10);        ///< A slow call takes at most so long.
  std::function<bool(const std::string&)> flips_in{};  ///< Files in which bits may flip. Empty: all.

  /// True if no call can meet anything.
  bool none() const { return error <= 0 && full <= 0 && bit_flip <= 0 && slow <= 0; }
};

/// The number of faults of each kind that a disk has caused.
struct DiskFaultCounts {
  int64_t error = 0;  ///< Errors, scripted or by chance.
  int64_t full = 0;   ///< Writes that found no space, whatever the reason.
  int64_t bit_flip = 0;
  int64_t slow = 0;
  int64_t cut_off = 0;  ///< Calls of hosts that were cut off.
  int64_t power_lost = 0;

  int64_t sum() const { return error + full + bit_flip + slow + cut_off + power_lost; }
  friend bool operator==(const DiskFaultCounts&, const DiskFaultCounts&) = default;
};

}  // namespace shoal::testing
