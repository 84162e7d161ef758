// SPDX-License-Identifier: Apache-2.0
#include "train/measure_input.h"

#include <algorithm>

#include "evaluate/batches_with_rows.h"
#include "model/model.h"
#include "shoal/base/format.h"
#include "shoal/json/text.h"
#include "task/run_seed.h"

namespace shoal {
namespace {

using json::PrintedJson;

uint64_t bytes_of(const data::TensorMap& tensors) {
  uint64_t bytes = 0;
  for (const auto& [name, tensor] : tensors) {
    if (tensor.dtype() != DType::kString) {
      bytes += tensor.bytes();
      continue;
    }
    for (const std::string& text : tensor.strings()) bytes += text.size();
  }
  return bytes;
}

/// Measured times, and counts of batches, elements and bytes that were read after the first batch.
struct Measured {
  double first_batch_seconds = 0;
  double seconds = 0;
  uint64_t batches = 0, elements = 0, bytes = 0;
  bool has_ended = false;  ///< True if the input ended before the time for the measurement was over.
  data::InputStatistics stages;

  double each_second(uint64_t count) const { return seconds > 0 ? double(count) / seconds : 0; }
};

/// The costs of the stages since `before`.
data::InputStatistics since(const data::InputStatistics& before, data::InputStatistics now) {
  for (size_t i = 0; i < std::min(before.stages.size(), now.stages.size()); ++i) {
    now.stages[i].elements -= std::min(now.stages[i].elements, before.stages[i].elements);
    now.stages[i].seconds = std::max(0.0, now.stages[i].seconds - before.stages[i].seconds);
  }
  return now;
}

Result<Measured> read_batches(Environment& env, data::Iterator& input, double seconds) {
  Measured measured;
  data::Batch batch;
  const SteadyTime opened = env.now();
  SHOAL_TRY(const bool any, input.next(batch));
  if (!any) return invalid_argument("--measure-input: the input that is trained on has no batch");
  const SteadyTime begin = env.now();
  measured.first_batch_seconds = to_seconds(begin - opened);
  const data::InputStatistics before = input.statistics();
  while (measured.seconds < seconds) {
    SHOAL_TRY(const bool more, input.next(batch));
    if (!more) {
      measured.has_ended = true;
      break;
    }
    ++measured.batches;
    SHOAL_TRY(const int64_t rows, batch_size(batch));
    measured.elements += uint64_t(rows);
    measured.bytes += bytes_of(batch.features) + bytes_of(batch.labels);
    measured.seconds = to_seconds(env.now() - begin);
  }
  measured.stages = since(before, input.statistics());
  return measured;
}

std::string text_of(const Measured& measured, const data::SlowestStage& slowest) {
  std::string text = formatted("first batch after %.3f s\n", measured.first_batch_seconds);
  text +=
      formatted("%llu batches in %.3f s: %.1f batches/s, %.1f elements/s, %.3f MB/s\n",
                static_cast<unsigned long long>(measured.batches), measured.seconds, measured.each_second(measured.batches),
                measured.each_second(measured.elements), measured.each_second(measured.bytes) / 1e6);
  if (measured.has_ended) text += "the input ended before the time was over\n";
  if (!slowest.name.empty()) {
    text += "slowest stage: " + slowest.name + formatted(", %.0f %% of the time of all stages; ", slowest.share * 100) +
            slowest.advice + "\n";
  }
  if (measured.stages.stages.empty()) return text;
  text += formatted("%-24s %14s %12s %8s\n", "stage", "elements", "seconds", "threads");
  for (const data::StageStatistics& stage : measured.stages.stages) {
    text += formatted("%-24s %14llu %12.3f %8d\n", stage.name.c_str(), static_cast<unsigned long long>(stage.elements),
                      stage.seconds, stage.threads);
  }
  return text;
}

PrintedJson json_of(const Measured& measured, const data::SlowestStage& slowest) {
  PrintedJson stages = PrintedJson::array();
  for (const data::StageStatistics& stage : measured.stages.stages) {
    stages.push_back(PrintedJson{{"name", stage.name},
                                 {"elements", stage.elements},
                                 {"seconds", stage.seconds},
                                 {"threads", stage.threads},
                                 {"source", stage.is_source},
                                 {"beside", stage.is_beside}});
  }
  PrintedJson json{{"first_batch_seconds", measured.first_batch_seconds},
                   {"seconds", measured.seconds},
                   {"batches", measured.batches},
                   {"elements", measured.elements},
                   {"bytes", measured.bytes},
                   {"batches_per_second", measured.each_second(measured.batches)},
                   {"elements_per_second", measured.each_second(measured.elements)},
                   {"bytes_per_second", measured.each_second(measured.bytes)},
                   {"ended", measured.has_ended},
                   {"slowest_stage", nullptr},
                   {"stages", std::move(stages)}};
  if (!slowest.name.empty()) {
    json["slowest_stage"] = PrintedJson{{"name", slowest.name}, {"share", slowest.share}, {"advice", slowest.advice}};
  }
  return json;
}

}  // namespace

Result<void> measure_input(const Estimator& estimator, const InputFn& input_fn, MeasureInput& request) {
  const RunConfig& config = estimator.config();
  if (config.task().mode != cluster::TaskMode::kLocal) {
    return failed_precondition(
        "--measure-input: this process is a task of a cluster, and one process reads its input; start it alone (--source "
        "local)");
  }
  if (!input_fn) return type_mismatch("--measure-input: there is no input to train on");
  const std::shared_ptr<Environment> env = make_call_environment(config);
  const InputContext context{Mode::kTrain, estimator.params(), config};
  SHOAL_TRY(const data::Dataset dataset, call_user("input_fn", [&] { return input_fn(context); }));
  const auto cores = env->process().usable_cores;
  const std::string& folder = estimator.model_dir();
  SHOAL_TRY(const auto input,
            iterate_batches_with_rows(*env, dataset,
                                      {.seed = config.random_seed(),
                                       .run_seed = folder.empty() ? std::nullopt : seed_of_run(*env, config, folder),
                                       .stop = env->interrupted(),
                                       .batch_bytes_max = config.memory_limit(),
                                       .measure = true}));
  SHOAL_TRY(const Measured measured, read_batches(*env, *input, request.seconds));
  const data::SlowestStage slowest = data::slowest_stage(measured.stages, cores);
  const std::string text = request.json ? json::text_of(json_of(measured, slowest)) + "\n" : text_of(measured, slowest);
  if (std::fputs(text.c_str(), request.out) < 0 || std::fflush(request.out) != 0)
    return unavailable("--measure-input: standard output takes no more; is its disk full, or its reader gone?");
  request.done = true;
  return {};
}

}  // namespace shoal
