// SPDX-License-Identifier: Apache-2.0
#include "evaluate/best_evaluation.h"

#include <cmath>
#include <map>

#include "shoal/monitor/event_reader.h"

namespace shoal {
namespace {

constexpr const char* kLoss = "loss";
constexpr const char* kGlobalStep = "global_step";

using ByStep = std::map<int64_t, Metrics>;

class PastReader {
 public:
  void take(const monitor::EventValue& value) {
    using Kind = monitor::EventValue::Kind;
    if (value.kind == Kind::kScalar) numbers_[value.global_step][value.tag] = value.scalar;
    if (value.kind != Kind::kText || value.tag != "checkpoint_path") return;
    const auto found = numbers_.extract(value.global_step);
    if (!found.empty()) evaluations_[value.global_step] = found.mapped();
  }
  ByStep finish(std::optional<int64_t> without) && {
    if (without) {
      numbers_.erase(*without);
      evaluations_.erase(*without);
    }
    ByStep results = std::move(evaluations_.empty() ? numbers_ : evaluations_);
    for (auto& [step, metrics] : results) metrics.set_count("global_step", double(step));
    return results;
  }

 private:
  ByStep numbers_;      // By step: the metrics read so far of an evaluation whose last record is still to come.
  ByStep evaluations_;  // For each step, the last complete evaluation in the order of the files.
};

double loss_of(const Metrics& metrics) {
  const auto loss = metrics.find(kLoss);
  return loss == metrics.end() ? std::nan("") : loss->second;
}

}  // namespace

Result<PastEvaluations> read_evaluations(Storage& storage, const std::string& folder, std::optional<int64_t> without) {
  PastReader reading;
  const auto take = [&reading](const monitor::EventValue& value) {
    reading.take(value);
    return true;
  };
  PastEvaluations past;
  SHOAL_TRY(past.damage, monitor::read_events(storage, folder, take));
  past.by_step = std::move(reading).finish(without);
  return past;
}

Metrics best_evaluation(Storage& storage, const std::string& folder, const Metrics& last) {
  std::map<int64_t, Metrics> evaluations;
  if (auto past = read_evaluations(storage, folder)) evaluations = std::move(past->by_step);
  if (last.contains(kGlobalStep)) evaluations[int64_t(last.at(kGlobalStep))] = last;
  Metrics best;
  for (auto& [step, metrics] : evaluations) {
    // A comparison with NaN is false, so the first number replaces an empty `best`.
    if (std::isnan(loss_of(metrics)) || loss_of(best) <= loss_of(metrics)) continue;
    best = metrics;
    best.set_count(kGlobalStep, double(step));
  }
  return best;
}

}  // namespace shoal
