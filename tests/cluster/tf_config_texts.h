// SPDX-License-Identifier: Apache-2.0
#pragma once
/// TF_CONFIG texts, and the results of parsing them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "shoal/cluster/tf_config.h"

namespace shoal::cluster {

inline constexpr const char* kExampleCluster =
    R"("cluster": {"chief": ["host0:2222"], "worker": ["host1:2222", "host2:2222", "host3:2222"],
       "ps": ["host4:2222", "host5:2222"]})";

/// The contract's example with another task.
inline std::string example(const std::string& task) {
  return std::string("{") + kExampleCluster + ", \"task\": " + task + "}";
}
inline std::string with_chief(const std::string& more_cluster,
                              const std::string& task = R"({"type": "chief", "index": 0})") {
  return R"({"cluster": {"chief": ["h:1"], )" + more_cluster + R"(}, "task": )" + task + "}";
}
inline std::string with_index(const std::string& index) { return example(R"({"type": "worker", "index": )" + index + "}"); }

inline TaskConfig parsed(const std::string& text) {
  Result<TaskConfig> task = parse_tf_config(text);
  EXPECT_TRUE(task) << text.substr(0, 500) << "\n" << (task ? "" : task.error().message());
  return task ? *task : TaskConfig{};
}

inline void expect_refused(const std::string& text, ErrorKind kind, const std::vector<std::string>& parts,
                           const TfConfigOptions& options = {}) {
  const Result<TaskConfig> task = parse_tf_config(text, options);
  ASSERT_FALSE(task) << text.substr(0, 500);
  EXPECT_EQ(task.error().kind(), kind) << task.error().message();
  EXPECT_THAT(task.error().message(), testing::StartsWith("TF_CONFIG: "));
  for (const std::string& part : parts)
    EXPECT_THAT(task.error().message(), testing::HasSubstr(part)) << text.substr(0, 500);
  EXPECT_LT(task.error().message().size(), 3000u);
}
inline void expect_invalid(const std::string& text, const std::vector<std::string>& parts) {
  expect_refused(text, ErrorKind::kInvalidArgument, parts);
}
inline void expect_mismatch(const std::string& text, const std::vector<std::string>& parts) {
  expect_refused(text, ErrorKind::kTypeMismatch, parts);
}

inline void expect_local(const TaskConfig& task) {
  EXPECT_EQ(task.mode, TaskMode::kLocal);
  EXPECT_EQ(task.type, "worker");
  EXPECT_EQ(task.index, 0);
  EXPECT_TRUE(task.is_chief);
  EXPECT_EQ(task.num_ps, 0);
  EXPECT_EQ(task.num_workers, 1);
  EXPECT_EQ(task.global_id, 0);
  EXPECT_EQ(task.rpc_address, "");
  EXPECT_TRUE(task.cluster.empty());
  EXPECT_EQ(task.trainer_index(), 0);
  EXPECT_EQ(task.num_trainers(), 1);
}

}  // namespace shoal::cluster
