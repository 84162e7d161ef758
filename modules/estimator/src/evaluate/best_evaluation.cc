#include "evaluate/best_evaluation.h"

#include <cmath>
#include <map>

#include "shoal/monitor/event_reader.h"

namespace shoal {
namespace {

constexpr const char* kLoss = "loss";
constexpr const char* kGlobalStep = "global_step";

double loss_of(const Metrics& metrics) {
  const auto loss = metrics.find(kLoss);
  return loss == metrics.end() ? std::nan("") : loss->second;
}

}  // namespace

Metrics best_evaluation(Environment& env, const std::string& folder, const Metrics& last) {
  std::map<int64_t, Metrics> evaluations;
  const auto take = [&evaluations](const monitor::EventValue& value) {
    if (value.kind == monitor::EventValue::Kind::kScalar) evaluations[value.global_step][value.tag] = value.scalar;
    return true;
  };
  static_cast<void>(monitor::read_events(env.storage(), folder, take).has_value());
  if (last.contains(kGlobalStep)) evaluations[int64_t(last.at(kGlobalStep))] = last;
  Metrics best;
  for (auto& [step, metrics] : evaluations) {
    // A comparison with NaN is false, so the first number is taken in the place of nothing.
    if (std::isnan(loss_of(metrics)) || loss_of(best) <= loss_of(metrics)) continue;
    best = metrics;
    best.set_count(kGlobalStep, double(step));
  }
  return best;
}

}  // namespace shoal
