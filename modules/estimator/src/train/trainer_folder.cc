// SPDX-License-Identifier: Apache-2.0
#include "train/trainer_folder.h"

#include <limits>

#include "shoal/base/durable_folder.h"
#include "shoal/checkpoint/directory.h"
#include "shoal/checkpoint/manifest.h"
#include "shoal/checkpoint/run_count.h"
#include "task/folder_lock.h"
#include "task/report_name.h"
#include "task/task_network.h"
#include "task/temporary_files.h"

namespace shoal {
namespace {

/// Returns the error that model_dir cannot be used. If the storage says that the cause may pass (Unavailable, as for an
/// input/output error of a file server), the error is Unavailable, too, and the chief of a running job keeps trying.
/// Otherwise it is FailedPrecondition, which no restart repairs.
Error unusable(const std::string& folder, std::string_view what, const Error& why) {
  const ErrorKind kind = why.kind() == ErrorKind::kUnavailable ? why.kind() : ErrorKind::kFailedPrecondition;
  return Error(kind, "model_dir " + folder + " cannot be " + std::string(what) + ": " + why.message())
      .with_system_error(why.system_error());
}

/// Reads the newest checkpoint's name from the list, without opening it; empty if there is none or the list is unreadable.
std::string listed_newest(Storage& storage, const std::string& folder) {
  const Result<std::optional<checkpoint::PointerFile>> list = checkpoint::read_pointer(storage, folder);
  return list && *list ? (*list)->newest : std::string();
}

/// The global step that is `steps` after `step`. A sum beyond 64 bits is INT64_MAX, a step that no training reaches.
int64_t steps_from(uint64_t step, int64_t steps) {
  int64_t sum = 0;
  return __builtin_add_overflow(step, steps, &sum) ? std::numeric_limits<int64_t>::max() : sum;
}

bool listed_as_finished(Storage& storage, const std::string& folder, const std::optional<int64_t>& max_steps) {
  return max_steps && checkpoint::step_of(listed_newest(storage, folder)) >= *max_steps;
}

}  // namespace

TrainerFolder::TrainerFolder(TrainScope& scope)
    : scope_(scope),
      end_of_job_(scope.env, scope.request.estimator.config(), scope.request.estimator.model_dir(), scope.request.max_steps,
                  EndOfJob::NewMarks::kObeyed) {}

Result<bool> TrainerFolder::look() {
  max_steps_ = scope_.request.max_steps;
  if (!scope_.leads()) {
    // An end mark (the file by which a run says that training has ended) that exists now belongs to an earlier run. The
    // first look() remembers it, so that this task does not obey it later.
    static_cast<void>(end_of_job_.look());
    guess_run();
    return false;
  }
  Storage& storage = scope_.env.storage();
  const std::string& folder = scope_.model_dir();
  SHOAL_TRY_VOID(make_and_lock());
  // A local start gets its number before it reads checkpoints: from then on check_run() lets an older start that is still
  // alive, as on a file system without locks, publish no more of them. A chief removes an old end mark, and writes nothing
  // before the servers have let it lead (begin()). If the list of checkpoints says that nothing is left to train, no run begins, and the end mark stays.
  const bool asks_servers = scope_.distributed();
  if (!asks_servers && !run_has_ended() && !listed_as_finished(storage, folder, max_steps_)) SHOAL_TRY_VOID(begin_run());
  if (!asks_servers) remove_what_was_left();
  SHOAL_TRY_VOID(reopen_checkpoint());
  if (scope_.request.steps) max_steps_ = steps_from(checkpoint_step(), *scope_.request.steps);
  const bool trains = !run_has_ended() && !is_finished();
  SHOAL_TRY_VOID(choose_run(trains));
  if (source_) {
    scope_.env.log().info("restored from checkpoint " + source_->prefix() + " at global step " +
                          std::to_string(checkpoint_step()));
  }
  if (trains) {
    if (!asks_servers) {
      SHOAL_TRY_VOID(begin());
    } else if (mark_at_start_) {
      SHOAL_TRY_VOID(checkpoint::remove_end_mark(storage, folder));
    }
    return false;
  }
  if (asks_servers) remove_what_was_left();
  SHOAL_TRY_VOID(write_run());
  if (!run_begun_) {
    SHOAL_TRY(run_, checkpoint::newest_run(storage, folder, warnings()));
  }
  // If a chief of the same launch (SHOAL_RUN) ended the run before max_steps, this process gets no folder for a report, so
  // the chief's report stays as it is.
  if (!run_has_ended()) tell_host(false);
  return true;
}

void TrainerFolder::put_mark_back() {
  if (!mark_at_start_ || is_ours_) return;
  if (auto written = checkpoint::write_end_mark(scope_.env.storage(), scope_.model_dir(), *mark_at_start_); !written) {
    warnings()("the end mark of " + scope_.model_dir() + " could not be put back: " + written.error().message());
  }
}

Result<void> TrainerFolder::begin() {
  if (std::exchange(is_ours_, true)) return {};
  SHOAL_TRY_VOID(begin_run());
  if (scope_.distributed()) remove_what_was_left();
  SHOAL_TRY_VOID(write_run());
  tell_host(true);
  return {};
}

/// Calls TaskHost::leads, a callback by which the task's process learns the folder into which it has to write the report of
/// the run. Does not call it if the user has set RunConfigOptions::environment. If this start trains, first removes the
/// report of an earlier start, so that a process that is killed leaves no report.
void TrainerFolder::tell_host(bool trains) {
  const RunConfig& config = scope_.config();
  const std::string report = join_path(scope_.model_dir(), kReportName);
  if (trains && scope_.env.storage().exists(report)) static_cast<void>(scope_.env.storage().remove(report));
  if (!config.host() || !config.host()->leads || config.own_environment()) return;
  config.host()->leads({.model_dir = scope_.model_dir(),
                        .run = run_file_.id,
                        .start = run_,
                        .seed = run_file_.seed,
                        .trains = trains,
                        .storage = config.storage()});
}

Result<void> TrainerFolder::make_and_lock() {
  const std::string& folder = scope_.model_dir();
  if (auto mark = checkpoint::read_end_mark(scope_.env.storage(), folder)) mark_at_start_ = *mark;
  Result<void> made = make_durable_folder(scope_.env.storage(), folder);
  if (!made) return unusable(folder, "created or written", made.error());
  SHOAL_TRY(lock_, lock_model_dir(scope_.env, folder));
  return {};
}

/// Removes files that killed processes left. If the file system has no locks, young files stay, because another process may
/// still be writing them.
void TrainerFolder::remove_what_was_left() {
  Storage& storage = scope_.env.storage();
  if (lock_) checkpoint::remove_unfinished(storage, scope_.model_dir());
  remove_temporary_files(scope_.env, scope_.model_dir(),
                         {"training_finished.tmp-", "training_run.tmp-", "graph.json.tmp-", "run.json.tmp-",
                          "profile.json.tmp-", "report.json.tmp-"},
                         lock_ ? Duration::zero() : Duration(kAbandonedAfter));
  const std::string learned = join_path(scope_.model_dir(), "learned");
  const auto files = storage.list(learned);
  if (!lock_ || !files) return;
  // No process is writing these files now: only RunConfig::learned() writes to this folder, and only while it has the lock
  // of model_dir, which this task has locked.
  for (const FileInfo& file : *files) {
    if (file.name.find(".json.tmp-") != std::string::npos) static_cast<void>(storage.remove(join_path(learned, file.name)));
  }
}

/// Continues the run of the folder, or chooses the id and the seed of a new one: reads run.json, and writes nothing. If this
/// start does not train, the run keeps its seed.
Result<void> TrainerFolder::choose_run(bool trains) {
  Storage& storage = scope_.env.storage();
  const std::string& folder = scope_.model_dir();
  const bool given = trains && scope_.config().random_seed().has_value();
  Result<std::optional<checkpoint::RunFile>> found = checkpoint::read_run(storage, folder);
  if (!found && found.error().kind() != ErrorKind::kDataLoss) return unusable(folder, "read", found.error());
  if (!found) scope_.env.log().warning("the run is taken from its checkpoints: " + found.error().message());
  const bool known = found && *found;
  run_file_ = known ? **found : adopt_or_begin_run();
  const int64_t seed_before = run_file_.seed;
  if (given) {
    run_file_.seed = scope_.config().random_seed().value();
    run_file_.seed_given = true;
  }
  const std::string seed = "random seed " + std::to_string(run_file_.seed);
  if (known && run_file_.seed != seed_before) {
    scope_.env.log().info(seed + ", which this start was given; the run had " + std::to_string(seed_before) + " until now");
  } else if (!given && trains) {
    scope_.env.log().info(seed + (known ? ", as the run had it before" : ", drawn for this run; --seed gives another"));
  }
  const std::string& program = scope_.env.process().program;
  if (known && run_file_.program != program) {
    scope_.env.log().warning("the run in " + folder + " was begun by the program " + run_file_.program + ", and this is " +
                             program + "; if it is another model, choose another model_dir");
  }
  scope_.run = {.id = run_file_.id, .seed = run_file_.seed};
  if (known) written_run_ = **found;
  return {};
}

/// Writes run.json, unless the file is the same already.
Result<void> TrainerFolder::write_run() {
  if (written_run_ == run_file_) return {};
  Result<void> written = checkpoint::write_run(scope_.env.storage(), scope_.model_dir(), run_file_);
  if (!written) return unusable(scope_.model_dir(), "written", written.error());
  written_run_ = run_file_;
  return {};
}

/// Returns the contents for a run.json that is missing (as in a folder of an older version) or damaged: the copy in the
/// checkpoint or, if there is no copy, the contents for a new run.
checkpoint::RunFile TrainerFolder::adopt_or_begin_run() {
  const std::string repeated = source_ ? source_->saved().run : std::string();
  if (Result<checkpoint::RunFile> run = checkpoint::decode_run(repeated)) {
    scope_.env.log().info("run.json is made anew as checkpoint " + source_->prefix() + " repeats it");
    run->meaning = source_->saved().meaning;
    return std::move(run).value();
  }
  return checkpoint::draw_run(scope_.env);
}

std::string TrainerFolder::run_text() const {
  checkpoint::RunFile run = run_file_;
  // Leaves out what the model's ids and logits stand for: a checkpoint stores this in another field, SaveInfo::meaning.
  run.meaning.clear();
  return checkpoint::encode_run(run);
}

Result<void> TrainerFolder::keep_meaning(std::string meaning) {
  if (run_file_.meaning == meaning) return {};
  run_file_.meaning = std::move(meaning);
  return write_run();
}

Result<std::string> TrainerFolder::seen_run() {
  const auto found = checkpoint::read_run(scope_.env.storage(), scope_.model_dir());
  return found && *found ? (*found)->id : std::string();
}

/// For a worker: reads the run's id and seed from run.json. If the worker cannot read model_dir, or the chief has not
/// written the file yet, draws a seed. A seed in the config takes precedence.
void TrainerFolder::guess_run() {
  const auto found = checkpoint::read_run(scope_.env.storage(), scope_.model_dir());
  const bool known = found && *found;
  if (known) scope_.run.id = (*found)->id;
  scope_.run.seed = scope_.config().random_seed().value_or(known ? (*found)->seed : checkpoint::draw_run(scope_.env).seed);
}

bool TrainerFolder::run_has_ended() const {
  const std::string& own = host_of(scope_.config()).shoal_run;
  return scope_.distributed() && mark_at_start_ && mark_at_start_->reason != checkpoint::EndReason::kMaxSteps &&
         !own.empty() && mark_at_start_->shoal_run == own;
}

/// True if the newest checkpoint is at max_steps, and the folder's list of checkpoints names it as the newest. If the list
/// does not (it was lost, or it names a newer checkpoint that is damaged), other processes would not find the checkpoint,
/// so the training has to save it once more.
bool TrainerFolder::is_finished() const {
  return max_steps_ && checkpoint_step() >= uint64_t(*max_steps_) &&
         (!source_ || checkpoint_name() == listed_newest(scope_.env.storage(), scope_.model_dir()));
}

bool TrainerFolder::lists_checkpoints() const {
  return has_checkpoint() || !listed_newest(scope_.env.storage(), scope_.model_dir()).empty();
}

Result<void> TrainerFolder::begin_run() {
  if (std::exchange(run_begun_, true)) return {};
  Result<int64_t> run = checkpoint::begin_run(scope_.env.storage(), scope_.model_dir(), warnings());
  if (!run) return unusable(scope_.model_dir(), "written", run.error());
  run_ = *run;
  return {};
}

checkpoint::WarningSink TrainerFolder::warnings() {
  return [this](const std::string& sentence) { scope_.env.log().warning(sentence); };
}

Result<void> TrainerFolder::reopen_checkpoint() {
  auto latest = checkpoint::latest_intact(scope_.env.storage(), scope_.model_dir(), warnings());
  SHOAL_TRY(std::unique_ptr<checkpoint::Reader> reader, newer_in_spare_dir(latest ? latest->get() : nullptr));
  if (!reader && !latest) return std::move(latest).error();
  if (!reader) reader = std::move(latest).value();
  source_ = reader ? std::make_unique<CheckpointSource>(std::move(reader)) : nullptr;
  checkpoint_is_fresh_ = true;
  return {};
}

/// The spare folder of the run with this id. Null if there is none, since `run` is empty or RunConfig::spare_dir() is not set.
SpareFolder* TrainerFolder::spare_for(const std::string& run) {
  const std::optional<std::string>& folder = scope_.config().spare_dir();
  if (!spare_ && folder && !run.empty()) {
    spare_ = std::make_unique<SpareFolder>(
        scope_.env, SpareFolderOptions{.spare_dir = *folder, .run = run, .model_dir = scope_.model_dir()});
  }
  return spare_.get();
}

/// Opens the checkpoint in the spare folder if training goes on from there and not from `newest`, the newest checkpoint in
/// model_dir (null: none can be read). Otherwise returns null.
Result<std::unique_ptr<checkpoint::Reader>> TrainerFolder::newer_in_spare_dir(const checkpoint::Reader* newest) {
  const auto run = checkpoint::read_run(scope_.env.storage(), scope_.model_dir());
  SpareFolder* const spare = spare_for(run && *run ? (*run)->id : std::string());
  return spare ? spare->newer_than(newest) : std::unique_ptr<checkpoint::Reader>();
}

CheckpointSource* TrainerFolder::use_checkpoint() {
  checkpoint_is_fresh_ = false;
  return source_.get();
}

std::string TrainerFolder::checkpoint_name() const {
  return source_ ? source_->prefix().substr(source_->prefix().rfind('/') + 1) : std::string();
}

Result<void> TrainerFolder::write_end_mark(int64_t global_step, checkpoint::EndReason reason, std::string checkpoint) {
  if (Result<void> place = check_place(); !place && place.error().kind() == ErrorKind::kFailedPrecondition) return place;
  return checkpoint::write_end_mark(scope_.env.storage(), scope_.model_dir(),
                                    {.run = run_,
                                     .global_step = global_step,
                                     .checkpoint = std::move(checkpoint),
                                     .reason = reason,
                                     .wall_time = scope_.env.wall_now(),
                                     .shoal_run = host_of(scope_.config()).shoal_run});
}

Result<void> TrainerFolder::check_place() {
  const std::string& folder = scope_.model_dir();
  const auto gone = [&](const std::string& file) {
    scope_.env.sometimes("model_dir.gone");
    return failed_precondition(
        "model_dir " + folder + " is not the folder of this run any more: " + file +
        ", so it was removed, moved or replaced while the run was under way; the run ends, and makes "
        "nothing anew there (its last checkpoint is where the folder went)");
  };
  const auto unclear = [&](const Error& why) {
    return unavailable("whether model_dir " + folder + " is still this run's cannot be seen: " + why.message());
  };
  if (lock_) {
    const Result<bool> in_place = lock_->is_in_place();
    if (!in_place) return unclear(in_place.error());
    if (!*in_place) return gone("training_lock is missing or another file");
  }
  const auto run = checkpoint::read_run(scope_.env.storage(), folder);
  if (!run && run.error().kind() == ErrorKind::kDataLoss && lock_) {
    scope_.env.log().warning_once("damaged run", run.error().message() + "; the next start repairs it by a checkpoint");
    return {};
  }
  if (!run) return unclear(run.error());
  if (!*run) return gone("run.json is missing");
  if ((*run)->id != run_file_.id) return gone("run.json is that of run " + (*run)->id + ", this one is " + run_file_.id);
  return {};
}

Result<void> TrainerFolder::check_run() {
  if (scope_.distributed()) return {};
  SHOAL_TRY(const int64_t newest, checkpoint::newest_run(scope_.env.storage(), scope_.model_dir(), warnings()));
  if (newest <= run_) return {};
  return unavailable("run " + std::to_string(newest) + " has begun in model_dir " + scope_.model_dir() +
                     " since this one (run " + std::to_string(run_) + ") did, which writes no more checkpoints");
}

bool TrainerFolder::job_has_ended() {
  const auto mark = end_of_job_.look();
  return mark && *mark;
}

}  // namespace shoal
