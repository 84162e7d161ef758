// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/production.h"

#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "compute_thread.h"
#include "guarded.h"
#include "loop.h"
#include "pool.h"
#include "shoal/base/blocking.h"
#include "shoal/base/cpu.h"
#include "shoal/base/event_loop.h"
#include "shoal/base/fork.h"
#include "shoal/base/standard_descriptors.h"
#include "signals.h"
#include "transports.h"

namespace shoal {
namespace {

/// With offload_inline: how long offloaded functions may run in a row before timers and posted work get a turn.
constexpr Duration kTurnMax = std::chrono::milliseconds(2);

class ProductionEnvironment final : public Environment {
 public:
  explicit ProductionEnvironment(ProductionOptions options);
  ~ProductionEnvironment() override;

  SteadyTime now() const override { return Loop::now(); }
  WallTime wall_now() const override { return read_wall_clock(); }
  void post(Work work) override { loop_.post(std::move(work)); }
  bool on_strand() const override { return loop_.on_strand() && !in_inline_work_; }
  Task<Result<void>> sleep_until(SteadyTime when, StopToken stop) override;
  Task<Result<void>> offload(Work work) override;
  void parallel_for(int64_t count, int64_t grain, const ThreadPool::Body& body) override;
  JobPool& pool() override { return *pool_; }
  Result<transport::Transport*> transport(std::string_view scheme) override { return transports_.get(scheme, *this); }
  Storage& storage() override { return *storage_; }
  BufferPool& buffers() override { return *buffers_; }
  Logger& log() override { return log_; }
  uint64_t entropy() override;
  const ProcessInfo& process() const override { return process_; }
  StopToken interrupted() override { return interrupted_.token(); }
  StopToken leaving() override { return leaving_.token(); }

  boost::asio::io_context* context() { return loop_.context(); }
  Duration spin() const { return spin_; }

 private:
  void run_until_done(Task<void> entry) override;

  const StandardDescriptors standard_descriptors_;  // Comes first, so that no file or socket below gets number 0 to 2.
  const bool offload_inline_;
  bool in_inline_work_ = false;  // Used on the strand only.
  std::shared_ptr<BufferPool> buffers_;
  const std::shared_ptr<Storage> storage_;
  const ProcessInfo process_;
  Logger log_;
  StopSource leaving_, interrupted_;
  const StopCallback on_stop_also_;
  const StopCallback on_leaving_{leaving_.token(), [this] { interrupted_.request_stop(); }};
  const Duration spin_;
  Loop loop_;
  const std::unique_ptr<ThreadPool, DeleteUnlessForked<ThreadPool>> pool_;
  const std::unique_ptr<ComputeThread, DeleteUnlessForked<ComputeThread>> compute_;
  Transports transports_;
  std::optional<SignalWatch> signals_;
};

Duration default_spin(int usable_cores) {
  constexpr int kCoresMany = 8;
  return usable_cores >= kCoresMany ? std::chrono::microseconds(20) : std::chrono::microseconds(0);
}

ProductionEnvironment::ProductionEnvironment(ProductionOptions options)
    : offload_inline_(options.offload_inline),
      buffers_(options.buffers ? std::move(options.buffers) : BufferPool::create()),
      storage_(options.storage ? std::move(options.storage) : std::shared_ptr<Storage>(make_file_storage())),
      process_(options.process ? std::move(*options.process) : read_process_info()),
      log_(options.sink ? std::move(options.sink) : stderr_sink(), std::move(options.task), [this] { return wall_now(); }),
      leaving_(std::move(options.leave)),
      interrupted_(std::move(options.stop)),
      on_stop_also_(options.stop_also, [this] { interrupted_.request_stop(); }),
      spin_(options.spin.value_or(default_spin(process_.usable_cores))),
      loop_(spin_),
      pool_(make_threaded<ThreadPool>(options.pool_threads > 0 ? options.pool_threads : process_.usable_cores)),
      compute_(make_threaded<ComputeThread>(loop_)),
      transports_(std::move(options.transports)) {
  if (options.handle_signals) {
    signals_.emplace([this, leaves = options.terminate_means_leave](bool terminates) {
      if (leaves && terminates) leaving_.request_stop();
      interrupted_.request_stop();
    });
  }
}

ProductionEnvironment::~ProductionEnvironment() {
  signals_.reset();
  // Destroys the transports before the other members, since transports may still post work and read the clock.
  transports_.clear();
}

void ProductionEnvironment::run_until_done(Task<void> entry) {
  const ComputeMode mode;  // This thread also computes: the event loop applies small updates of weights.
  loop_.post([&entry] { entry.start(); });
  loop_.run_until([&entry] { return entry.done(); });
}

Task<Result<void>> ProductionEnvironment::sleep_until(SteadyTime when, StopToken stop) {
  if (stop.stop_requested()) co_return cancelled();
  Waiter waiter(loop_);
  bool stopped = false;
  std::optional<StopCallback> on_stop;
  if (when <= now()) {
    // The event loop first does the work that is queued, and then resumes this coroutine. If it resumed the coroutine at
    // once, a loop of sleeps that end at once would let no other work run.
    loop_.wake(waiter);
  } else {
    loop_.set_timer(waiter, when);
  }
  if (stop.stop_possible()) {
    on_stop.emplace(stop, [&stopped, &waiter, this] {
      stopped = true;
      loop_.wake(waiter);
    });
  }
  co_await waiter;
  on_stop.reset();  // After this no other thread uses `stopped` or `waiter`.
  if (stopped) co_return cancelled();
  co_return Result<void>();
}

Task<Result<void>> ProductionEnvironment::offload(Work work) {
  if (!offload_inline_) {
    OffloadWaiter waiter(loop_, *compute_, work);
    co_return co_await waiter;
  }
  in_inline_work_ = true;
  Result<void> ended = run_awaited(work, "offloaded work");
  in_inline_work_ = false;
  if (loop_.on_strand() && now() - loop_.turn_began() > kTurnMax) {
    Waiter waiter(loop_);
    loop_.wake(waiter);
    co_await waiter;
  }
  co_return ended;
}

void ProductionEnvironment::parallel_for(int64_t count, int64_t grain, const ThreadPool::Body& body) {
  // The pool takes a function object that is not const, since a call may change the object's captured variables. All chunks
  // call the same object anyway.
  pool_->parallel_for(count, grain, const_cast<ThreadPool::Body&>(body));
}

uint64_t ProductionEnvironment::entropy() {
  uint64_t number = 0;
  SHOAL_CHECK(::getentropy(&number, sizeof number) == 0);
  return number;
}

}  // namespace

std::unique_ptr<Environment> make_production_environment(ProductionOptions options) {
  return std::make_unique<ProductionEnvironment>(std::move(options));
}

boost::asio::io_context* event_loop(Environment& environment) {
  auto* production = dynamic_cast<ProductionEnvironment*>(&environment);
  return production ? production->context() : nullptr;
}

Duration event_loop_spin(Environment& environment) {
  auto* production = dynamic_cast<ProductionEnvironment*>(&environment);
  return production ? production->spin() : Duration::zero();
}

Result<void> block_until(Environment& env, SteadyTime when) {
  // A virtual environment must not block its thread: it runs other tasks while this task waits.
  if (!dynamic_cast<ProductionEnvironment*>(&env)) return env.run(env.sleep_until(when));
  std::this_thread::sleep_for(when - env.now());
  return {};
}

}  // namespace shoal
