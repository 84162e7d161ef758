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
  /// Chooses one piece of work that no thread does yet, and does it with the lock released. Returns false if there was
  /// none.
  using Step = UniqueFunction<bool(Lock&)>;

  /// Runs at most `jobs_max` jobs at once, each of which calls `step` until it returns false.
  Workers(JobPool& pool, int jobs_max, Step step);
  /// Waits until the pieces of work that have begun are done. Jobs that are still in the pool's queue will do nothing.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  Lock lock() { return Lock(shared_->mutex); }
  /// Tells the workers that there is work: submits a job unless enough jobs run. Releases the lock meanwhile, so other
  /// threads may change the state that the lock protects.
  void call(Lock& lock);
  /// Waits until another thread calls changed(). That thread does the awaited work, often a user's function, so no deadline
  /// can be set.
  void wait(Lock& lock) { shared_->changed.wait(lock); }
  void changed() { shared_->changed.notify_all(); }
  /// Waits until no job works. Jobs then begin no work before resume(), and the consumer must not begin any either.
  void pause(Lock& lock);
  void resume();

 private:
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    // The mutex guards the members below.
    Step step;
    int jobs = 0;     ///< How many jobs are submitted or at work.
    int working = 0;  ///< Jobs inside `step`.
    bool paused = false;
  };
  static void run(const std::shared_ptr<Shared>& shared);

  JobPool& pool_;
  const int jobs_max_;
  std::shared_ptr<Shared> shared_;  // Shared, since jobs in the pool's queue may outlive the stage.
};

}  // namespace shoal::data
