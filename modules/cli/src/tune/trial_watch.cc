// SPDX-License-Identifier: Apache-2.0
#include "tune/trial_watch.h"

namespace shoal::cli::tune {

TrialWatch::TrialWatch(Storage& storage, std::string folder, std::string metric)
    : storage_(storage), folder_(std::move(folder)), metric_(std::move(metric)) {}

std::vector<Evaluation> TrialWatch::take() {
  std::vector<Evaluation> evaluations;
  missed_.reset();
  const auto note = [this](const Error& error) {
    if (error.kind() == ErrorKind::kUnavailable) missed_ = error;
  };
  if (!storage_.exists(folder_)) return evaluations;
  const auto paths = monitor::list_event_files(storage_, folder_);
  if (!paths) return note(paths.error()), evaluations;
  for (const std::string& path : *paths) {
    monitor::EventFileReader& file = files_.try_emplace(path, storage_, path).first->second;
    monitor::EventValue value;
    for (;;) {
      const Result<bool> read = file.next(value);
      if (!read) note(read.error());
      if (!read || !*read) break;
      if (value.kind != monitor::EventValue::Kind::kScalar || value.tag != metric_) continue;
      evaluations.push_back({.step = value.global_step, .value = value.scalar});
    }
  }
  return evaluations;
}

}  // namespace shoal::cli::tune
