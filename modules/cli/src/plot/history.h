// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What the event files of one run hold: those of its training in the folder itself, those of its evaluations in folders below.
///
/// A start of training makes earlier events of its step and of later ones void (docs/formats.md): these are of steps that
/// were lost with a crash, and are left out, evaluations of such steps too.
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "plot/sequence.h"
#include "shoal/monitor/event_reader.h"

namespace shoal::cli::plot {

struct Key {
  std::string source;  ///< The folder of an evaluation, "eval" or "eval_test"; empty for training.
  std::string tag;
  friend auto operator<=>(const Key&, const Key&) = default;
  /// "loss", "eval/loss".
  std::string text() const { return source.empty() ? tag : source + "/" + tag; }
};

/// A tensor of two axes, as evaluations write matrices and curves of rates.
struct Table {
  std::string plugin;  ///< "pr_curves", "shoal_confusion_matrix", ...
  int64_t rows = 0, columns = 0;
  std::vector<float> values;  ///< Row by row.
};

struct History {
  std::string folder;
  std::map<Key, Sequence<double>> scalars;
  std::map<Key, Sequence<monitor::Histogram>> histograms;
  std::map<Key, Timed<Table>> tables;  ///< The newest of each.
  /// Those that make anything void that later ones do not: both wall times and steps ascend.
  std::vector<monitor::EventStart> starts;
  /// A span of wall time in which nothing was trained: from the last event before a start of training to that start.
  struct Pause {
    double from = 0, to = 0;
    double before = 0;  ///< Seconds of all pauses before this one.
  };
  std::vector<Pause> pauses;  ///< By time.
  double first_wall = 0;      ///< Of the first event; 0 if there is none.
  double last_wall = 0;       ///< Of the newest event of training.
  bool has_events = false;

  /// Seconds of training up to `wall`: since the first event, without the pauses. Time that was spent on steps that were lost later
  /// counts.
  double seconds_at(double wall) const;
};

/// What is kept, besides scalars.
struct Kept {
  bool histograms = false;
  bool tables = false;
  /// The newest file of each folder stays open, for another read(). An evaluation has a file of its own, so that all of them would be more than
  /// a process may have open.
  bool newest_files = false;
};

/// Reads a run while it goes on, too: with Kept::newest_files each read() takes what has come since the last, else there is only
/// one. Not thread-safe.
class HistoryReader {
 public:
  HistoryReader(Storage& storage, std::string folder, Kept kept);

  /// NotFound if the folder is not there; other errors are those of the file system. A damaged file is no error: what it held before
  /// the damage counts, and take_damage() tells of it once.
  Result<void> read();
  std::vector<Error> take_damage() { return std::exchange(damage_, {}); }
  const History& history() const { return history_; }

 private:
  struct File {
    std::unique_ptr<monitor::EventFileReader> reader;
    bool done = false;  // Nothing more is read of it.
  };
  Result<void> read_folder(const std::string& source, const std::string& folder);
  Result<void> read_file(const std::string& source, File& file);
  void begin_training(const monitor::EventStart& start);
  void take(const std::string& source, monitor::EventValue& value);
  bool is_void(int64_t step, double wall) const;

  Storage& storage_;
  const Kept kept_;
  History history_;
  int64_t newest_step_ = INT64_MIN;  // Of training, that no later start has made void.
  std::map<std::string, File> files_;  // By path.
  std::vector<Error> damage_;
};

}  // namespace shoal::cli::plot
