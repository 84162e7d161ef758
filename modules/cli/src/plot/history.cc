// SPDX-License-Identifier: Apache-2.0
#include "plot/history.h"

#include <algorithm>
#include <cmath>

namespace shoal::cli::plot {
namespace {

/// A larger table is no matrix of classes and would only fill the memory.
constexpr size_t kTableValuesMax = size_t(1) << 22;

template <class Map>
void drop_void(Map& sequences, const monitor::EventStart& start, bool of_training) {
  for (auto& [key, sequence] : sequences) {
    // Training has started again at start.first_step, so older values of this and later steps are void. All training values
    // read so far are older than the start, since their files are read in order. Evaluations come from other files: only
    // those with an earlier wall time than the start are dropped.
    if (key.source.empty() == of_training) sequence.drop_from(start.first_step, of_training ? INFINITY : start.wall_time);
  }
}

bool is_table(const monitor::EventValue& value) {
  if (value.shape.size() != 2 || value.values.empty() || value.values.size() > kTableValuesMax) return false;
  const int64_t count = int64_t(value.values.size());
  return value.shape[0] > 0 && count % value.shape[0] == 0 && count / value.shape[0] == value.shape[1];
}

}  // namespace

double History::seconds_at(double wall) const {
  const auto next =
      std::partition_point(pauses.begin(), pauses.end(), [wall](const Pause& pause) { return pause.from < wall; });
  if (next == pauses.begin()) return wall - first_wall;
  const Pause& last = *std::prev(next);
  return wall - first_wall - last.before - (std::min(wall, last.to) - last.from);
}

HistoryReader::HistoryReader(Storage& storage, std::string folder, Kept kept) : storage_(storage), kept_(kept) {
  history_.folder = std::move(folder);
}

Result<void> HistoryReader::read() {
  SHOAL_TRY(const std::vector<FileInfo> entries, storage_.list(history_.folder));
  // The events of training are read first: they tell when training went back to an earlier step. Evaluations of later steps
  // that were made before that time do not count.
  SHOAL_TRY_VOID(read_folder("", history_.folder));
  for (const FileInfo& entry : entries) {
    if (entry.is_folder && entry.name.starts_with("eval")) {
      SHOAL_TRY_VOID(read_folder(entry.name, join_path(history_.folder, entry.name)));
    }
  }
  for (auto& [key, sequence] : history_.scalars) sequence.settle();
  for (auto& [key, sequence] : history_.histograms) sequence.settle();
  return {};
}

Result<void> HistoryReader::read_folder(const std::string& source, const std::string& folder) {
  SHOAL_TRY(const std::vector<std::string> paths, monitor::list_event_files(storage_, folder));
  for (const std::string& path : paths) {
    File& file = files_[path];
    if (file.done) continue;
    if (!file.reader) file.reader = std::make_unique<monitor::EventFileReader>(storage_, path);
    SHOAL_TRY_VOID(read_file(source, file));
    file.done |= !kept_.newest_files || path != paths.back();
    if (file.done) file.reader.reset();
  }
  return {};
}

Result<void> HistoryReader::read_file(const std::string& source, File& file) {
  for (monitor::EventValue value;;) {
    const Result<bool> found = file.reader->next(value);
    if (!found && found.error().kind() == ErrorKind::kDataLoss) {
      damage_.push_back(found.error());
      file.done = true;
    } else if (!found && found.error().kind() != ErrorKind::kNotFound) {  // kNotFound: the file was deleted.
      return found.error();
    }
    for (const monitor::EventStart& start : file.reader->take_starts()) {
      if (source.empty()) begin_training(start);
    }
    if (!found || !*found) return {};
    take(source, value);
  }
}

void HistoryReader::begin_training(const monitor::EventStart& start) {
  if (!std::isfinite(start.wall_time)) return;
  // Evaluations are dropped only if this start of training goes back to a step that the run had passed already. Wall time
  // alone cannot decide which evaluations came before the start, because the evaluator's clock may be behind.
  const bool goes_back = newest_step_ >= start.first_step;
  newest_step_ = std::min(newest_step_, start.first_step - 1);
  drop_void(history_.scalars, start, true);
  drop_void(history_.histograms, start, true);
  if (goes_back) drop_void(history_.scalars, start, false);
  if (goes_back) drop_void(history_.histograms, start, false);
  if (!history_.has_events) history_.first_wall = start.wall_time;
  if (history_.has_events && start.wall_time > history_.last_wall) {
    const double before = history_.pauses.empty()
                              ? 0
                              : history_.pauses.back().before + history_.pauses.back().to - history_.pauses.back().from;
    history_.pauses.push_back({history_.last_wall, start.wall_time, before});
  }
  history_.has_events = true;
  history_.last_wall = std::max(history_.last_wall, start.wall_time);
  if (!goes_back) return;
  std::vector<monitor::EventStart>& starts = history_.starts;
  // Keeps wall times ascending if the clock has gone back.
  const double wall = starts.empty() ? start.wall_time : std::max(start.wall_time, starts.back().wall_time);
  while (!starts.empty() && starts.back().first_step >= start.first_step) starts.pop_back();
  starts.push_back({wall, start.first_step});
}

bool HistoryReader::is_void(int64_t step, double wall) const {
  const auto later = std::partition_point(history_.starts.begin(), history_.starts.end(),
                                          [wall](const monitor::EventStart& start) { return start.wall_time <= wall; });
  return later != history_.starts.end() && step >= later->first_step;
}

void HistoryReader::take(const std::string& source, monitor::EventValue& value) {
  using Kind = monitor::EventValue::Kind;
  // Values of kOther do not show when training ran: a restarted run writes its hyper-parameters before it trains.
  if (!std::isfinite(value.wall_time) || value.kind == Kind::kOther) return;
  const bool trains = source.empty();
  if (!trains && is_void(value.global_step, value.wall_time)) return;
  if (!history_.has_events) history_.first_wall = value.wall_time;
  history_.has_events = true;
  if (trains) history_.last_wall = std::max(history_.last_wall, value.wall_time);
  if (trains) newest_step_ = std::max(newest_step_, value.global_step);
  Key key{source, std::move(value.tag)};
  if (value.kind == Kind::kScalar) {
    history_.scalars[std::move(key)].add({value.global_step, value.wall_time, value.scalar});
  } else if (value.kind == Kind::kHistogram && kept_.histograms) {
    history_.histograms[std::move(key)].add({value.global_step, value.wall_time, std::move(value.histogram)});
  } else if (value.kind == Kind::kTensor && kept_.tables && is_table(value)) {
    Timed<Table>& table = history_.tables[std::move(key)];
    if (!table.value.plugin.empty() && value.global_step < table.step) return;
    table = {value.global_step, value.wall_time, {value.plugin, value.shape[0], value.shape[1], std::move(value.values)}};
  }
}

}  // namespace shoal::cli::plot
