// SPDX-License-Identifier: Apache-2.0
/// SHOAL_TRIAL, and what becomes of it beside TF_CONFIG and the places of other sources.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "shoal/cluster/tf_config.h"

namespace shoal::cluster {
namespace {

using testing::AllOf;
using testing::HasSubstr;

GetEnv reader(std::map<std::string, std::string, std::less<>> variables) {
  return [variables = std::move(variables)](std::string_view name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

TEST(Trial, IsNamedByTheEnvironmentWithoutTfConfig) {
  EXPECT_EQ(value_or_raise(task_from_environment(reader({}))).trial, std::nullopt);
  EXPECT_EQ(value_or_raise(task_from_environment(reader({{"SHOAL_TRIAL", " "}}))).trial, std::nullopt);
  const TaskConfig task = value_or_raise(task_from_environment(reader({{"SHOAL_TRIAL", "\t7\n"}})));
  EXPECT_EQ(task.trial, "7");
  EXPECT_EQ(task.source, ConfigSource::kLocal);
}

TEST(Trial, CountsForEverySource) {
  const std::map<std::string, std::string, std::less<>> torchrun{
      {"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "n0"}, {"MASTER_PORT", "29500"}, {"SHOAL_TRIAL", "3"}};
  const TaskConfig before = value_or_raise(task_from_environment(reader(torchrun)));
  EXPECT_EQ(before.trial, "3");
  EXPECT_EQ(value_or_raise(with_addresses(before, {"a:1", "b:1"}, {"x", "y"})).trial, "3");
  EXPECT_EQ(value_or_raise(task_from_environment(reader({{"SHOAL_SOURCE", "local"}, {"SHOAL_TRIAL", "3"}}))).trial, "3");
}

TEST(Trial, HasToAgreeWithTfConfig) {
  const auto both = [](const std::string& tf_config, const std::string& trial) {
    return task_from_environment(reader({{"TF_CONFIG", tf_config}, {"SHOAL_TRIAL", trial}}));
  };
  EXPECT_EQ(value_or_raise(both(R"({"task": {"trial": "4"}})", "4")).trial, "4");
  EXPECT_EQ(value_or_raise(both(R"({"model_dir": "m"})", "4")).trial, "4");
  EXPECT_EQ(value_or_raise(both(R"({"task": {"trial": "4"}})", "")).trial, "4");
  for (const char* other : {"5", "04"}) {
    const auto refused = both(R"({"task": {"trial": "4"}})", other);
    ASSERT_FALSE(refused) << other;
    EXPECT_EQ(refused.error().kind(), ErrorKind::kInvalidArgument);
    EXPECT_THAT(refused.error().message(),
                AllOf(HasSubstr("SHOAL_TRIAL: is \"" + std::string(other)), HasSubstr("task.trial of TF_CONFIG is \"4\"")));
  }
  // Where TF_CONFIG is not looked at, nothing contradicts.
  EXPECT_EQ(
      value_or_raise(task_from_environment(reader(
                         {{"TF_CONFIG", R"({"task": {"trial": "4"}})"}, {"SHOAL_TRIAL", "5"}, {"SHOAL_SOURCE", "local"}})))
          .trial,
      "5");
}

TEST(Trial, IsRefusedUnlessItIsUtf8) {
  const auto refused = trial_from_environment(reader({{"SHOAL_TRIAL", "h\xF6he"}}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::kInvalidArgument);
  EXPECT_THAT(refused.error().message(), AllOf(HasSubstr("SHOAL_TRIAL"), HasSubstr("is no UTF-8")));
  EXPECT_FALSE(task_from_environment(reader({{"SHOAL_TRIAL", "\xFF"}})));
}

}  // namespace
}  // namespace shoal::cluster
