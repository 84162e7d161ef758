// SPDX-License-Identifier: Apache-2.0
#include "shoal/cluster/compression.h"

#include "remote_store_fixture.h"

namespace shoal::cluster {
namespace {

using transport::Encoding;

TEST(Compression, ReadsWhatItWrites) {
  const std::pair<const char*, Compression> cases[] = {
      {"none", {}},
      {"bfloat16", {Encoding::kBfloat16, Encoding::kBfloat16}},
      {"float16", {Encoding::kFloat16, Encoding::kFloat16}},
      {"int8", {Encoding::kInt8, Encoding::kInt8}},
      {"top-k:0.01", {Encoding::kTopK, Encoding::kDense, 0.01}},
      {"top-k:0.001", {Encoding::kTopK, Encoding::kDense, 0.001}},
      {"gradients=top-k:0.5,weights=bfloat16", {Encoding::kTopK, Encoding::kBfloat16, 0.5}},
      {"gradients=none,weights=int8", {Encoding::kDense, Encoding::kInt8}},
  };
  for (const auto& [text, compression] : cases) {
    EXPECT_EQ(to_string(compression), text);
    EXPECT_EQ(value_or_raise(parse_compression(text)), compression) << text;
  }
  EXPECT_EQ(value_or_raise(parse_compression("top-k")), (Compression{Encoding::kTopK, Encoding::kDense, 0.01}));
  EXPECT_EQ(value_or_raise(parse_compression("weights=int8")), (Compression{Encoding::kDense, Encoding::kInt8}));
}

TEST(Compression, RefusesOthersListingWhatThereIs) {
  for (const char* text : {"", "zip", "int8:2", "top-k:", "top-k:0", "top-k:1.5", "top-k:x", "weights=top-k", "weights",
                           "gradients=", "slots=int8", "gradients=int8;weights=int8"}) {
    expect_error(parse_compression(text), ErrorKind::kInvalidArgument, "bfloat16, float16, int8");
  }
}

class CompressedStoreTest : public RemoteStoreTest {
 protected:
  /// A ready cluster, and a worker that has attached.
  std::unique_ptr<RemoteStore> start_compressing(const std::string& compression, Environment*& env) {
    start_ready_cluster();
    env = &add_task("worker 0");
    TaskOptions options;
    options.compression = value_or_raise(parse_compression(compression));
    auto worker = make_store(*env, "worker", 0, options);
    EXPECT_TRUE(run(*env, attach(*env, *worker)));
    return worker;
  }
  /// The value of every weight after `count` steps of a trainer whose gradients are 1, at learning rate 1.
  float value_after(const std::string& compression, int count) {
    Environment* env = nullptr;
    auto worker = start_compressing(compression, env);
    EXPECT_EQ(value_or_raise(run(*env, steps(*env, *worker, count))), count);
    EXPECT_TRUE(run(*env, worker->leave(env->after(kSecond))));
    return value();
  }
};

TEST_F(CompressedStoreTest, HalvesCountExactly) { EXPECT_EQ(value_after("bfloat16", 9), -9.0f); }
TEST_F(CompressedStoreTest, Float16Too) { EXPECT_EQ(value_after("float16", 9), -9.0f); }
TEST_F(CompressedStoreTest, Int8CountsAlmostExactly) { EXPECT_NEAR(value_after("int8", 9), -9.0f, 1e-5f); }

TEST_F(CompressedStoreTest, SaysWhatItSaved) {
  value_after("gradients=bfloat16", 5);
  // 2,112 bytes of arenas, five times, and the weights once more.
  EXPECT_EQ(count_log("compression (gradients=bfloat16,weights=none): sent 0.0 MB of gradients instead of 0.0"), 1u)
      << logs();
}

TEST_F(CompressedStoreTest, TheLargestComeFirstAndTheOthersLater) {
  Environment* env = nullptr;
  auto worker = start_compressing("top-k:0.25", env);
  ASSERT_TRUE(run(*env, step(*worker, {}, 1)));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(run(*env, step(*worker, {}, 0)));
  // Each of four steps sent a quarter of the kernel and of the bias; the scale, a single number, went with the first.
  EXPECT_EQ(value(), -1.0f);
}

TEST_F(CompressedStoreTest, ALostServerForgetsWhatWasNotSent) {
  Environment* env = nullptr;
  auto worker = start_compressing("top-k:0.25", env);
  ASSERT_TRUE(run(*env, step(*worker, {}, 1)));
  ASSERT_TRUE(run(*env, attach(*env, *worker)));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(run(*env, step(*worker, {}, 0)));
  const auto one = [&]() -> Task<Result<float>> {
    SHOAL_CO_TRY(std::unique_ptr<Snapshot> snapshot, co_await chief_->snapshot({}));
    float sum = 0;
    for (size_t shard = 0; shard < snapshot->plan().shards.size(); ++shard) {
      for (const Segment& segment : snapshot->plan().shards[shard].segments) {
        SHOAL_CO_TRY(const Snapshot::Part part, co_await snapshot->read(int(shard), 0, segment.offset, segment.bytes));
        for (float weight : floats(part.bytes)) sum += weight;
      }
    }
    SHOAL_CO_TRY_VOID(co_await snapshot->release());
    co_return sum;
  };
  EXPECT_EQ(value_or_raise(run(*chief_env_, one())), -(30 * 16 + 16) / 4.0f - 1);
}

}  // namespace
}  // namespace shoal::cluster
