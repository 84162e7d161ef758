// SPDX-License-Identifier: Apache-2.0
/// The page that monitoring systems read, sample by sample.
#include "metrics_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace shoal::monitor {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string page_of(const MeterRegistry& registry) {
  const auto tasks = registry.tasks();
  return metrics_page({.version = "1.2.3", .tasks = tasks, .process = std::nullopt});
}

TEST(MetricsPage, OfNoTaskSaysWhatIsBuilt) {
  EXPECT_EQ(page_of(MeterRegistry()),
            "# HELP shoal_build_info The version of Shoal, and the backend that computes; always 1.\n"
            "# TYPE shoal_build_info gauge\n"
            "shoal_build_info{version=\"1.2.3\",backend=\"\"} 1\n");
}

TEST(MetricsPage, TellsOfATrainer) {
  MeterRegistry registry;
  const auto chief = registry.add({.role = "chief", .index = 0, .backend = "portable"});
  EXPECT_THAT(page_of(registry), Not(HasSubstr("shoal_loss")));
  chief->set_phase(TaskPhase::kTraining);
  chief->step({.global_step = 7, .examples = 32, .loss = 0.5, .time = std::chrono::milliseconds(30)});
  chief->step({.global_step = 9, .examples = 16, .loss = 0.25, .time = std::chrono::minutes(2)});
  chief->input_wait.add(std::chrono::milliseconds(1500));
  const std::string page = page_of(registry);
  const std::string labels = "{task=\"chief 0\",role=\"chief\",index=\"0\"";
  EXPECT_THAT(page, HasSubstr("backend=\"portable\"} 1\n"));
  EXPECT_THAT(page, HasSubstr("shoal_global_step" + labels + "} 9\n"));
  EXPECT_THAT(page, HasSubstr("shoal_steps_total" + labels + "} 2\n"));
  EXPECT_THAT(page, HasSubstr("shoal_examples_total" + labels + "} 48\n"));
  EXPECT_THAT(page, HasSubstr("shoal_loss" + labels + "} 0.25\n"));
  EXPECT_THAT(page, HasSubstr("shoal_input_wait_seconds_total" + labels + "} 1.5\n"));
  EXPECT_THAT(page, HasSubstr("shoal_step_duration_seconds_bucket" + labels + ",le=\"0.025\"} 0\n"));
  EXPECT_THAT(page, HasSubstr("shoal_step_duration_seconds_bucket" + labels + ",le=\"0.05\"} 1\n"));
  EXPECT_THAT(page, HasSubstr("shoal_step_duration_seconds_bucket" + labels + ",le=\"60\"} 1\n"));
  EXPECT_THAT(page, HasSubstr("shoal_step_duration_seconds_bucket" + labels + ",le=\"+Inf\"} 2\n"));
  EXPECT_THAT(page, HasSubstr("shoal_step_duration_seconds_sum" + labels + "} 120.03\n"));
  EXPECT_THAT(page, HasSubstr("shoal_step_duration_seconds_count" + labels + "} 2\n"));
  EXPECT_THAT(page, HasSubstr("shoal_phase" + labels + ",phase=\"training\"} 1\n"));
  EXPECT_THAT(page, HasSubstr("shoal_phase" + labels + ",phase=\"saving\"} 0\n"));
  EXPECT_THAT(page, HasSubstr("shoal_up" + labels + "} 1\n"));
  chief->set_phase(TaskPhase::kEnded);
  EXPECT_THAT(page_of(registry), HasSubstr("shoal_up" + labels + "} 0\n"));
}

TEST(MetricsPage, TellsOfAServer) {
  MeterRegistry registry;
  const auto server = registry.add({.role = "ps", .index = 1});
  server->applied(3, 0);
  server->applied(4, 3);
  server->applied(5, 1000);
  server->attach({.post = [](Work) {}, .wire = [] { return TaskAccess::WireBytes{.sent = 10, .received = 20}; }});
  const std::string page = page_of(registry);
  const std::string labels = "{task=\"ps 1\",role=\"ps\",index=\"1\"";
  EXPECT_THAT(page, HasSubstr("shoal_staleness_steps_bucket" + labels + ",le=\"0\"} 1\n"));
  EXPECT_THAT(page, HasSubstr("shoal_staleness_steps_bucket" + labels + ",le=\"4\"} 2\n"));
  EXPECT_THAT(page, HasSubstr("shoal_staleness_steps_bucket" + labels + ",le=\"+Inf\"} 3\n"));
  EXPECT_THAT(page, HasSubstr("shoal_updates_applied_total" + labels + "} 3\n"));
  EXPECT_THAT(page, HasSubstr("shoal_wire_bytes_total" + labels + ",direction=\"received\"} 20\n"));
  server->detach();
  EXPECT_THAT(page_of(registry), HasSubstr("shoal_wire_bytes_total" + labels + ",direction=\"sent\"} 10\n"));
}

TEST(MetricsPage, TellsOfEvaluations) {
  MeterRegistry registry;
  const auto task = registry.add({});
  task->evaluated({{"global_step", 50}, {"loss", 0.125}, {"precision/\"a\"", std::nan("")}});
  const std::string page = page_of(registry);
  const std::string labels = "{task=\"local\",role=\"local\",index=\"0\"";
  EXPECT_THAT(page, HasSubstr("shoal_evaluation" + labels + ",metric=\"loss\"} 0.125\n"));
  EXPECT_THAT(page, HasSubstr("shoal_evaluation" + labels + ",metric=\"precision/\\\"a\\\"\"} NaN\n"));
  EXPECT_THAT(page, HasSubstr("shoal_evaluation_step" + labels + "} 50\n"));
  EXPECT_THAT(page, HasSubstr("shoal_evaluations_total" + labels + "} 1\n"));
  EXPECT_THAT(page, Not(HasSubstr("metric=\"global_step\"")));
}

/// Two series of one name and labels would be refused by whoever reads them.
TEST(MetricsPage, HasATaskOnceThatRunsTwice) {
  MeterRegistry registry;
  const auto first = registry.add({.role = "worker", .index = 2});
  EXPECT_EQ(registry.add({.role = "worker", .index = 2}), first);
  EXPECT_NE(registry.add({.role = "worker", .index = 3}), first);
  EXPECT_EQ(registry.tasks().size(), 2u);
}

TEST(MetricsPage, WritesNumbersAndLabelsAsTheFormatHasThem) {
  EXPECT_EQ(sample_value(std::nan("")), "NaN");
  EXPECT_EQ(sample_value(INFINITY), "+Inf");
  EXPECT_EQ(sample_value(-INFINITY), "-Inf");
  EXPECT_EQ(sample_value(0.1), "0.1");
  EXPECT_EQ(sample_value(9007199254740993.0), "9007199254740992");
  EXPECT_EQ(escaped_label("a\\b\"c\nd"), "a\\\\b\\\"c\\nd");
  EXPECT_EQ(escaped_label("h\xc3\xb6he"), "h\xc3\xb6he");
  EXPECT_EQ(escaped_label("h\xf6he"), "h?he");
}

TEST(ProcessMeters, KnowThisProcess) {
  const auto process = ProcessReader().read();
  ASSERT_TRUE(process);
  EXPECT_GT(process->resident_bytes, 1'000'000u);
  EXPECT_LT(process->resident_bytes, process->virtual_bytes);
  EXPECT_GE(process->threads, 1u);
  const double now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  EXPECT_GT(process->start_time, now - 3600);
  EXPECT_LT(process->start_time, now + 5);
}

}  // namespace
}  // namespace shoal::monitor
