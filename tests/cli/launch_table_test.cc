// SPDX-License-Identifier: Apache-2.0
// The display of a launch on a terminal: the facts that it reads from the lines of its tasks, and the table that it draws.
#include "fixture.h"
#include "launch/child_group.h"
#include "launch/job_progress.h"
#include "launch/live_table.h"

namespace shoal::cli::launch {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(LaunchLines, AreOfFourKinds) {
  EXPECT_EQ(kind_of("step 1,200/2,000  loss 0.0312  85.1 steps/s  10,893 examples/s  9 s left"), LineKind::kProgress);
  EXPECT_EQ(kind_of("09:43:32.598 I chief 0: loss = 2.37044, step = 5"), LineKind::kInformation);
  EXPECT_EQ(kind_of("09:43:32.598 W chief 0: a warning"), LineKind::kWarning);
  EXPECT_EQ(kind_of("09:43:32.598 E a failure"), LineKind::kWarning);
  for (const char* own : {"", "step by step", "step 5  loss 2.37", "09:43 I am awake", "09:43:32.598 X chief 0: no level",
                          "09:43:32.598 I ", "error: --model: softmax not in {mlp,cnn}"}) {
    EXPECT_EQ(kind_of(own), LineKind::kOwn) << own;
  }
}

TEST(LaunchProgress, IsReadOutOfTheLinesOfTasks) {
  JobProgress job({Role::kChief, Role::kServer, Role::kWorker, Role::kEvaluator});
  EXPECT_FALSE(job.of(0).works);
  job.heed(0, "09:43:37.849 I chief 0: 1 compute thread, for 2 usable cores and 3 tasks on this host");
  EXPECT_FALSE(job.of(0).works);
  job.heed(0, "09:43:38.108 I chief 0: loss = 2.37044, step = 5");
  EXPECT_TRUE(job.of(0).works);
  EXPECT_EQ(job.of(0).step, 5);
  EXPECT_EQ(job.of(0).steps_per_second, "");
  job.heed(0, "step 1,490/6,000  loss 0.003063  48.4 steps/s  1,539 examples/s  2 s left  50.5 batches/s in all");
  EXPECT_EQ(job.of(0).step, 1490);
  EXPECT_EQ(job.of(0).steps_per_second, "48.4");
  EXPECT_EQ(job.of(0).examples_per_second, "1,539");
  job.heed(2, "09:43:49.793 I worker 0: loss = 0.120944, step = 586 (3.240 s)");
  EXPECT_EQ(job.of(2).step, 586);
  job.heed(2, "09:43:50.066 I worker 0: training finished at global step 601 (max_steps)");
  EXPECT_EQ(job.of(2).step, 601);
  job.heed(3, "09:43:44.583 I evaluator 0: evaluation: accuracy = 0.0951, global_step = 500, loss = 2.32918");
  EXPECT_EQ(job.of(3).step, 500);
  job.started(2);
  EXPECT_FALSE(job.of(2).works);
  EXPECT_EQ(job.of(2).step, std::nullopt);
}

TEST(LaunchProgress, KnowsWhomATaskWaitsFor) {
  JobProgress job({Role::kChief, Role::kServer, Role::kWorker, Role::kEvaluator});
  job.heed(3, "09:43:30.000 W evaluator 0: waiting for the chief: /m was left by a run that ended");
  EXPECT_NE(job.of(3).waiting_for, "");
  job.heed(3, "09:43:44.583 I evaluator 0: evaluation: accuracy = 0.0951, global_step = 500, loss = 2.32918");
  EXPECT_EQ(job.of(3).waiting_for, "");
  job.heed(1, "09:43:32.616 I ps 0: parameter server at tcp://127.0.0.1:38785, waiting for the chief");
  EXPECT_EQ(job.of(1).waiting_for, "the chief");
  job.heed(1, "09:43:37.700 I ps 0: worker 0 is connected, from tcp://127.0.0.1:45960");
  EXPECT_EQ(job.of(1).waiting_for, "the chief");
  job.heed(1, "09:43:37.860 I ps 0: chief 0 is connected, from tcp://127.0.0.1:45972");
  EXPECT_EQ(job.of(1).waiting_for, "");
  EXPECT_FALSE(job.of(1).works);
  job.heed(1, "09:43:37.881 I ps 0: model ready at global step 0");
  EXPECT_TRUE(job.of(1).works);

  job.heed(2, "09:43:40.000 W worker 0: waiting for the parameter servers: no message came in time");
  EXPECT_EQ(job.of(2).waiting_for, "the parameter servers: no message came in time");
  job.heed(2, "09:43:41.000 I worker 0: loss = 0.1, step = 7 (3.240 s)");
  EXPECT_EQ(job.of(2).waiting_for, "");

  job.heed(1, "09:44:00.000 I ps 0: step 8 has been waiting for 20 s or more for trainer 2 (connected)");
  EXPECT_EQ(job.of(1).waiting_for, "20 s or more for trainer 2 (connected)");
  job.heed(0, "09:44:01.000 I chief 0: loss = 0.1, step = 7 (3.240 s)");
  EXPECT_NE(job.of(1).waiting_for, "");
  job.heed(0, "09:44:02.000 I chief 0: loss = 0.1, step = 8 (3.240 s)");  // Somebody got on.
  EXPECT_EQ(job.of(1).waiting_for, "");
}

TEST(LaunchProgress, OddLinesAreNoFailure) {
  JobProgress job({Role::kChief});
  for (const char* line : {"step ,/ steps/s", "step 99999999999999999999  1 steps/s", "step steps/s",
                           "09:43:38.108 I chief 0: loss = 2.37044, step = ", "09:43:38.108 I waiting for "}) {
    job.heed(0, line);
  }
  EXPECT_EQ(job.of(0).step, std::nullopt);
}

TEST(LaunchProgress, StatesAreTheTasks) {
  const SteadyTime now{};
  const TaskProgress begins, works{.works = true};
  const auto text = [&](TaskState state, Role role, const TaskProgress& progress) {
    return state_text(state, role, progress, now);
  };
  EXPECT_EQ(text({.runs = true}, Role::kChief, begins), "running");
  EXPECT_EQ(text({.runs = true}, Role::kChief, works), "training");
  EXPECT_EQ(text({.runs = true}, Role::kWorker, works), "training");
  EXPECT_EQ(text({.runs = true}, Role::kServer, works), "serving");
  EXPECT_EQ(text({.runs = true}, Role::kEvaluator, works), "evaluating");
  EXPECT_EQ(text({.start_at = now + milliseconds(3400)}, Role::kWorker, works), "again in 4 s");
  EXPECT_EQ(text({.start_at = now - seconds(3)}, Role::kWorker, works), "again in 0 s");
  EXPECT_EQ(text({.done = true}, Role::kWorker, works), "done");
  EXPECT_EQ(text({}, Role::kWorker, works), "ended");
}

std::vector<TableRow> four_rows() {
  return {
      {.task = "chief 0", .state = "training", .step = "1204", .steps_per_second = "85.1", .examples_per_second = "10,893"},
      {.task = "ps 0", .state = "serving"},
      {.task = "worker 0", .state = "again in 4 s", .step = "912", .restarts = "2", .settled = false},
      {.task = "evaluator 0", .state = "evaluating", .step = "900"}};
}

TEST(LaunchTable, HasTheColumnsThatSayAnything) {
  EXPECT_THAT(
      table_lines(four_rows(), {}),
      ElementsAre("task         state         step  steps/s  examples/s  restarts",
                  "chief 0      training      1204     85.1      10,893", "ps 0         serving",
                  "worker 0     again in 4 s   912                              2", "evaluator 0  evaluating     900"));
  std::vector<TableRow> rows = four_rows();
  rows[1].host = "board2";
  rows[1].memory = "28.1 MiB";
  rows[0].waiting_for = "ps 1";
  EXPECT_THAT(table_lines(rows, {.columns = 200})[0],
              HasSubstr("task         host    state         step  steps/s  examples/s  restarts    memory  waiting for"));
}

TEST(LaunchTable, IsNoWiderThanTheTerminal) {
  std::vector<TableRow> rows = four_rows();
  rows[0].waiting_for = "b\xc3\xb6rd";
  for (int columns = 1; columns < 100; ++columns) {
    for (const std::string& line : table_lines(rows, {.columns = columns})) {
      EXPECT_LE(characters_in(line), size_t(std::max(columns - 1, 10)));
      EXPECT_FALSE(line.ends_with("\xc3")) << "half a character at " << columns;
    }
  }
}

TEST(LaunchTable, NothingMovesTheCursor) {
  std::vector<TableRow> rows = four_rows();
  rows[0].waiting_for = "a\tb \x1b[31mred\x7f\r\n";
  EXPECT_THAT(table_lines(rows, {.columns = 200})[1], ::testing::EndsWith("  a b  [31mred"));
}

TEST(LaunchTable, IsNoHigherThanTheTerminalAndKeepsWhatMatters) {
  std::vector<TableRow> rows(200);
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = {.task = "worker " + std::to_string(i), .state = "training"};
  rows[150].settled = rows[180].settled = false;
  const std::vector<std::string> lines = table_lines(rows, {.lines = 8});
  ASSERT_THAT(lines, SizeIs(7));
  EXPECT_THAT(lines[1], HasSubstr("worker 0"));
  EXPECT_THAT(lines[3], HasSubstr("worker 2"));
  EXPECT_THAT(lines[4], HasSubstr("worker 150"));
  EXPECT_THAT(lines[5], HasSubstr("worker 180"));
  EXPECT_EQ(lines[6], "and 195 more tasks");
  for (const int few : {-1, 0, 1, 2, 3}) EXPECT_THAT(table_lines(rows, {.lines = few}), SizeIs(2));
}

TEST(LaunchTable, TakesBackWhatItHasDrawnAndPutsLinesAbove) {
  LiveTable table;
  const std::vector<TableRow> row{{.task = "chief 0", .state = "training"}};
  const std::string drawn = "task     state     step  steps/s  examples/s  restarts\nchief 0  training\n";
  EXPECT_EQ(table.redraw(table_lines(row, {}), 80), drawn);
  EXPECT_EQ(table.redraw(table_lines(row, {}), 80), "\x1b[2A\r\x1b[J" + drawn);
  table.above() << "[ps 0] a warning\n";
  EXPECT_EQ(table.redraw(table_lines(row, {}), 80), "\x1b[2A\r\x1b[J[ps 0] a warning\n" + drawn);
  EXPECT_EQ(table.redraw(table_lines(row, {}), 80), "\x1b[2A\r\x1b[J" + drawn);
  // In a terminal of 20 columns its head wraps to three lines.
  EXPECT_THAT(table.redraw(table_lines(row, {.columns = 20}), 20), ::testing::StartsWith("\x1b[4A\r\x1b[J"));
  table.above() << "[ps 0] another\n";
  EXPECT_EQ(table.close(80), "\x1b[2A\r\x1b[J[ps 0] another\n");
  EXPECT_EQ(table.redraw(table_lines(row, {}), 80), drawn);
  table.leave_behind();
  EXPECT_EQ(table.close(80), "");
}

TEST(LaunchChild, TellsItsMemory) {
  const OrphanAdoption adoption;
  Result<ChildGroup> group = ChildGroup::start({.file = "/bin/sleep", .command = {"sleep", "60"}, .environment = {}});
  ASSERT_TRUE(group);
  const auto bytes = group->resident_bytes();
  ASSERT_TRUE(bytes);
  EXPECT_GT(*bytes, 4096u);
  EXPECT_LT(*bytes, uint64_t(1) << 30);
}

}  // namespace
}  // namespace shoal::cli::launch
