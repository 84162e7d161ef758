// SPDX-License-Identifier: Apache-2.0
/// The residuals of top-k go into checkpoints, and are restored from them.
#include <algorithm>
#include <map>

#include "remote_store_fixture.h"

namespace shoal::cluster {
namespace {

/// The arenas of a snapshot.
class SavedState final : public RestoreSource {
 public:
  explicit SavedState(StateInfo info) : info_(std::move(info)) {}
  const StateInfo& info() const override { return info_; }
  Result<void> read(const Segment& segment, ArenaIndex arena, std::span<std::byte> out) override {
    const auto found = bytes_.find({segment.variable.name, segment.row_begin, arena});
    if (found == bytes_.end()) return not_found(segment.variable.name + " of arena " + arena_name(arena));
    std::ranges::copy(found->second, out.begin());
    return {};
  }
  void add(const Segment& segment, ArenaIndex arena, std::span<const std::byte> bytes) {
    bytes_[{segment.variable.name, segment.row_begin, arena}].assign(bytes.begin(), bytes.end());
  }
  bool has(int trainer) const { return std::ranges::count(info_.residuals, trainer) == 1; }
  /// The sum of all elements of an arena.
  float sum(ArenaIndex arena) const {
    float sum = 0;
    for (const auto& [key, bytes] : bytes_) {
      for (float element : floats(std::span(bytes))) sum += std::get<2>(key) == arena ? element : 0;
    }
    return sum;
  }

 private:
  StateInfo info_;
  std::map<std::tuple<std::string, int64_t, ArenaIndex>, std::vector<std::byte>> bytes_;
};

constexpr float kElements = 30 * 16 + 16 + 1;
// A quarter of the kernel, of the bias and of the scale are this many values.
constexpr float kFirst = (30 * 16 + 16) / 4.0f + 1;

class ResidualTraffic : public RemoteStoreTest {
 protected:
  std::unique_ptr<RemoteStore> compressing_store(Environment& env, const std::string& role, int index = 0) {
    TaskOptions options;
    options.compression = value_or_raise(parse_compression("top-k:0.25"));
    return make_store(env, role, index, options);
  }
  /// Servers, and a chief that made the model ready.
  void start_compressing(RestoreSource* restore = nullptr, int trainers = 2) {
    server_envs_.clear();
    for (size_t i = 0; i < plan_.shards.size(); ++i) server_envs_.push_back(&start_server(int(i), {.trainers = trainers}));
    chief_env_ = &add_task("chief 0");
    chief_ = compressing_store(*chief_env_, "chief");
    const Ready ready = value_or_raise(run(*chief_env_, prepare(*chief_env_, *chief_, restore)));
    ASSERT_FALSE(ready.attached);
  }
  void kill_all() {
    for (Environment* server : server_envs_) kill(*server);
    kill(*chief_env_);
    world_.run_for(kSecond);
  }
  std::unique_ptr<RemoteStore> start_compressing_worker(Environment*& env) {
    env = &add_task("worker 0");
    auto worker = compressing_store(*env, "worker");
    EXPECT_TRUE(run(*env, attach(*env, *worker)));
    return worker;
  }
  /// A compressing job whose worker has a residual.
  std::unique_ptr<RemoteStore> start_with_worker(Environment*& env) {
    start_compressing();
    auto worker = start_compressing_worker(env);
    EXPECT_TRUE(run(*env, step(*worker, {}, 1)));
    return worker;
  }
  static Task<Result<SavedState>> save(RemoteStore& store) {
    SHOAL_CO_TRY(std::unique_ptr<Snapshot> snapshot, co_await store.snapshot({}));
    SavedState saved(snapshot->info());
    std::vector<ArenaIndex> arenas{0};
    for (const int trainer : snapshot->info().residuals) arenas.push_back(residual_arena(trainer));
    for (size_t shard = 0; shard < snapshot->plan().shards.size(); ++shard) {
      for (const Segment& segment : snapshot->plan().shards[shard].segments) {
        for (const ArenaIndex arena : arenas) {
          SHOAL_CO_TRY(const Snapshot::Part part,
                       co_await snapshot->read(int(shard), arena, segment.offset, segment.bytes));
          saved.add(segment, arena, part.bytes);
        }
      }
    }
    SHOAL_CO_TRY_VOID(co_await snapshot->release());
    co_return saved;
  }
  SavedState saved() { return value_or_raise(run(*chief_env_, save(*chief_))); }
};

TEST_F(ResidualTraffic, TheChiefsOwnIsSavedAndRestored) {
  start_compressing();
  ASSERT_TRUE(run(*chief_env_, step(*chief_, {}, 1)));
  SavedState state = saved();
  EXPECT_EQ(state.info().residuals, std::vector<int>{0});
  EXPECT_EQ(state.sum(0), -kFirst);
  EXPECT_EQ(state.sum(residual_arena(0)), kElements - kFirst);
  kill_all();

  start_compressing(&state);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(run(*chief_env_, step(*chief_, {}, 0)));
  EXPECT_EQ(value(), -1.0f);  // Every value has arrived once.
}

TEST_F(ResidualTraffic, AWorkersBelongsToTheVersionThatIsSaved) {
  Environment* env = nullptr;
  auto worker = start_with_worker(env);
  auto saving = start(*chief_env_, save(*chief_));
  world_.run_for(kSecond);
  EXPECT_FALSE(saving.done());  // The worker has to answer first.
  ASSERT_TRUE(run(*env, step(*worker, {}, 0)));
  SavedState state = value_or_raise(finish(saving));
  EXPECT_TRUE(state.has(0) && state.has(1));
  EXPECT_EQ(state.info().global_step, 1u);
  EXPECT_EQ(state.sum(0), -kFirst);
  EXPECT_EQ(state.sum(residual_arena(1)), kElements - kFirst);  // The residual as it was before the second step.
  EXPECT_EQ(state.sum(residual_arena(0)), 0.0f);
  kill_all();
  kill(*env);

  start_compressing(&state);
  SavedState again = saved();  // Nobody has fetched the residual yet.
  EXPECT_EQ(again.sum(residual_arena(1)), kElements - kFirst);
  worker = start_compressing_worker(env);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(run(*env, step(*worker, {}, 0)));
  EXPECT_EQ(value(), -1.0f);
}

TEST_F(ResidualTraffic, AWorkersLastWordIsSaved) {
  Environment* env = nullptr;
  auto worker = start_with_worker(env);
  ASSERT_TRUE(run(*env, worker->leave(env->after(kSecond))));
  const SteadyTime before = world_.now();
  const SavedState state = saved();
  EXPECT_LT(world_.now(), before + kSecond);
  EXPECT_EQ(state.sum(0) - state.sum(residual_arena(1)), -kElements);
}

TEST_F(ResidualTraffic, ASilentWorkerIsWaitedForTenSeconds) {
  Environment* env = nullptr;
  auto worker = start_with_worker(env);
  const double before = seconds();
  const SavedState state = saved();
  EXPECT_NEAR(seconds() - before, 10, 1);  // The wait is for all servers together.
  EXPECT_FALSE(state.has(1));
  EXPECT_EQ(count_log("without the residual of trainer 1's compression"), 2u) << logs();
}

TEST_F(ResidualTraffic, AnInterruptedJobDoesNotWait) {
  Environment* env = nullptr;
  auto worker = start_with_worker(env);
  auto saving = start(*chief_env_, save(*chief_));
  world_.run_for(kSecond);
  EXPECT_FALSE(saving.done());
  for (Environment* server : server_envs_) world_.interrupt(*server);
  world_.run_for(kSecond);
  ASSERT_TRUE(saving.done());
  EXPECT_FALSE(value_or_raise(saving.take()).has(1));
}

TEST_F(ResidualTraffic, AChiefThatTriesAgainStillHasIts) {
  start_compressing();
  ASSERT_TRUE(run(*chief_env_, step(*chief_, {}, 1)));
  SavedState state = saved();
  kill_all();
  start_compressing(&state);
  const Ready again = value_or_raise(run(*chief_env_, prepare(*chief_env_, *chief_, &state)));
  EXPECT_TRUE(again.attached);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(run(*chief_env_, step(*chief_, {}, 0)));
  EXPECT_EQ(value(), -1.0f);
}

TEST_F(ResidualTraffic, OfTrainersThatTheJobHasNotAreLetGo) {
  Environment* env = nullptr;
  auto worker = start_with_worker(env);
  ASSERT_TRUE(run(*env, worker->leave(env->after(kSecond))));
  SavedState state = saved();
  EXPECT_TRUE(state.has(1));
  kill_all();
  start_compressing(&state, 1);
  EXPECT_FALSE(saved().has(1));
}

TEST_F(ResidualTraffic, TheEndOfAnOldConnectionLetsGoOfNothingNew) {
  Environment* env = nullptr;
  auto worker = start_with_worker(env);
  auto cut_off = start(*chief_env_, save(*chief_));
  world_.run_for(kSecond);  // The servers wait for the worker.
  for (const char* const server : {"ps 0", "ps 1"}) network_->reset("chief 0", server);
  EXPECT_FALSE(finish(cut_off));
  ASSERT_TRUE(run(*chief_env_, prepare(*chief_env_, *chief_)));
  auto saving = start(*chief_env_, save(*chief_));
  world_.run_for(kSecond);
  ASSERT_TRUE(run(*env, step(*worker, {}, 0)));
  const SavedState state = value_or_raise(finish(saving));
  EXPECT_EQ(state.sum(residual_arena(1)), kElements - kFirst);
}

TEST_F(ResidualTraffic, ADeadWorkerIsNotWaitedFor) {
  Environment* env = nullptr;
  auto worker = start_with_worker(env);
  auto saving = start(*chief_env_, save(*chief_));
  world_.run_for(kSecond);
  worker.reset();
  kill(*env);
  world_.run_for(kSecond);
  ASSERT_TRUE(saving.done());
  EXPECT_FALSE(value_or_raise(saving.take()).has(1));
}

}  // namespace
}  // namespace shoal::cluster
