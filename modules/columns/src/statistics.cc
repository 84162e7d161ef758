// SPDX-License-Identifier: Apache-2.0
#include "shoal/columns/statistics.h"

#include <algorithm>
#include <cmath>

#include "shoal/base/forever.h"
#include "shoal/base/format.h"
#include "shoal/base/names_text.h"
#include "shoal/base/production.h"
#include "shoal/base/utf8.h"
#include "shoal/graph/ops.h"
#include "statistics_parts.h"

namespace shoal::columns {
namespace {

/// Adds a number to a running mean and sum of squared deviations.
void add_number(NumberStatistics& to, double& deviations, double x) {
  if (std::isnan(x)) {
    ++to.missing;
    return;
  }
  to.min = to.count == 0 ? x : std::min(to.min, x);
  to.max = to.count == 0 ? x : std::max(to.max, x);
  ++to.count;
  const double before = x - to.mean;
  to.mean += before / double(to.count);
  deviations += before * (x - to.mean);
}

struct NumbersSoFar {
  NumberStatistics statistics;
  double deviations = 0;
};

template <class T>
void add_elements(const Tensor& tensor, NumbersSoFar& to) {
  for (T element : tensor.as<T>()) add_number(to.statistics, to.deviations, double(element));
}

Result<void> add_texts(const Tensor& tensor, const std::string& name, const StatisticsOptions& options,
                       TextStatistics& to) {
  for (const std::string& text : tensor.strings()) {
    const bool is_missing = std::find(options.missing.begin(), options.missing.end(), text) != options.missing.end();
    ++(is_missing ? to.missing : to.count);
    if (!is_missing) ++to.counts[text];
    if (int64_t(to.counts.size()) <= options.distinct_max) continue;
    return invalid_argument("\"" + name + "\" has more than " + std::to_string(options.distinct_max) +
                            " distinct texts; hash it, or raise distinct_max");
  }
  return {};
}

/// Checks that names are UTF-8, since a run may keep statistics as JSON (RunConfig::learned()).
Result<void> check_names(const data::TensorMap& tensors) {
  for (const auto& [name, tensor] : tensors) {
    SHOAL_TRY_VOID(check_utf8(name, "statistics: the name of a feature or label", kConvertToUtf8));
  }
  return {};
}

/// The statistics of features, or of labels, gathered so far.
struct Gathered {
  std::map<std::string, NumbersSoFar> numbers;
  std::map<std::string, TextStatistics> texts;
  std::map<std::string, bool> unused = {};  ///< Names of the features not to measure, and whether each has occurred.

  Result<void> add(const data::TensorMap& tensors, const StatisticsOptions& options) {
    if (numbers.empty() && texts.empty()) SHOAL_TRY_VOID(check_names(tensors));
    for (const auto& [name, tensor] : tensors) {
      if (const auto passed = unused.find(name); passed != unused.end()) {
        passed->second = true;
        continue;
      }
      switch (tensor.dtype()) {
        case DType::kString: SHOAL_TRY_VOID(add_texts(tensor, name, options, texts[name])); break;
        case DType::kFloat32: add_elements<float>(tensor, numbers[name]); break;
        case DType::kInt64: add_elements<int64_t>(tensor, numbers[name]); break;
        case DType::kInt32: add_elements<int32_t>(tensor, numbers[name]); break;
        case DType::kUInt8: add_elements<uint8_t>(tensor, numbers[name]); break;
        default: break;  // Booleans: no statistics, since they need no normalization.
      }
    }
    return {};
  }
};

std::string names_in(const auto& of) {
  if (of.empty()) return "none";
  return comma_separated(of, [](const auto& entry) { return entry.first.empty() ? "\"\"" : entry.first; });
}

const auto& found(const auto& of, const std::string& name, const char* what) {
  const auto at = of.find(name);
  if (at == of.end())
    raise(not_found(std::string("statistics: no ") + what + " \"" + name + "\"; there are: " + names_in(of)));
  return at->second;
}

/// Raises InvalidArgument unless both numbers are finite. `what` names them, as "rescaler: the limits".
void require_finite(const char* what, double one, double other) {
  if (std::isfinite(one) && std::isfinite(other)) return;
  // printf() would write a minus sign before some NaNs.
  const auto text = [](double x) { return std::isnan(x) ? "nan" : formatted("%.9g", x); };
  raise(invalid_argument(std::string(what) + " have to be finite numbers, and they are " + text(one) + " and " +
                         text(other) +
                         "; if they were measured, the data have an infinite number (inf, 1e999): leave such rows out by "
                         "filter(), or replace it by map()"));
}

/// Returns (x - shift) / width, or x - shift if the width is 0.
std::function<Value(Value)> shifted_and_scaled(double shift, double width) {
  return [shift, scale = width > 0 ? 1 / width : 1.0](Value x) { return ops::scale(x - shift, scale); };
}

}  // namespace

std::function<Value(Value)> standardizer(double mean, double stddev) {
  require_finite("standardizer: mean and standard deviation", mean, stddev);
  return shifted_and_scaled(mean, stddev);
}

std::function<Value(Value)> rescaler(double low, double high) {
  require_finite("rescaler: the limits, least and largest number,", low, high);
  if (!std::isfinite(high - low)) {
    raise(
        invalid_argument(formatted("rescaler: the limits %.9g and %.9g are too far apart for a double to hold their "
                                   "distance; give nearer ones",
                                   low, high)));
  }
  return shifted_and_scaled(low, high - low);
}

std::function<Value(Value)> log1p_normalizer() {
  return [](Value x) { return ops::log(x + 1.0); };
}

std::vector<std::string> TextStatistics::vocabulary(int64_t count_min, int64_t size_max) const {
  std::vector<std::pair<int64_t, std::string>> by_count;
  for (const auto& [text, times] : counts) {
    if (times >= count_min) by_count.emplace_back(-times, text);
  }
  std::ranges::sort(by_count);
  std::vector<std::string> texts;
  for (auto& [times, text] : by_count) {
    if (int64_t(texts.size()) < size_max) texts.push_back(std::move(text));
  }
  return texts;
}

const Statistics::Part& Statistics::features() const {
  static const Part& none = forever(Part());
  return parts_ ? parts_->features : none;
}
const Statistics::Part& Statistics::labels() const {
  static const Part& none = forever(Part());
  return parts_ ? parts_->labels : none;
}

const NumberStatistics& Statistics::number(const std::string& feature) const {
  if (features().texts.contains(feature)) {
    raise(type_mismatch("statistics: feature \"" + feature +
                        "\" is text: some field of it is neither a number nor missing; " +
                        "csv_columns(..., {.numbers = {\"" + feature + "\"}}) names the line"));
  }
  return found(features().numbers, feature, "feature of numbers");
}
const TextStatistics& Statistics::text(const std::string& feature) const {
  return found(features().texts, feature, "feature of text");
}
const NumberStatistics& Statistics::label_number(const std::string& label) const {
  return found(labels().numbers, label, "label of numbers");
}
const TextStatistics& Statistics::label_text(const std::string& label) const {
  return found(labels().texts, label, "label of text");
}

Result<Statistics> measure(const data::Dataset& dataset, const StatisticsOptions& options) {
  if (dataset.repeats_for_ever()) {
    return invalid_argument("statistics: the dataset does not end; leave repeat() out");
  }
  const std::shared_ptr<Environment> env = options.env ? options.env : make_production_environment({});
  SHOAL_TRY(const auto iterator, dataset.iterate(*env, {.stop = env->interrupted()}));
  Gathered features, labels;
  for (const std::string& name : options.unused) features.unused.emplace(name, false);
  for (data::Element element;;) {
    SHOAL_TRY(const bool more, iterator->next(element));
    if (!more) break;
    SHOAL_TRY_VOID(features.add(element.features, options));
    SHOAL_TRY_VOID(labels.add(element.labels, options));
  }
  for (const auto& [name, there] : features.unused) {
    if (there) continue;
    return invalid_argument("statistics: there is no feature \"" + name + "\" that could be unused; there are: " +
                            names_in(features.numbers) + " of numbers, " + names_in(features.texts) + " of text");
  }
  auto parts = std::make_shared<Statistics::Parts>();
  const auto finish = [](Gathered& gathered, Statistics::Part& part) {
    part.texts = std::move(gathered.texts);
    for (auto& [name, numbers] : gathered.numbers) {
      const int64_t count = numbers.statistics.count;
      numbers.statistics.stddev = count == 0 ? 0 : std::sqrt(numbers.deviations / double(count));
      part.numbers.emplace(name, numbers.statistics);
    }
  };
  finish(features, parts->features);
  finish(labels, parts->labels);
  Statistics statistics;
  statistics.parts_ = std::move(parts);
  return statistics;
}

Statistics statistics_of(const data::Dataset& dataset, const StatisticsOptions& options) {
  return value_or_raise(measure(dataset, options));
}

std::function<Value(Value)> NumberStatistics::standardizer() const { return columns::standardizer(mean, stddev); }
std::function<Value(Value)> NumberStatistics::rescaler() const { return columns::rescaler(min, max); }

}  // namespace shoal::columns
