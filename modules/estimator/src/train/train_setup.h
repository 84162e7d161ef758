// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What a training needs before its first step, made as one value that the run takes.
#include <memory>
#include <string>
#include <vector>

#include "hooks/job_metrics.h"
#include "hooks/progress_hook.h"
#include "model/initial_source.h"
#include "model/model.h"
#include "shoal/cluster/remote_store.h"
#include "shoal/monitor/event_writer.h"
#include "train/checkpoint_saver.h"
#include "train/resumable_input.h"
#include "train/trainer_folder.h"

namespace shoal {

struct TrainSetup {
  std::unique_ptr<BuiltModel> model;
  std::vector<std::shared_ptr<Hook>> hooks;      ///< Hooks in the order of CONTRACT HK-6.
  bool stops_quietly = false;                    ///< LoopOptions::stops_quietly.
  std::vector<std::string> fetch_names;          ///< Names of what the hooks fetch, in the programs' order.
  NamedValues final_values;                      ///< What the hooks want to have at the end.
  std::shared_ptr<ProgressHook> progress;        ///< One of the hooks.
  std::unique_ptr<monitor::EventWriter> events;  ///< Null if this task writes no summaries.
  std::unique_ptr<CheckpointSaver> saver;        ///< Null if this task saves no checkpoints.
  /// What the store does not make itself. Null unless this task leads, without a checkpoint to go on from.
  std::unique_ptr<InitialSource> initial;
  std::unique_ptr<cluster::Store> store;    ///< The store is bound to the model's program.
  cluster::RemoteStore* servers = nullptr;  ///< The store, where the model lies on servers.
  std::unique_ptr<JobMetrics> metrics;      ///< Null if this task computes none, or is the only trainer.
};

/// Builds the model and what trains it. Nobody is connected to yet. All arguments outlive the set-up; the input's types are
/// known. Errors: those of the model function and of the hooks' begin(); InvalidArgument for a train_op or a placement that
/// does not fit; FailedPrecondition for what works in local mode only.
Task<Result<TrainSetup>> set_up_training(TrainScope& scope, TrainerFolder& folder, const ResumableInput& input);

}  // namespace shoal
