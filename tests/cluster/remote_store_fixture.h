// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Stores over virtual servers, which tests start, kill and ask.
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "shoal/cluster/remote_store.h"
#include "virtual_cluster.h"

namespace shoal::cluster {

inline constexpr auto kSecond = std::chrono::seconds(1);

class RemoteStoreTest : public VirtualCluster {
 protected:
  using VirtualCluster::VirtualCluster;

  /// Starts servers, and a chief that makes the model ready.
  void start_ready_cluster() {
    for (size_t i = 0; i < plan_.shards.size(); ++i) server_envs_.push_back(&start_server(int(i)));
    chief_env_ = &add_task("chief 0");
    chief_ = chief_store(*chief_env_);
    const Ready ready = value_or_raise(run(*chief_env_, prepare(*chief_env_, *chief_)));
    ASSERT_FALSE(ready.attached);
    ASSERT_EQ(count_of(ready.epoch), 1u);
    first_epoch_ = ready.epoch;
  }
  /// The count in a number of next_epoch().
  static uint64_t count_of(uint64_t epoch) { return epoch >> 32; }
  /// A worker that has attached.
  std::unique_ptr<RemoteStore> start_worker(Environment*& env, int index = 0) {
    env = &add_task("worker " + std::to_string(index));
    auto store = worker_store(*env, index);
    const auto attached = run(*env, attach(*env, *store));
    EXPECT_TRUE(attached) << attached.error().message();
    return store;
  }
  void restart_server(int index) {
    kill(*server_envs_[size_t(index)]);
    server_envs_[size_t(index)] = &start_server(index);
    world_.run_for(std::chrono::milliseconds(50));
  }
  uint64_t global_step() { return value_or_raise(run(*chief_env_, chief_->global_step())); }
  float value() { return value_or_raise(run(*chief_env_, common_value(*chief_))); }
  void expect_servers_end_well() {
    world_.run_for(kSecond);
    for (size_t i = 0; i < plan_.shards.size(); ++i) {
      ASSERT_TRUE(server_done(int(i))) << "ps " << i << " still runs";
      const auto result = server_result(int(i));
      EXPECT_TRUE(result) << result.error().message();
    }
  }

  std::vector<Environment*> server_envs_;
  uint64_t first_epoch_ = 0;
  Environment* chief_env_ = nullptr;
  std::unique_ptr<RemoteStore> chief_;
};

class OneServerTest : public RemoteStoreTest {
 protected:
  OneServerTest() : RemoteStoreTest(1) {}
};
class ThreeServersTest : public RemoteStoreTest {
 protected:
  ThreeServersTest() : RemoteStoreTest(3) {}
};

}  // namespace shoal::cluster
