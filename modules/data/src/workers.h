// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The workers of one stage: its background jobs on Environment::pool(). (They have nothing to do with the workers of a
/// cluster, which are tasks.)
///
/// Jobs of a pool may not wait for other jobs of it, and a pool may have one thread, or none (it then runs jobs inside
/// submit()). So a stage offers pieces of work that either a job or the consumer, when it needs the result, claims under
/// the mutex; nobody ever waits for a piece that is not being worked on.
#include <condition_variable>
#include <memory>
#include <mutex>

#include "shoal/base/environment.h"

namespace shoal::data {

class Workers {
 public:
  using Lock = std::unique_lock<std::mutex>;
  /// Claims and does one piece of work, giving up the lock meanwhile; false: there was none.
  using Step = UniqueFunction<bool(Lock&)>;

  /// Runs at most `jobs_max` jobs at once, each of which calls `step` until it returns false.
  Workers(JobPool& pool, int jobs_max, Step step);
  /// Waits for the pieces that are being worked on; queued jobs do nothing any more.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  Lock lock() { return Lock(shared_->mutex); }
  /// Says that there is work: adds a job unless there are enough jobs. Gives up the lock meanwhile, so state that the step
  /// reads may change.
  void call(Lock& lock);
  /// Waits until somebody calls changed(). What is waited for is being worked on: user code bounds it, no deadline can.
  void wait(Lock& lock) { shared_->changed.wait(lock); }
  void changed() { shared_->changed.notify_all(); }
  /// Returns when no job works, and none takes up work before resume(); the consumer may not work either.
  void pause(Lock& lock);
  void resume();

 private:
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    // Guarded by mutex.
    Step step;
    int jobs = 0;     ///< Jobs submitted or working.
    int working = 0;  ///< Jobs inside `step`.
    bool paused = false;
  };
  static void run(const std::shared_ptr<Shared>& shared);

  JobPool& pool_;
  const int jobs_max_;
  std::shared_ptr<Shared> shared_;  // Jobs that the pool still holds outlive the stage.
};

}  // namespace shoal::data
