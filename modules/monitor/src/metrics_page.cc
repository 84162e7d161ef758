// SPDX-License-Identifier: Apache-2.0
#include "metrics_page.h"

#include <cmath>
#include <functional>

#include "shoal/base/format.h"
#include "shoal/base/utf8.h"

namespace shoal::monitor {
namespace {

using Meters = TaskMeters;

/// Writes one metric family after another: help, type, and a sample of each task.
class PageWriter {
 public:
  explicit PageWriter(const MetricsPageFacts& facts) : facts_(facts) {
    for (const auto& task : facts.tasks) {
      const TaskLabels& labels = task->labels();
      labels_.push_back("task=\"" + escaped_label(task->name()) + "\",role=\"" + escaped_label(labels.role) +
                        "\",index=\"" + std::to_string(labels.index) + "\"");
    }
  }

  std::string take() { return std::move(text_); }

  void family(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    text_.append("# HELP ").append(name).append(" ").append(help);
    text_.append("\n# TYPE ").append(name).append(" ").append(type).append("\n");
  }
  void sample(std::string_view labels, double value, std::string_view suffix = {}) {
    text_.append(name_).append(suffix);
    if (!labels.empty()) text_.append("{").append(labels).append("}");
    text_.append(" ").append(sample_value(value)).append("\n");
  }
  /// Adds a gauge with a sample of each task that has set it; adds nothing if no task has.
  void gauge(std::string_view name, std::string_view help, Gauge Meters::*gauge) {
    by_task(name, "gauge", help, [gauge](const Meters& task) -> std::optional<double> {
      const Gauge& value = task.*gauge;
      return value.is_set() ? std::optional(value.value()) : std::nullopt;
    });
  }
  void counter(std::string_view name, std::string_view help, Counter Meters::*counter) {
    by_task(name, "counter", help,
            [counter](const Meters& task) { return std::optional(double((task.*counter).value())); });
  }
  void by_task(std::string_view name, std::string_view type, std::string_view help,
               const std::function<std::optional<double>(const Meters&)>& value) {
    bool begun = false;
    for (size_t i = 0; i < facts_.tasks.size(); ++i) {
      const std::optional<double> is = value(*facts_.tasks[i]);
      if (!is) continue;
      if (!begun) family(name, type, help);
      begun = true;
      sample(labels_[i], *is);
    }
  }
  template <size_t kBuckets>
  void histogram(std::string_view name, std::string_view help, BucketCounts<kBuckets> Meters::*buckets) {
    if (facts_.tasks.empty()) return;
    family(name, "histogram", help);
    for (size_t i = 0; i < facts_.tasks.size(); ++i) {
      const BucketCounts<kBuckets>& counts = (*facts_.tasks[i]).*buckets;
      uint64_t so_far = 0;
      for (size_t bucket = 0; bucket <= kBuckets; ++bucket) {
        so_far += counts.count(bucket);
        const std::string bound = bucket < kBuckets ? sample_value(counts.bounds()[bucket]) : "+Inf";
        sample(labels_[i] + ",le=\"" + bound + "\"", double(so_far), "_bucket");
      }
      sample(labels_[i], counts.sum(), "_sum");
      sample(labels_[i], double(so_far), "_count");
    }
  }
  const std::string& labels(size_t task) const { return labels_[task]; }

 private:
  const MetricsPageFacts& facts_;
  std::vector<std::string> labels_;  // For each task, its labels in Prometheus's format: task="...",role="..."
  std::string name_, text_;
};

void write_build(PageWriter& page, const MetricsPageFacts& facts) {
  std::string backend;  // If several tasks of this process compute, all of them use this backend.
  for (const auto& task : facts.tasks) {
    if (backend.empty()) backend = task->labels().backend;
  }
  page.family("shoal_build_info", "gauge", "The version of Shoal, and the backend that computes; always 1.");
  page.sample("version=\"" + escaped_label(facts.version) + "\",backend=\"" + escaped_label(backend) + "\"", 1);
}

void write_phases(PageWriter& page, const MetricsPageFacts& facts) {
  page.by_task("shoal_up", "gauge", "1 while the task runs, 0 once it has ended.",
               [](const Meters& task) { return std::optional(task.phase() == TaskPhase::kEnded ? 0.0 : 1.0); });
  if (facts.tasks.empty()) return;
  page.family("shoal_phase", "gauge", "1 for the phase that the task is in, 0 for the others.");
  for (size_t i = 0; i < facts.tasks.size(); ++i) {
    for (const TaskPhase phase : {TaskPhase::kStarting, TaskPhase::kTraining, TaskPhase::kSaving, TaskPhase::kEvaluating,
                                  TaskPhase::kServing, TaskPhase::kEnded}) {
      page.sample(page.labels(i) + ",phase=\"" + to_string(phase) + "\"", facts.tasks[i]->phase() == phase ? 1 : 0);
    }
  }
}

void write_training(PageWriter& page) {
  page.gauge("shoal_global_step", "The job's global step, as far as the task knows.", &Meters::global_step);
  page.gauge("shoal_loss", "The loss of the task's last batch.", &Meters::loss);
  page.counter("shoal_steps_total", "Steps that this process of the task has made.", &Meters::steps);
  page.counter("shoal_examples_total", "Examples in the batches of these steps.", &Meters::examples);
  page.histogram("shoal_step_duration_seconds", "How long each step took, the wait for input included.",
                 &Meters::step_seconds);
  page.by_task("shoal_input_wait_seconds_total", "counter", "Time that steps have waited for their batches.",
               [](const Meters& task) { return std::optional(task.input_wait.seconds()); });
  page.gauge("shoal_checkpoint_step", "The global step of the newest checkpoint that the task has written.",
             &Meters::checkpoint_step);
  page.gauge("shoal_checkpoint_timestamp_seconds", "When that checkpoint was written, in seconds since 1970.",
             &Meters::checkpoint_time);
  page.histogram("shoal_checkpoint_duration_seconds", "How long each checkpoint took to write.",
                 &Meters::checkpoint_seconds);
}

void write_evaluations(PageWriter& page, const MetricsPageFacts& facts) {
  std::vector<TaskMeters::Evaluation> evaluations;
  for (const auto& task : facts.tasks) evaluations.push_back(task->evaluation());
  bool any = false;
  for (size_t i = 0; i < evaluations.size(); ++i) {
    for (const auto& [name, value] : evaluations[i].metrics) {
      if (name == "global_step") continue;
      if (!any) page.family("shoal_evaluation", "gauge", "A metric of the task's last evaluation.");
      any = true;
      page.sample(page.labels(i) + ",metric=\"" + escaped_label(name) + "\"", value);
    }
  }
  size_t next = 0;
  page.by_task("shoal_evaluation_step", "gauge", "The global step of the checkpoint that was evaluated last.",
               [&](const Meters&) -> std::optional<double> {
                 const auto& metrics = evaluations[next++].metrics;
                 const auto step = metrics.find("global_step");
                 return step == metrics.end() ? std::nullopt : std::optional(step->second);
               });
  next = 0;
  page.by_task("shoal_evaluations_total", "counter", "Evaluations that this process of the task has made.",
               [&](const Meters&) { return std::optional(double(evaluations[next++].count)); });
}

void write_cluster(PageWriter& page, const MetricsPageFacts& facts) {
  page.gauge("shoal_peers_connected", "How many tasks of the job are connected to this one.", &Meters::peers_connected);
  page.counter("shoal_updates_applied_total", "Updates of trainers that this parameter server has applied.",
               &Meters::updates);
  page.histogram("shoal_staleness_steps",
                 "How many updates older the weights were that each applied update was computed from.", &Meters::staleness);
  if (facts.tasks.empty()) return;
  page.family("shoal_wire_bytes_total", "counter",
              "Bytes of messages that the task has exchanged with the others of its job.");
  for (size_t i = 0; i < facts.tasks.size(); ++i) {
    const TaskAccess::WireBytes bytes = facts.tasks[i]->wire_bytes();
    page.sample(page.labels(i) + ",direction=\"sent\"", double(bytes.sent));
    page.sample(page.labels(i) + ",direction=\"received\"", double(bytes.received));
  }
}

void write_process(PageWriter& page, const ProcessMeters& process) {
  const auto one = [&page](std::string_view name, std::string_view type, std::string_view help, double value) {
    page.family(name, type, help);
    page.sample("", value);
  };
  one("process_cpu_seconds_total", "counter", "Time on a processor of all threads, in the program and in the system.",
      process.cpu_seconds);
  one("process_resident_memory_bytes", "gauge", "Memory of the process that is resident.", double(process.resident_bytes));
  one("process_virtual_memory_bytes", "gauge", "Addresses that the process has taken.", double(process.virtual_bytes));
  one("process_threads", "gauge", "Threads of the process.", double(process.threads));
  if (process.start_time > 0) {
    one("process_start_time_seconds", "gauge", "When the process began, in seconds since 1970.", process.start_time);
  }
}

}  // namespace

std::string metrics_page(const MetricsPageFacts& facts) {
  PageWriter page(facts);
  write_build(page, facts);
  write_phases(page, facts);
  write_training(page);
  write_evaluations(page, facts);
  write_cluster(page, facts);
  if (facts.process) write_process(page, *facts.process);
  return page.take();
}

std::string escaped_label(std::string_view value) {
  if (find_no_utf8(value)) {
    std::string plain(value);
    for (char& c : plain) {
      if (static_cast<unsigned char>(c) >= 0x80) c = '?';
    }
    return escaped_label(plain);
  }
  std::string escaped;
  for (const char c : value) {
    if (c == '\\' || c == '"') escaped += '\\';
    if (c == '\n') {
      escaped += "\\n";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string sample_value(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return shortest_text(value);
}

}  // namespace shoal::monitor
