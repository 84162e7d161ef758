// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Faults of a simulated disk, by script or by chance.
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "shoal/base/time.h"

namespace shoal::testing {

/// A fault that a test plans for one call that changes the disk (SimulatedDisk::arm).
enum class Fault {
  kNone,
  kError,             ///< One call fails and has no effect.
  kErrorAfterEffect,  ///< One call has its effect and reports failure all the same.
  /// The process dies in this call, which may be half done. All later changes have no effect.
  kCrash,
  kDiskFull,  ///< Nothing can be written from this call on.
};

/// The probability of each kind of fault per call. Each kind draws from a random sequence of its own, so switching one kind
/// off does not change when the others occur, as long as the calls stay the same.
struct DiskFaults {
  uint64_t seed = 1;
  /// The probability that a call fails with Unavailable (input/output error). Half of the failed calls, by chance, take
  /// effect anyway.
  double error = 0;
  double full = 0;                                     ///< The probability that a write, and some after it, find no space.
  double bit_flip = 0;                                 ///< The probability that one bit of a write is flipped.
  double slow = 0;                                     ///< The probability of a delay (DiskConnection::take_delay).
  int64_t full_writes_max = 20;                        ///< At most this many writes in a row find the disk full.
  Duration slow_max = std::chrono::seconds(10);        ///< The longest delay of a slow call.
  std::function<bool(const std::string&)> flips_in{};  ///< Files in which bits may flip. Empty: all.

  /// True if no call can meet a fault.
  bool none() const { return error <= 0 && full <= 0 && bit_flip <= 0 && slow <= 0; }
};

/// The number of faults of each kind that a disk has caused.
struct DiskFaultCounts {
  int64_t error = 0;  ///< Errors, scripted or by chance.
  int64_t full = 0;   ///< Writes that found no space, whatever the reason.
  int64_t bit_flip = 0;
  int64_t slow = 0;
  int64_t cut_off = 0;  ///< Calls that hosts made while they were cut off.
  int64_t power_lost = 0;

  int64_t sum() const { return error + full + bit_flip + slow + cut_off + power_lost; }
  friend bool operator==(const DiskFaultCounts&, const DiskFaultCounts&) = default;
};

}  // namespace shoal::testing
