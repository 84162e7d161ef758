// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The Environment of real runs: one event loop (its strand is the thread that calls run()), one compute thread, a job
/// pool, the file system, sockets.
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "shoal/base/environment.h"
#include "shoal/base/std_function.h"

namespace shoal {

/// Makes the transport of one scheme for one environment. The generated plug-in table maps schemes to factories. The result
/// is a shared_ptr because this module only declares Transport and cannot delete one; a function that returns a unique_ptr
/// fits too.
using TransportFactory = std::function<std::shared_ptr<transport::Transport>(Environment&)>;
using TransportTable = std::map<std::string, TransportFactory, std::less<>>;

struct ProductionOptions {
  std::string task;  ///< "worker 1", for log lines; "" for a local run.
  LogSink sink;      ///< Default: stderr_sink().
  TransportTable transports;
  std::shared_ptr<Storage> storage;  ///< Default: the file system of this machine.
  /// Threads of pool(). 0: as many as there are usable cores, at least 1. They start with the first job.
  int pool_threads = 0;
  /// True: offload() runs the work at once, on the strand. For a task without peers (local training): saves two thread
  /// switches a step. Between two offloaded functions the event loop still handles signals and timers.
  bool offload_inline = false;
  /// How long the strand polls for work, on a core of its own, before it sleeps. While it polls, posted work starts after
  /// some hundred nanoseconds instead of some ten thousand, and a peer over shm need not wake it. 0: it sleeps at once.
  /// Default: 20 us if this process may use 8 cores or more, else 0, since the threads that compute then need that core.
  std::optional<Duration> spin;
  /// True: SIGINT, SIGTERM and SIGHUP (unless ignored, as by nohup) stop interrupted() of all such environments in the
  /// process. A second signal ends the process at once (status 128 plus its number: 130, 143, 129). Signals within half a
  /// second of the first count as part of it.
  bool handle_signals = false;
  /// With handle_signals: SIGTERM and SIGHUP stop the token Environment::leaving(), too, which asks the task to end so that
  /// it can be started again. SIGINT (Ctrl-C) never does.
  bool terminate_means_leave = false;
  /// When this stops, interrupted() stops too. For tasks that are threads of one process.
  StopToken stop;
  StopToken stop_also;                  ///< As `stop`; for programs with two sources of requests to stop.
  StopToken leave;                      ///< Stops Environment::leaving(), then interrupted(): the task shall be restarted.
  std::shared_ptr<BufferPool> buffers;  ///< Share one among the tasks of a process. Default: a new pool.
  std::optional<ProcessInfo> process;   ///< Default: read_process_info().
};

std::unique_ptr<Environment> make_production_environment(ProductionOptions options);

}  // namespace shoal
