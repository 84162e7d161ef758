// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Reads the event files of one run: those of its training in the run's folder, those of its evaluations in folders below.
///
/// If training starts again at an earlier step, because a crash lost the steps after it, all older events of this step and
/// of later steps are void (docs/formats.md). They are left out, also those of evaluations.
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
  /// Returns a name such as "loss" or "eval/loss".
  std::string text() const { return source.empty() ? tag : source + "/" + tag; }
};

/// A tensor with two axes: a matrix or a curve of rates that an evaluation has written.
struct Table {
  std::string plugin;  ///< The plug-in that the event names: "pr_curves", "shoal_confusion_matrix", ...
  int64_t rows = 0, columns = 0;
  std::vector<float> values;  ///< Row by row.
};

struct History {
  std::string folder;
  std::map<Key, Sequence<double>> scalars;
  std::map<Key, Sequence<monitor::Histogram>> histograms;
  std::map<Key, Timed<Table>> tables;  ///< The newest of each.
  /// The starts of training that went back to an earlier step, so that older evaluations of later steps no longer belong to
  /// the run. Ascending by wall time and by step.
  std::vector<monitor::EventStart> starts;
  /// A span of wall time without training: from the last event before a start of training to that start.
  struct Pause {
    double from = 0, to = 0;
    double before = 0;  ///< The length of all earlier pauses, in seconds.
  };
  std::vector<Pause> pauses;  ///< By time.
  double first_wall = 0;      ///< The time of the first event; 0 if there is none.
  double last_wall = 0;       ///< The time of the newest event of training.
  bool has_events = false;

  /// Returns the seconds of training up to `wall`: since the first event, without pauses. Time spent on steps that were
  /// lost later is included.
  double seconds_at(double wall) const;
};

/// Which values a HistoryReader keeps besides scalars, and whether it leaves event files open between calls of read().
struct Kept {
  bool histograms = false;
  bool tables = false;
  /// Keeps the newest file of each folder open for a further read(). Older files are closed: every evaluation has a file,
  /// and all of them would exceed the limit of open files.
  bool newest_files = false;
};

/// Reads the events of a run, which may still continue. With Kept::newest_files, each call of read() adds the events since
/// the last call. Without it, read() may be called only once. Not thread-safe.
class HistoryReader {
 public:
  HistoryReader(Storage& storage, std::string folder, Kept kept);

  /// NotFound if the folder does not exist; also returns errors of the file system. A damaged file is no error: the values
  /// before the damage are used, and the next take_damage() describes the damage.
  Result<void> read();
  std::vector<Error> take_damage() { return std::exchange(damage_, {}); }
  const History& history() const { return history_; }

 private:
  struct File {
    std::unique_ptr<monitor::EventFileReader> reader;
    bool done = false;  // True once the file needs no further reading.
  };
  Result<void> read_folder(const std::string& source, const std::string& folder);
  Result<void> read_file(const std::string& source, File& file);
  void begin_training(const monitor::EventStart& start);
  void take(const std::string& source, monitor::EventValue& value);
  bool is_void(int64_t step, double wall) const;

  Storage& storage_;
  const Kept kept_;
  History history_;
  int64_t newest_step_ = INT64_MIN;    // Training's newest step, without steps that a restart has made void.
  std::map<std::string, File> files_;  // By path.
  std::vector<Error> damage_;
};

}  // namespace shoal::cli::plot
