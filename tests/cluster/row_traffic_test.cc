// SPDX-License-Identifier: Apache-2.0
/// Tables that travel by rows: the same weights as when they travel whole, in fewer bytes.
#include <algorithm>

#include "remote_store_fixture.h"
#include "shoal/base/random.h"

namespace shoal::cluster {
namespace {

constexpr int64_t kRows = 500, kWidth = 8;

VariableSpec lazy_table() {
  VariableSpec spec = variable("table", {kRows, kWidth}, momentum(0.9), uniform(-1, 1));
  spec.lazy_rows = true;
  return spec;
}

class RowTraffic : public RemoteStoreTest {
 protected:
  RowTraffic() : RemoteStoreTest(2) { plan_ = plan_of({lazy_table(), variable("bias", {8}, adam(), uniform(-1, 1))}, 2); }

  std::unique_ptr<RemoteStore> store(Environment& env, const std::string& role, bool rows_alone) {
    TaskOptions options;
    options.updates = {"bias"};
    options.by_rows = {"table"};
    options.rows_alone = rows_alone;
    return make_store(env, role, 0, options);
  }
  /// The chief's store in chief_; all weights start from their initializers.
  void start(bool chief_rows_alone) {
    for (size_t i = 0; i < plan_.shards.size(); ++i) server_envs_.push_back(&start_server(int(i)));
    chief_env_ = &add_task("chief 0");
    chief_ = store(*chief_env_, "chief", chief_rows_alone);
    ASSERT_TRUE(run(*chief_env_, prepare(*chief_env_, *chief_)));
  }

  /// A step whose gradients follow from `seed` and from the weights, so that wrong weights show.
  static Task<Result<void>> step_by_rows(Store& store, uint64_t seed) {
    SHOAL_CO_TRY(Step step, co_await store.begin({}));
    SHOAL_CO_TRY_VOID(store.start(step, seed, {}));
    RandomStream random(seed);
    std::vector<int64_t> ids(6);
    for (int64_t& id : ids) id = int64_t(random.below(kRows));
    ids[5] = ids[0];
    std::vector<float> values;
    for (int64_t id : ids) {
      const float* const row = row_of(step.variables[1], id);
      for (int64_t k = 0; k < kWidth; ++k) values.push_back(0.5f * row[k] + float(k) / 8);
    }
    for (const backends::MutablePiece& piece : step.updates[0])
      std::fill_n(reinterpret_cast<float*>(piece.data), 8, values[0]);
    const RowGradients gradients[] = {
        {0,
         {DType::kInt64, Shape{6}, reinterpret_cast<const std::byte*>(ids.data())},
         {DType::kFloat32, Shape{6, kWidth}, reinterpret_cast<const std::byte*>(values.data())}}};
    SHOAL_CO_TRY_VOID(store.add_rows(step, gradients));
    const double scalars[] = {0.1};
    SHOAL_CO_TRY(const Outcome outcome, co_await store.commit(step, scalars));
    co_return outcome.applied ? Result<void>() : internal_error("not applied");
  }
  static const float* row_of(backends::Pieces pieces, int64_t row) {
    const auto piece = std::ranges::find_if(pieces, [row](const auto& p) { return row < p.row_end; });
    return reinterpret_cast<const float*>(piece->data) + (row - piece->row_begin) * kWidth;
  }
  /// The state of the servers, slots included.
  static Task<Result<std::vector<float>>> state(Store& store) {
    std::vector<float> all;
    SHOAL_CO_TRY(std::unique_ptr<Snapshot> snapshot, co_await store.snapshot({}));
    for (size_t shard = 0; shard < snapshot->plan().shards.size(); ++shard) {
      const ShardSpec& spec = snapshot->plan().shards[shard];
      for (ArenaIndex arena = 0; arena <= spec.slot_count; ++arena) {
        SHOAL_CO_TRY(const Snapshot::Part part, co_await snapshot->read(int(shard), arena, 0, spec.arena_bytes));
        all.insert(all.end(), floats(part.bytes).begin(), floats(part.bytes).end());
      }
    }
    SHOAL_CO_TRY_VOID(co_await snapshot->release());
    co_return all;
  }
  /// The state after 40 steps of the chief and 40 of a worker, in turn.
  std::vector<float> after_steps(bool chief_rows_alone, bool worker_rows_alone) {
    start(chief_rows_alone);
    Environment& env = add_task("worker 0");
    auto worker = store(env, "worker", worker_rows_alone);
    EXPECT_TRUE(run(env, attach(env, *worker)));
    for (uint64_t i = 0; i < 40; ++i) {
      EXPECT_TRUE(run(*chief_env_, step_by_rows(*chief_, i)));
      EXPECT_TRUE(run(env, step_by_rows(*worker, 1000 + i)));
    }
    auto all = value_or_raise(run(*chief_env_, state(*chief_)));
    EXPECT_TRUE(run(env, worker->leave(env.after(kSecond))));
    return all;
  }
};

/// The same job with its trainers one way or the other; each test body runs in a world of its own.
class RowTrafficOneWay : public RowTraffic {};

std::vector<float>& whole_state() {
  static std::vector<float> state;
  return state;
}

TEST_F(RowTrafficOneWay, WholeRowsAloneOrMixedGiveTheSameBits) {
  whole_state() = after_steps(false, false);
  class Again : public RowTrafficOneWay {
   public:
    std::vector<float> result(bool chief, bool worker) {
      auto all = after_steps(chief, worker);
      TearDown();
      return all;
    }
    void TestBody() override {}
  };
  for (const auto& [chief, worker] : {std::pair{true, true}, {true, false}, {false, true}}) {
    Again again;
    EXPECT_EQ(again.result(chief, worker), whole_state()) << chief << worker;
  }
}

TEST_F(RowTraffic, SaysHowMuchItSaved) {
  start(true);
  for (uint64_t i = 0; i < 10; ++i) ASSERT_TRUE(run(*chief_env_, step_by_rows(*chief_, i)));
  ASSERT_TRUE(run(*chief_env_, finish_job(*chief_env_, *chief_)));
  // Ten pushes of 16 KB, each of five rows of 32 bytes and of what surrounds them; as many replies, and the first, whole.
  EXPECT_EQ(count_log("tables by rows: sent 0.0 MB of gradients instead of 0.2, received 0.0 MB of weights instead of 0.2"),
            1u)
      << logs();
}

TEST_F(RowTraffic, AReplyThatBreaksBetweenItsPartsComesAgain) {
  plan_ = value_or_raise(plan_shards({lazy_table(), variable("bias", {8}, adam(), uniform(-1, 1))}, 2, 1, nullptr, 2048));
  const size_t parts = parts_of(plan_.shards[0]).size();
  ASSERT_GE(parts, 3u);
  start(true);
  for (size_t nth = 1; nth <= parts; ++nth) {
    const auto seen = std::make_shared<size_t>(0);
    cuts_->on_receive = [seen, nth](const std::string&, const transport::Message& message) {
      return message.head.kind == transport::MessageKind::kWeights && ++*seen == nth;
    };
    EXPECT_TRUE(run(*chief_env_, step_by_rows(*chief_, nth)));
    cuts_->on_receive = nullptr;
    EXPECT_TRUE(run(*chief_env_, step_by_rows(*chief_, 100 + nth)));
    EXPECT_EQ(global_step(), 2 * nth);
  }
}

TEST_F(RowTraffic, AServerThatWasRestoredSendsEverythingAgain) {
  start(true);
  for (uint64_t i = 0; i < 5; ++i) ASSERT_TRUE(run(*chief_env_, step_by_rows(*chief_, i)));
  restart_server(1);
  expect_error(run(*chief_env_, step_by_rows(*chief_, 5)), ErrorKind::kUnavailable, "");
  ASSERT_TRUE(run(*chief_env_, prepare(*chief_env_, *chief_)));
  const auto before = value_or_raise(run(*chief_env_, state(*chief_)));
  ASSERT_TRUE(run(*chief_env_, step_by_rows(*chief_, 6)));
  EXPECT_NE(value_or_raise(run(*chief_env_, state(*chief_))), before);
}

}  // namespace
}  // namespace shoal::cluster
