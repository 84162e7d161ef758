// SPDX-License-Identifier: Apache-2.0
#include "shoal/data/input_statistics.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <string_view>

namespace shoal::data {
namespace {

/// The stages, besides map and generator, whose work is that of a function of the user.
constexpr std::string_view kOfFunctions[] = {"filter", "scan", "take_while", "bucket_by_length"};
constexpr std::string_view kOfFiles[] = {"text_lines",           "csv",         "json_lines", "tf_records",
                                         "fixed_length_records", "tar_samples", "npy_rows"};

bool is_one_of(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

/// Says how to make the work of a stage less, without cache().
std::string less_work_for(const std::string& name) {
  if (name == "map" || name == "generator" || is_one_of(kOfFunctions, name))
    return "make the function of " + name + " cheaper";
  return "give " + name + " less to do: smaller elements, such as uint8 in place of float32, or fewer of them";
}

std::string advice_for(const StageStatistics& stage, int cores) {
  const std::string& name = stage.name;
  if (name == "map" && stage.threads < cores) {
    return "give map " + std::string(stage.threads > 1 ? "more " : "") +
           "threads: {.parallel = -1}, or {.parallel = " + std::to_string(cores) + "}";
  }
  if (name == "interleave") return "read more files at once: a larger `cycle`, and {.parallel = true}";
  if (name == "cache") return "put its file on a faster disk, or give cache() {.compress = false}";
  if (stage.is_source && name != "generator" && !is_one_of(kOfFiles, name)) {
    return "look at how many elements a batch takes: " + name + " only hands out what is in memory";
  }
  if (stage.is_source && name != "generator")
    return "read several files at once, by interleave(..., {.parallel = true}), or put cache() behind " + name;
  if (stage.is_moved) return less_work_for(name);
  if (name == "map" || name == "generator")
    return less_work_for(name) + ", or put cache() behind it if it gives the same in each pass";
  return "put cache() behind " + name + " if it gives the same in each pass";
}

}  // namespace

SlowestStage slowest_stage(const InputStatistics& statistics, int cores) {
  double sum = 0;
  const StageStatistics* slowest = nullptr;
  const auto load = [](const StageStatistics& stage) { return stage.seconds / std::max(stage.threads, 1); };
  for (const StageStatistics& stage : statistics.stages) {
    sum += load(stage);
    if (!slowest || load(stage) > load(*slowest)) slowest = &stage;
  }
  if (!slowest || sum <= 0) return {};
  SlowestStage found{.name = slowest->name, .share = load(*slowest) / sum, .advice = advice_for(*slowest, cores)};
  const bool works_beside =
      std::ranges::any_of(statistics.stages, [](const StageStatistics& stage) { return stage.is_beside; });
  if (!works_beside && cores > 1) {
    found.advice = "put prefetch() at the end of the pipeline, so that it works beside the training; then " + found.advice;
  }
  return found;
}

}  // namespace shoal::data
