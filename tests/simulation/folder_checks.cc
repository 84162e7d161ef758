// SPDX-License-Identifier: Apache-2.0
#include "folder_checks.h"

#include <algorithm>
#include <map>
#include <set>

#include "../estimator/own_ops.h"
#include "shoal/base/finite.h"
#include "shoal/checkpoint/end_mark.h"
#include "shoal/checkpoint/reader.h"
#include "shoal/checkpoint/run_file.h"
#include "shoal/estimator/export_names.h"
#include "shoal/estimator/exported_model.h"
#include "shoal/graph/meaning.h"
#include "shoal/json/fields.h"
#include "shoal/monitor/event_reader.h"

namespace shoal::simulation {

using testing::World;

std::vector<std::string> FolderChecks::after_the_chief() {
  const SoundDisk sound(world_.shared());
  violations_.clear();
  const auto listed = checkpoint::list(world_.shared(), kModelDir, checkpoint::Check::kChecksums);
  if (!listed) return {"the checkpoints cannot be listed after the chief has gone: " + listed.error().message()};
  check_list(*listed);
  if (notes_.saved.empty()) return violations_;
  const std::string& told = notes_.saved.back();
  // The checkpoint is damaged, and who falls back to an older one goes on from there.
  if (flipped(told.substr(told.rfind('/') + 1))) return violations_;
  const int64_t step = std::stoll(told.substr(told.rfind('-') + 1));
  if (listed->empty() || listed->back().global_step < step) {
    violated("the chief has gone, and with it checkpoint " + told + ", which was told to be saved");
  }
  return violations_;
}

std::vector<std::string> FolderChecks::at_the_end(const JobEnding& ending) {
  const SoundDisk sound(world_.shared());
  violations_.clear();
  const auto listed = checkpoint::list(world_.shared(), kModelDir, checkpoint::Check::kChecksums);
  if (!listed) return {"the checkpoints cannot be listed: " + listed.error().message()};
  check_list(*listed);
  check_kept(listed->size());
  check_mark(listed->empty() ? "" : listed->back().name);
  if (!listed->empty()) {
    check_last_step(listed->back().global_step, ending);
  } else if (!ending.interrupted) {
    violated("the job ended without a checkpoint");
  }
  if (plan_.job.exporters) {
    check_exports();
    check_that_exports_load();
  }
  return violations_;
}

/// An export that has its name is whole, whatever was killed or lost its power meanwhile (CONTRACT EST-13).
void FolderChecks::check_that_exports_load() {
  if (std::ranges::any_of(plan_.faults, [](const Fault& fault) { return fault.kind == FaultKind::kBitFlip; })) return;
  for (const std::string exporter : {"latest", "best", "final"}) {
    const std::string folder = kModelDir + "/export/" + exporter;
    if (!world_.shared().exists(folder)) continue;
    const auto exports = world_.shared().list(folder);
    if (!exports) return violated("the exports cannot be listed: " + exports.error().message());
    for (const FileInfo& entry : *exports) {
      if (entry.name.starts_with(".")) continue;  // A killed export left this folder.
      const auto model = try_load_exported_model(world_.shared(), folder + "/" + entry.name,
                                                 {.threads = 1, .backend = "reference"}, testing::own_ops());
      if (!model) violated("export " + entry.name + " of " + exporter + " is not whole: " + model.error().message());
    }
  }
}

void FolderChecks::check_list(const std::vector<checkpoint::ListedCheckpoint>& listed) {
  for (const auto& entry : listed) {
    if (entry.damage && !flipped(entry.name))
      violated("checkpoint " + entry.name + " is listed and damaged: " + entry.damage->message());
    if (!entry.damage) check_counts(entry.name);
    if (!entry.damage) check_values(entry.name);
  }
}

/// What a checkpoint holds is of one commit on all servers, each of which makes a step, and what it holds of each server is of
/// one moment: its weights are those after so many updates as it counted.
void FolderChecks::check_counts(const std::string& name) {
  const auto reader = checkpoint::Reader::open(world_.shared(), kModelDir + "/" + name);
  if (!reader) return violated("checkpoint " + name + " cannot be read: " + reader.error().message());
  const checkpoint::Manifest& manifest = (*reader)->manifest();
  const auto meaning = Meaning::decode(manifest.info.meaning);
  if (!meaning || !meaning->facts().contains("head")) violated("checkpoint " + name + " does not say what its head means");
  for (const auto& [counter, count] : manifest.info.counters) {
    if (!counter.starts_with("update_count/") || int64_t(count) == int64_t(manifest.global_step)) continue;
    violated("checkpoint " + name + " is of step " + std::to_string(manifest.global_step) + ", and has " +
             std::to_string(count) + " as " + counter);
  }
  if (!plan_.job.compression.empty()) return;  // What updates add is compressed, too.
  for (int i = 0; i < kCountVariables; ++i) {
    const auto value = (*reader)->read_tensor(count_variable(i));
    if (!value) return violated("checkpoint " + name + " lacks " + count_variable(i));
    if (value->as<float>()[0] != float(manifest.global_step)) {
      violated("checkpoint " + name + " counts " + std::to_string(manifest.global_step) + " updates, and " +
               count_variable(i) + " has had " + std::to_string(int64_t(value->as<float>()[0])));
    }
  }
}

/// CONTRACT CK-17.
void FolderChecks::check_values(const std::string& name) {
  const auto reader = checkpoint::Reader::open(world_.shared(), kModelDir + "/" + name);
  if (!reader) return violated("checkpoint " + name + " cannot be read: " + reader.error().message());
  for (const checkpoint::TensorEntry& tensor : (*reader)->manifest().tensors) {
    const auto value = (*reader)->read_tensor(tensor.name);
    if (!value) return violated("checkpoint " + name + " lacks " + tensor.name + ": " + value.error().message());
    if (tensor.dtype == DType::kFloat32 && !all_finite(value->as<float>()))
      return violated("checkpoint " + name + " has values of " + tensor.name + " that are not finite");
  }
}

/// As many checkpoints are listed as shall be kept, once there were so many (CONTRACT CK-11).
void FolderChecks::check_kept(size_t listed) {
  if (plan_.job.keep_max <= 0) return;
  const size_t most = size_t(plan_.job.keep_max);
  const size_t least = std::min(most, std::set(notes_.saved.begin(), notes_.saved.end()).size());
  if (listed < least || listed > most) {
    violated(std::to_string(listed) + " checkpoints are listed, of " + std::to_string(most) + " that are to be kept");
  }
}

void FolderChecks::check_mark(const std::string& newest) {
  const auto mark = checkpoint::read_end_mark(world_.shared(), kModelDir);
  if (!mark || !*mark) return violated("the job ended without an end mark");
  if ((*mark)->checkpoint != newest)
    violated("the end mark names " + (*mark)->checkpoint + ", the newest checkpoint is " + newest);
}

void FolderChecks::check_last_step(int64_t last, const JobEnding& ending) {
  const JobPlan& job = plan_.job;
  if (ending.step && uint64_t(last) != *ending.step) {
    violated("the servers applied updates up to step " + std::to_string(*ending.step) +
             ", the last checkpoint is of step " + std::to_string(last));
  }
  if (job.max_steps > 0) {
    const int64_t max_steps = job.max_steps + notes_.more_steps;
    const bool exact = job.local || job.updates != Updates::kAsync;
    const int64_t most = exact ? max_steps : max_steps + job.size.workers + ending.kills;
    if ((last < max_steps && !ending.interrupted && !ending.stopped) || last > most) {
      violated("max_steps is " + std::to_string(max_steps) + ", and the job ended at step " + std::to_string(last));
    }
  }
  if (ending.evaluated && notes_.last_evaluated != double(last)) {
    violated("the last checkpoint is of step " + std::to_string(last) + ", the last evaluation of step " +
             (notes_.last_evaluated ? std::to_string(int64_t(*notes_.last_evaluated)) : "none"));
  }
}

/// However clocks were turned, numbers tell in which order exports were made (CONTRACT RU-5): the step of a later one is none
/// before, and a later best one is at least as good (EX-6). A step that was made once more after damage, or after a loss of
/// power, may have another result by then; and two evaluators at once have an order each.
void FolderChecks::check_exports() {
  const auto spoils = [](const Fault& fault) {
    return fault.kind == FaultKind::kBitFlip || fault.kind == FaultKind::kPower || fault.kind == FaultKind::kPowerInSave ||
           (fault.kind == FaultKind::kStartTwice && fault.task.starts_with("evaluator"));
  };
  if (std::ranges::any_of(plan_.faults, spoils)) return;
  std::map<int64_t, double> losses;
  const auto read = monitor::read_events(world_.shared(), kModelDir + "/eval", [&losses](const monitor::EventValue& value) {
    if (value.tag == "loss") losses[value.global_step] = value.scalar;
    return true;
  });
  if (!read) return violated("the evaluations cannot be read: " + read.error().message());
  for (const std::string exporter : {"latest", "best"}) {
    const std::string folder = kModelDir + "/export/" + exporter;
    auto names = exports_in(world_.shared(), folder);
    if (!names && names.error().kind() != ErrorKind::kNotFound) violated(names.error().message());
    int64_t before = -1;
    for (const std::string& name : std::move(names).value_or({})) {
      const auto text = world_.shared().read_all(folder + "/" + name + "/export.json");
      const auto object = text ? json::parse_object(*text) : Result<json::Json>(text.error());
      const auto step = object ? json::whole_member<int64_t>(*object, "global_step", 0) : Result<int64_t>(object.error());
      if (!step) return violated("export " + name + " of " + exporter + ": " + step.error().message());
      const std::string what = "export " + name + " of " + exporter + " is of step " + std::to_string(*step) +
                               ", and the one before it of step " + std::to_string(before);
      if (*step < before) violated(what);
      if (exporter == "best" && before >= 0 && losses[*step] > losses[before]) violated(what + ", which was better");
      before = *step;
    }
  }
}

bool FolderChecks::all_damaged() {
  const SoundDisk sound(world_.shared());
  const auto listed = checkpoint::list(world_.shared(), kModelDir, checkpoint::Check::kChecksums);
  return listed && std::ranges::all_of(*listed, [this](const auto& entry) { return entry.damage && flipped(entry.name); });
}

bool FolderChecks::newest_damaged() {
  const SoundDisk sound(world_.shared());
  const auto listed = checkpoint::list(world_.shared(), kModelDir, checkpoint::Check::kChecksums);
  return listed && !listed->empty() && listed->back().damage && flipped(listed->back().name);
}

/// A checkpoint's files have its name while they are written, too.
bool FolderChecks::flipped(const std::string& name) const {
  return std::ranges::any_of(world_.shared().flipped(),
                             [&](const std::string& path) { return path.find("/" + name + ".") != std::string::npos; });
}

bool FolderChecks::names_a_damaged_one(const std::string& sentence) const {
  return std::ranges::any_of(world_.shared().flipped(), [&](const std::string& path) {
    const size_t begin = path.rfind('/') + 1;
    const std::string name = path.substr(begin, path.find('.', path.rfind("ckpt-")) - begin);
    return sentence.find("/" + name + ":") != std::string::npos;
  });
}

std::vector<std::string> FolderChecks::against_a_local_run(bool all_took_part) {
  const SoundDisk sound(world_.shared());
  violations_.clear();
  const JobPlan& job = plan_.job;
  const bool alone = aggregated(job) == 1 && job.size.workers == 0;
  const bool whole_steps = job.updates == Updates::kSync && all_took_part;
  if (job.local || (job.compression.empty() && (alone || whole_steps))) compare_weights();
  return violations_;
}

void FolderChecks::compare_weights() {
  JobPlan alone = plan_.job;
  alone.local = true;
  alone.replicas = plan_.job.local ? 1 : 1 + plan_.job.size.workers;
  alone.hook_throws_at.reset();
  // A chief rests when its input has ended, and its hooks see no more steps; those of a local run see all.
  const bool sees_all = plan_.job.local || batches_of(plan_.job, 0) == 0 || plan_.job.hook_trainer != 0;
  if (!sees_all && alone.hook_stops_at > batches_of(plan_.job, 0)) alone.hook_stops_at.reset();
  alone.early_stop_from.reset();
  RunConfigOptions config = config_of(alone, plan_.seed);
  const auto run = checkpoint::read_run(world_.shared(), kModelDir);
  if (!run || !*run) return violated("the job has left no run.json");
  config.random_seed = (*run)->seed;
  World world({.seed = 1});
  auto notes = std::make_shared<JobNotes>();
  notes->more_steps = notes_.more_steps;
  notes->cured = true;
  world.add_process("chief 0", make_program(alone, std::move(notes)), config);
  if (!world.run() || world.exit_status("chief 0") != 0)
    return violated("a local run without faults failed:\n" + world.report());
  const auto open = [](Storage& storage) -> Result<std::unique_ptr<checkpoint::Reader>> {
    SHOAL_TRY(const auto prefix, checkpoint::latest(storage, kModelDir));
    if (!prefix) return not_found("no checkpoint");
    return checkpoint::Reader::open(storage, *prefix);
  };
  const auto ours = open(world_.shared()), theirs = open(world.shared());
  if (!ours || !theirs) return violated("the last checkpoint cannot be compared with that of a local run");
  if ((*ours)->global_step() != (*theirs)->global_step()) {
    return violated("a local run without faults ends at step " + std::to_string((*theirs)->global_step()) +
                    ", this one ended at " + std::to_string((*ours)->global_step()));
  }
  for (const auto& tensor : (*theirs)->manifest().tensors) {
    const auto own = (*ours)->read_tensor(tensor.name), other = (*theirs)->read_tensor(tensor.name);
    const bool same = own && other && own->bytes() == other->bytes() &&
                      std::equal(own->view().data, own->view().data + own->bytes(), other->view().data);
    if (!same) return violated("variable " + tensor.name + " differs from that of a local run without faults");
  }
}

}  // namespace shoal::simulation
