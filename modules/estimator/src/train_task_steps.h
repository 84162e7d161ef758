#pragma once
/// The parts of train_task(): what is set up (train_setup.cc), trained (train_task.cc) and brought to an end (train_end.cc).
#include "end_of_job.h"
#include "evaluation.h"
#include "progress_hook.h"
#include "shoal/monitor/event_writer.h"
#include "train_task.h"

namespace shoal {

inline constexpr auto kLastWords = std::chrono::seconds(10);  // for what is said to servers when leaving

/// The kinds that a launcher does not retry (CONTRACT FA-9, FA-10).
inline bool is_permanent(const Error& error) {
  const int status = exit_status(error.kind());
  return status >= 2 && status <= 4;
}

/// One training of one task.
class TrainTask {
 public:
  TrainTask(Environment& env, const TrainRequest& request)
      : env_(env),
        request_(request),
        config_(request.estimator.config()),
        context_(env, config_.host().get()),
        end_of_job_(env, request.estimator, request.max_steps, EndOfJob::NewMarks::kObeyed) {}
  Task<Result<TrainOutcome>> run();

 private:
  bool leads() const { return request_.role != TrainRole::kWorker; }
  bool distributed() const { return request_.role != TrainRole::kLocal && config_.num_ps_replicas() > 0; }

  Task<Result<void>> on_compute(Result<void> (TrainTask::*method)());
  // On the compute thread, in this order:
  Result<void> look_at_folder();
  Result<void> open_training_input();
  Result<void> build_model();
  Result<void> make_hooks();
  Result<void> plan_store();
  Result<void> reopen_checkpoint();
  Result<void> write_description();
  Result<void> finish_folder();

  Result<void> begin_run();
  checkpoint::WarningSink warnings();
  Result<bool> learn_types_elsewhere();
  Result<std::vector<cluster::VariableSpec>> variable_specs() const;
  Result<void> bind_program();
  Result<void> move_input(const std::optional<std::string>& position);
  Result<void> begin_input_anew();
  Result<void> remember_end();
  Result<void> write_mark(uint64_t global_step, std::string checkpoint);

  Task<Result<cluster::Ready>> make_ready();
  Task<Result<cluster::Ready>> recover();
  LoopOptions loop_options();
  Task<Result<TrainOutcome>> run_steps();
  Task<Result<TrainOutcome>> train();
  Task<Result<void>> close(TrainingLoop& loop);
  Task<Result<void>> wait_for_workers();
  std::optional<Duration> patience_for(const cluster::ServerStatus& status, bool patient) const;
  bool job_has_ended();
  Task<Result<void>> announce_end(cluster::JobEnd end, Duration patience);
  Task<Result<void>> announce_end_alone(cluster::JobEnd end, Duration patience);
  Task<void> give_up(Error why);
  Task<Result<void>> end_without_servers();
  cluster::JobEnd clean_end() const { return {.failed = false, .reason = std::string(checkpoint::to_string(end_.reason))}; }
  void say_how_it_ended();
  void warn_that_no_step_was_made();
  Task<Result<TrainOutcome>> nothing_to_do();
  TrainOutcome outcome() const;
  std::string last_checkpoint() const;

  Environment& env_;
  const TrainRequest& request_;
  const RunConfig& config_;
  std::unique_ptr<StorageLock> lock_;  // of model_dir, where this task leads
  LoopContext context_;
  std::unique_ptr<CheckpointSource> source_;
  bool source_is_fresh_ = false;  // read since the servers were last asked: no need to read it again
  std::optional<int64_t> max_steps_;
  bool finished_before_ = false;
  std::optional<data::Dataset> dataset_;
  TrainingInput input_;
  std::string start_position_;  // of the input before anything was drawn; empty: it cannot tell
  bool input_resumed_ = false;  // it went on somewhere behind its start
  std::optional<InputTypes> types_;
  std::unique_ptr<BuiltModel> model_;
  std::vector<std::shared_ptr<Hook>> hooks_;
  std::vector<std::string> fetch_names_;
  std::shared_ptr<ProgressHook> progress_;
  std::unique_ptr<monitor::EventWriter> events_;
  std::unique_ptr<CheckpointSaver> saver_;
  std::unique_ptr<cluster::Store> store_;
  cluster::RemoteStore* remote_ = nullptr;
  LoopEnd end_;
  EndOfJob end_of_job_;                               // for a worker
  std::optional<checkpoint::EndMark> mark_at_start_;  // for who leads
  int64_t run_ = 0;  // number of this run; where nothing is left to train, of the newest one
  bool run_begun_ = false;
  SteadyTime started_{};
  bool began_ = false;  // to train
};

}  // namespace shoal
