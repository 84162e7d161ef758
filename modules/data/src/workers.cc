// SPDX-License-Identifier: Apache-2.0
#include "workers.h"

namespace shoal::data {

Workers::Workers(JobPool& pool, int jobs_max, Step step)
    : pool_(pool), jobs_max_(jobs_max), shared_(std::make_shared<Shared>()) {
  shared_->step = std::move(step);
}

Workers::~Workers() {
  Lock held = lock();
  pause(held);
}

void Workers::call(Lock& lock) {
  if (shared_->paused || shared_->jobs >= jobs_max_) return;
  ++shared_->jobs;
  lock.unlock();
  const bool accepted = pool_.submit([shared = shared_] { run(shared); });
  lock.lock();
  if (!accepted) --shared_->jobs;  // The pool has refused the job. The consumer will do its work itself.
}

void Workers::pause(Lock& lock) {
  shared_->paused = true;
  while (shared_->working > 0) wait(lock);
}

void Workers::resume() {
  const Lock held = lock();
  shared_->paused = false;
}

void Workers::run(const std::shared_ptr<Shared>& shared) {
  Lock lock(shared->mutex);
  ++shared->working;
  while (!shared->paused && shared->step(lock)) {
  }
  --shared->working;
  --shared->jobs;
  shared->changed.notify_all();
}

}  // namespace shoal::data
