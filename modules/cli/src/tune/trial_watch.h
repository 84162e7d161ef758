// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The evaluations of a trial, read from its event files while it runs.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "shoal/base/storage.h"
#include "shoal/monitor/event_reader.h"

namespace shoal::cli::tune {

struct Evaluation {
  int64_t step = 0;
  double value = 0;
};

class TrialWatch {
 public:
  /// Looks for values with the tag `metric` in the event files of `folder`. The folder may be made later.
  TrialWatch(Storage& storage, std::string folder, std::string metric);

  /// Returns the evaluations since the last call, in order. A file that is damaged or unreadable is ignored.
  std::vector<Evaluation> take();
  /// The error because of which the last take() may have missed evaluations, if a later call may read them (Unavailable, as
  /// for want of descriptors); nothing if there was none.
  const std::optional<Error>& missed() const { return missed_; }

 private:
  Storage& storage_;
  const std::string folder_, metric_;
  std::map<std::string, monitor::EventFileReader> files_;  // Keyed by path; paths ascend in the order of time.
  std::optional<Error> missed_{};
};

}  // namespace shoal::cli::tune
