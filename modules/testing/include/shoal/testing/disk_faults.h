#pragma once
/// What can go wrong with a simulated disk, by script or by chance.
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "shoal/base/time.h"

namespace shoal::testing {

/// By script: what one changing call meets.
enum class Fault {
  kNone,
  kError,             ///< one call fails and has no effect
  kErrorAfterEffect,  ///< one call has its effect and reports failure all the same
  kCrash,             ///< the process is gone: this call (half done) and all changes after it have no effect
  kDiskFull,          ///< from this call on nothing can be written
};

/// By chance: how likely each call meets what. Each kind draws from a sequence of its own at every call, so that leaving
/// one kind out leaves the others where they were, as far as the calls stay the same.
struct DiskFaults {
  uint64_t seed = 1;
  double error = 0;     ///< any call: Unavailable, input/output error; every other one has had its effect all the same
  double full = 0;      ///< a write: no space left, for this one and some after it
  double bit_flip = 0;  ///< a write: reports success, but one bit of what it wrote is turned over
  double slow = 0;      ///< any call: takes longer (DiskConnection::take_delay)
  int64_t full_writes_max = 20;                        ///< so many writes at most find the disk full
  Duration slow_max = std::chrono::seconds(10);        ///< a slow call takes at most so long
  std::function<bool(const std::string&)> flips_in{};  ///< files in which bits may flip; empty: all

  /// True: no call can meet anything.
  bool none() const { return error <= 0 && full <= 0 && bit_flip <= 0 && slow <= 0; }
};

/// How many faults a disk has brought about, by kind.
struct DiskFaultCounts {
  int64_t error = 0;  ///< scripted or by chance
  int64_t full = 0;   ///< writes that found no space, whatever the reason
  int64_t bit_flip = 0;
  int64_t slow = 0;
  int64_t cut_off = 0;  ///< calls of hosts that were cut off
  int64_t power_lost = 0;

  int64_t sum() const { return error + full + bit_flip + slow + cut_off + power_lost; }
  friend bool operator==(const DiskFaultCounts&, const DiskFaultCounts&) = default;
};

}  // namespace shoal::testing
