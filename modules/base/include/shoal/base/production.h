// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The Environment of real runs: one event loop (the strand, run by the thread that calls run()), one compute thread, a
/// job pool, the file system, sockets.
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "shoal/base/environment.h"
#include "shoal/base/std_function.h"

namespace shoal {

/// Makes the transport of one scheme for one environment. The generated plug-in table maps schemes to these. A function
/// that returns a unique_ptr fits too; shared, because base knows only a forward declaration and cannot delete one.
using TransportFactory = std::function<std::shared_ptr<transport::Transport>(Environment&)>;
using TransportTable = std::map<std::string, TransportFactory, std::less<>>;

struct ProductionOptions {
  std::string task;  ///< "worker 1", for log lines; "" for a local run.
  LogSink sink;      ///< Default: stderr_sink().
  TransportTable transports;
  std::shared_ptr<Storage> storage;  ///< Default: the file system of this machine.
  /// Threads of pool(). 0: as many as usable cores, at least 1. They start with the first job.
  int pool_threads = 0;
  /// True: offload() runs the work at once on the strand. For a task with nobody to talk to (local training): saves two
  /// thread switches a step. Signals and timers are still looked at between works.
  bool offload_inline = false;
  /// How long the strand looks for work before it sleeps, with a core of its own: what is posted then starts some hundred
  /// nanoseconds later in place of some ten thousand, and shm needs no doorbell. 0: it sleeps at once. Default: 20 us where
  /// this process may use 8 cores or more, else 0, for there the threads that compute want that core.
  std::optional<Duration> spin;
  /// True: SIGINT, SIGTERM and SIGHUP (unless it is ignored, as by nohup) stop interrupted(), of all such environments in
  /// the process; a second signal ends the process at once (status 128 and its number: 130, 143, 129). What comes within
  /// half a second of the first belongs to it.
  bool handle_signals = false;
  /// True: SIGTERM and SIGHUP stop leaving(), too. A person's Ctrl-C never does.
  bool terminate_means_leave = false;
  /// A stop of this stops interrupted() too. Used for tasks that are threads of one process.
  StopToken stop;
  StopToken stop_also;                  ///< As `stop`, where two may ask.
  StopToken leave;                      ///< A stop of this stops leaving(), and then interrupted().
  std::shared_ptr<BufferPool> buffers;  ///< Shared by the tasks of one process. Default: its own.
  std::optional<ProcessInfo> process;   ///< Default: read_process_info().
};

std::unique_ptr<Environment> make_production_environment(ProductionOptions options);

}  // namespace shoal
